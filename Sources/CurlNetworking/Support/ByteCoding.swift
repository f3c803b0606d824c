import Foundation

/// Serialises numbers and texts: little-endian, values of variable length preceded by their length.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(_ text: String) {
        write(UInt32(clamping: text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func write(_ data: Data) {
        write(UInt32(clamping: data.count))
        bytes.append(contentsOf: data)
    }

    /// Preceded by a byte that says whether there is a value.
    mutating func write<Value>(optional value: Value?, _ writeValue: (inout Self, Value) -> Void) {
        write(UInt8(value == nil ? 0 : 1))
        if let value { writeValue(&self, value) }
    }

    mutating func write<Element>(list: [Element], _ writeElement: (inout Self, Element) -> Void) {
        write(UInt32(clamping: list.count))
        for element in list { writeElement(&self, element) }
    }
}

/// Reads what `ByteWriter` wrote. The bytes are untrusted: anything invalid throws.
struct ByteReader {
    struct Malformed: Error {}

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { offset == bytes.count }

    mutating func integer<Value: FixedWidthInteger>(_: Value.Type = Value.self) throws(Malformed) -> Value {
        let piece = try take(MemoryLayout<Value>.size)
        return Value(littleEndian: piece.loadUnaligned(as: Value.self))
    }

    mutating func text() throws(Malformed) -> String {
        let count = try integer(UInt32.self)
        let piece = try take(Int(count))
        guard let text = String(validating: piece, as: UTF8.self) else { throw Malformed() }
        return text
    }

    mutating func data() throws(Malformed) -> Data {
        let count = try integer(UInt32.self)
        return Data(try take(Int(count)))
    }

    mutating func optional<Value>(_ read: (inout Self) throws(Malformed) -> Value) throws(Malformed) -> Value? {
        switch try integer(UInt8.self) {
        case 0: nil
        case 1: try read(&self)
        default: throw Malformed()
        }
    }

    mutating func list<Element>(_ read: (inout Self) throws(Malformed) -> Element) throws(Malformed) -> [Element] {
        let count = try integer(UInt32.self)
        // Each element has at least one byte, so a larger number is invalid.
        guard Int(count) <= bytes.count - offset else { throw Malformed() }
        var list: [Element] = []
        for _ in 0..<count { list.append(try read(&self)) }
        return list
    }

    private mutating func take(_ count: Int) throws(Malformed) -> UnsafeRawBufferPointer {
        guard count <= bytes.count - offset else { throw Malformed() }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }
}
