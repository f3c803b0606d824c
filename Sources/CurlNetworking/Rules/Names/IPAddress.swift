import Foundation
import Glibc

/// An IPv4 or IPv6 address, as 4 or 16 bytes. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) becomes an IPv4 address.
struct IPAddress: Hashable, Sendable {
    let bytes: [UInt8]

    /// nil if `text` isn't an address. The zone of an IPv6 address is ignored.
    init?(_ text: String) {
        if let bytes = Self.parse(text, AF_INET, 4) {
            self.bytes = bytes
            return
        }
        guard let bytes = Self.parse(String(text.prefix { $0 != "%" }), AF_INET6, 16) else { return nil }
        let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
        self.bytes = bytes.starts(with: mapped) ? Array(bytes[12...]) : bytes
    }

    private static func parse(_ text: String, _ family: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return inet_pton(family, text, &bytes) == 1 ? bytes : nil
    }
}

extension IPAddress {
    /// The IPv4 address that `host` is to the resolver, which reads "127.1", "0x7f.0.0.1" and "2130706433" as 127.0.0.1 (inet_aton(3)),
    /// with or without a trailing dot; nil if it is a name.
    static func ipv4(_ host: String) -> String? {
        // The function ignores what follows white space.
        guard host.utf8.allSatisfy({ $0 > 0x20 }) else { return nil }
        var address = in_addr()
        guard inet_aton(host.hasSuffix(".") ? String(host.dropLast()) : host, &address) != 0 else { return nil }
        return withUnsafeBytes(of: address.s_addr) { $0.map(String.init).joined(separator: ".") }
    }

    /// Whether `host` is an IPv4 address in any of these forms: such a host has no domains.
    static func isIPv4(_ host: String) -> Bool { ipv4(host) != nil }
}

/// A range of addresses in the notation of RFC 4632 and RFC 4291 §2.3.
struct IPNetwork: Hashable, Sendable {
    private let address: IPAddress
    private let length: Int

    /// "10.0.0.0/8", its short form "10/8", or "2001:db8::/32"; nil for anything else.
    init?(_ text: String) {
        let parts = text.components(separatedBy: "/")
        guard parts.count == 2, parts[1].first != "+", let length = UInt8(parts[1]),
            let address = Self.address(parts[0])
        else { return nil }
        guard Int(length) <= 8 * address.bytes.count else { return nil }
        self.address = address
        self.length = Int(length)
    }

    private static func address(_ text: String) -> IPAddress? {
        if text.contains(":") { return IPAddress(HostSpelling.unbracketed(text)) }
        let missing = 3 - text.count { $0 == "." }
        return IPAddress(text + String(repeating: ".0", count: max(0, missing)))
    }

    func contains(_ other: IPAddress) -> Bool {
        guard other.bytes.count == address.bytes.count else { return false }
        let (whole, rest) = length.quotientAndRemainder(dividingBy: 8)
        guard other.bytes[..<whole] == address.bytes[..<whole] else { return false }
        guard rest > 0 else { return true }
        return (other.bytes[whole] ^ address.bytes[whole]) >> (8 - rest) == 0
    }
}
