import Foundation

extension URL {
    /// The URL's text without a fragment: the same for all http and https URLs that differ only in how scheme, host, port and an empty path
    /// are written (RFC 9110 §4.2.3). A user name and password stay.
    var equivalentText: String {
        let text = absoluteString
        let end = text.utf8.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex
        let plain = Origin(plain: text)
        guard let origin = plain ?? Origin(self), !origin.isUnixSocket else { return text.upTo(end) }
        let start = text.utf8.index(text.startIndex, offsetBy: origin.scheme.rawValue.utf8.count + "://".utf8.count)
        let path = text.utf8[start..<end].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? end
        let authority = text.utf8[start..<path]
        let hasPath = path < end && text.utf8[path] == UInt8(ascii: "/")
        // As most are: nothing is to be changed.
        if plain != nil, hasPath, authority.count == origin.authority.utf8.count { return text.upTo(end) }
        let user = authority.lastIndex(of: UInt8(ascii: "@")).map { text[start...$0] } ?? ""
        return "\(origin.scheme.rawValue)://\(user)\(origin.authority)\(hasPath ? "" : "/")\(text[path..<end])"
    }
}

extension String {
    /// Without a copy if that is all of it.
    fileprivate func upTo(_ end: Index) -> String { end == endIndex ? self : String(self[..<end]) }
}
