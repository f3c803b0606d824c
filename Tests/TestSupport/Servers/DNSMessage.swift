import Foundation

/// A DNS query (RFC 1035 §4) as it comes over HTTPS (RFC 8484), and answers to it.
package struct DNSQuery: Sendable {
    /// Like "host.test".
    package let name: String
    /// 1 asks for IPv4 addresses, 28 for IPv6.
    package let type: Int
    private let question: Data

    package static let ipv4 = 1

    /// nil for anything but a query with one question.
    package init?(_ message: Data) {
        let bytes = Array(message)
        guard bytes.count > 12, bytes[4] == 0, bytes[5] == 1 else { return nil }
        var labels: [String] = []
        var index = 12
        while index < bytes.count, bytes[index] != 0 {
            let end = index + 1 + Int(bytes[index])
            guard end < bytes.count else { return nil }
            labels.append(String(decoding: bytes[(index + 1)..<end], as: UTF8.self))
            index = end
        }
        guard index + 5 <= bytes.count else { return nil }
        name = labels.joined(separator: ".")
        type = Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
        question = Data(bytes[12..<(index + 5)])
    }

    /// The answer with these IPv4 addresses, or with none to a question of another type.
    package func answer(_ addresses: [[UInt8]]) -> Data {
        // A
        message(type == Self.ipv4 ? addresses.map { Self.record(1, $0) } : [])
    }

    /// The answer that the name is an alias of this one, which has no address.
    package func alias(_ name: String) -> Data {
        let labels: [[UInt8]] = name.split(separator: ".").map { [UInt8($0.utf8.count)] + Array($0.utf8) }
        // CNAME
        return message([Self.record(5, labels.joined() + [0])])
    }

    /// For the question's name and 60 seconds.
    private static func record(_ type: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xC0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, UInt8(content.count)] + content
    }

    private func message(_ records: [[UInt8]]) -> Data {
        var message = Data([0, 0, 0x81, 0x80, 0, 1, 0, UInt8(records.count), 0, 0, 0, 0])
        message.append(question)
        for record in records { message.append(contentsOf: record) }
        return message
    }
}
