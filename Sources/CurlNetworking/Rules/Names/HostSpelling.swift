import CurlTransport
import Foundation
import Glibc

/// The canonical spelling of hosts, in which they are compared and passed to libcurl: a decision about a host is about the one that is
/// connected to.
enum HostSpelling {
    /// `host`, percent-decoded and without brackets: a name in lower case and ASCII (UTS #46), or an address in its shortest form, IPv6
    /// with its zone. nil if it is none of these.
    static func canonical(_ host: String) -> String? {
        if host.utf8.contains(UInt8(ascii: ":")) { return ofIPv6(host) }
        return ascii(host).map { withoutShortForms($0.lowercased()) }
    }

    /// The address that `name`, in lower case and ASCII, is to the resolver or to libcurl (since 7.77), which both read "127.1", "0x7f.1"
    /// and "2130706433" as 127.0.0.1. Other names, and addresses in their usual form, are returned unchanged.
    static func withoutShortForms(_ name: String) -> String {
        guard name.utf8.first?.isASCIIDigit ?? false, !name.isNumericAddress else { return name }
        return IPAddress.ipv4(name) ?? CurlLibrary.numericHost(name)
    }

    /// As in a URL: an IPv6 address in brackets (RFC 3986 §3.2.2), whether or not it has them already.
    static func bracketed(_ host: String) -> String {
        host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    }

    static func unbracketed(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    /// The port follows the last colon outside of brackets. The port is nil without such a colon, and may be empty.
    static func splitPort(_ text: Substring) -> (host: Substring, port: Substring?) {
        guard let colon = text.lastIndex(of: ":"), !text[colon...].contains("]") else { return (text, nil) }
        return (text[..<colon], text[text.index(after: colon)...])
    }

    /// A port's number, written in digits alone; nil if there is no such port.
    static func port(_ digits: Substring) -> Int? {
        guard digits.utf8.allSatisfy(\.isASCIIDigit), let number = UInt16(digits), number > 0 else { return nil }
        return Int(number)
    }

    private static func ofIPv6(_ host: String) -> String? {
        let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(parts[0]), &address) == 1 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil else { return nil }
        let shortest = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard parts.count == 2 else { return shortest }
        let zone = parts[1].utf8
        guard (1...longestZone).contains(zone.count), zone.allSatisfy(isUnreserved) else { return nil }
        return "\(shortest)%\(parts[1])"
    }

    /// In bytes: the longest name of an interface (netdevice(7)).
    private static let longestZone = 15

    private static func ascii(_ host: String) -> String? {
        guard !host.isEmpty, host.utf8.count <= 4 * maximumLength,
            host.utf8.allSatisfy({ $0 >= 0x80 || isUnreserved($0) })
        else { return nil }
        // `URL` maps what it reads, but nothing that is percent-encoded.
        let isASCII = host.utf8.allSatisfy { $0 < 0x80 }
        guard let mapped = isASCII ? host : URL(string: "http://\(host)/")?.host(percentEncoded: false),
            (1...maximumLength).contains(mapped.utf8.count)
        else { return nil }
        return mapped.utf8.allSatisfy(isUnreserved) ? mapped : nil
    }

    /// In bytes of ASCII (RFC 1035 §2.3.4), for which there are at most four times as many of UTF-8. A longer name doesn't exist, and
    /// comparing it with cookies' domains or host patterns, or finding its ASCII form, could keep a thread busy for seconds.
    static let maximumLength = 255

    /// RFC 3986 §2.3. libcurl takes no other characters in a host.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
