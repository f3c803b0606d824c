import Foundation

extension URL {
    /// The URL's text without a fragment: the same for all http and https URLs that differ only in how scheme, host, port and an empty path
    /// are written (RFC 9110 §4.2.3). A user name and password stay.
    var equivalentText: String {
        var text = absoluteString
        let plain = Origin(plain: text)
        // As in most: nothing has to be changed.
        if let plain, text.withUTF8({ plain.isSpelledOut(in: $0) }) { return text }
        let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        guard let origin = plain ?? Origin(self), !origin.isUnixSocket else { return text.upTo(end) }
        let start = text.utf8.index(text.startIndex, offsetBy: origin.scheme.rawValue.utf8.count + "://".utf8.count)
        let path = text.utf8[start..<end].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? end
        let authority = text.utf8[start..<path]
        let hasPath = path < end && text.utf8[path] == UInt8(ascii: "/")
        let user = authority.lastIndex(of: UInt8(ascii: "@")).map { text[start...$0] } ?? ""
        return "\(origin.scheme.rawValue)://\(user)\(origin.authority)\(hasPath ? "" : "/")\(text[path..<end])"
    }
}

extension Origin {
    /// Whether `text`, from which `init(plain:)` made this, has a path, no fragment, and a port exactly if it needs one.
    fileprivate func isSpelledOut(in text: UnsafeBufferPointer<UInt8>) -> Bool {
        let rest = text[(scheme.rawValue.utf8.count + "://".utf8.count + host.utf8.count)...]
        guard !rest.contains(UInt8(ascii: "#")) else { return false }
        guard rest.first == UInt8(ascii: ":") else { return rest.first == UInt8(ascii: "/") }
        let port = rest.dropFirst().prefix(while: \.isASCIIDigit)
        return self.port != scheme.defaultPort && port.first != UInt8(ascii: "0")
            && rest.dropFirst(1 + port.count).first == UInt8(ascii: "/")
    }
}

extension String {
    /// Without a copy if that is all of it.
    fileprivate func upTo(_ end: Index) -> String { end == endIndex ? self : String(self[..<end]) }
}
