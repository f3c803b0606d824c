import Foundation

/// A header field as on the wire.
struct HeaderField: Sendable, Equatable, Codable {
    var name: String
    var value: String

    static func == (a: Self, b: Self) -> Bool {
        a.name.hasSameBytes(as: b.name) && a.value.hasSameBytes(as: b.value)
    }
}

extension UInt8 {
    /// Whether it is a control character that no field's value may have: any but a tab (RFC 9110 §5.5).
    var isFieldControl: Bool { self < 0x20 && self != 0x09 || self == 0x7F }
}

/// The fields of a response, in the order of arrival.
///
/// They are kept as bytes, and become text on demand: most fields of most responses are only looked up by name, which needs no strings.
struct HeaderFields: Sendable, Equatable {
    /// All names and values, in UTF-8, without what separates them on the wire.
    private var bytes: [UInt8] = []
    private var places: [Place] = []

    /// Where a field is in `bytes`.
    private struct Place: Equatable {
        var start: Int
        var valueStart: Int
        var end: Int

        var name: Range<Int> { start..<valueStart }
        var nameCount: Int { valueStart - start }
        var value: Range<Int> { valueStart..<end }
    }

    init() {}

    init(_ fields: some Sequence<HeaderField>) {
        for field in fields { append(field) }
    }

    // MARK: - Received fields

    /// Adds a field as received, but with spaces for what could end a line if the value is sent back (RFC 9110 §5.5).
    mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let start = bytes.count
        add(name)
        let valueStart = bytes.count
        add(value, toFieldNamed: start..<valueStart)
        places.append(Place(start: start, valueStart: valueStart, end: bytes.count))
    }

    /// Adds to the value of the last field, after a space, which may only be between two parts (RFC 9110 §5.5).
    mutating func continueLast(with value: UnsafeRawBufferPointer) {
        guard let last = places.last, !value.isEmpty else { return }
        if !last.value.isEmpty { bytes.append(UInt8(ascii: " ")) }
        add(value, toFieldNamed: last.name)
        places[places.count - 1].end = bytes.count
    }

    /// Adds a name, or the value of the field whose name is at `name`, with spaces for what could end a line. Text that isn't UTF-8, or would
    /// take Swift long to compare, is taken for Latin-1, which HTTP/1 once used; in a field of `namesOfURLs`, the bytes themselves count, and
    /// are percent-encoded.
    private mutating func add(_ received: UnsafeRawBufferPointer, toFieldNamed name: Range<Int>? = nil) {
        // Nearly all names and values are, and finding that out is quick.
        if received.isPlainASCII { return bytes.append(contentsOf: received) }
        let start = bytes.count
        if let text = String(validating: received, as: UTF8.self), !text.hasTooManyMarks {
            bytes.append(contentsOf: received)
        } else if let name, Self.namesOfURLs.contains(where: text(name).isEqualIgnoringASCIICase(to:)) {
            for byte in received { byte < 0x80 ? bytes.append(byte) : addEncoded(byte) }
        } else {
            bytes.append(contentsOf: String(String.UnicodeScalarView(received.map { Unicode.Scalar($0) })).utf8)
        }
        guard name != nil else { return }
        for index in start..<bytes.count where bytes[index] == UInt8(ascii: "\r") || bytes[index] == 0 {
            bytes[index] = UInt8(ascii: " ")
        }
    }

    /// The fields whose value is a URL and nothing else.
    private static let namesOfURLs = ["Location", "Content-Location"]
    private static let hexDigits = Array("0123456789ABCDEF".utf8)

    private mutating func addEncoded(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(Self.hexDigits[Int(byte >> 4)])
        bytes.append(Self.hexDigits[Int(byte & 0xF)])
    }

    /// The length of all names and values.
    var byteCount: Int { bytes.count }

    private func text(_ range: Range<Int>) -> String {
        bytes.withUnsafeBytes { String(decoding: UnsafeRawBufferPointer(rebasing: $0[range]), as: UTF8.self) }
    }

    // MARK: - By name

    /// The position of the first field of that name, in any case, from `start` on.
    func index(of name: String, from start: Int = 0) -> Int? {
        var name = name
        return name.withUTF8 { name in
            bytes.withUnsafeBufferPointer { bytes in
                places.withUnsafeBufferPointer { places in
                    // Compares lengths first: most differ.
                    (start..<places.count).first { index in
                        guard places[index].nameCount == name.count else { return false }
                        let own = UnsafeBufferPointer(rebasing: bytes[places[index].name])
                        return own.startsIgnoringASCIICase(with: name)
                    }
                }
            }
        }
    }

    func contains(_ name: String) -> Bool { index(of: name) != nil }

    /// The value of the first field of that name, in any case.
    subscript(name: String) -> String? { index(of: name).map(value) }

    /// The values of all fields of that name, in any case.
    func values(of name: String) -> [String] {
        var values: [String] = []
        var next = index(of: name)
        while let index = next {
            values.append(value(at: index))
            next = self.index(of: name, from: index + 1)
        }
        return values
    }

    func name(at index: Int) -> String { text(places[index].name) }
    func value(at index: Int) -> String { text(places[index].value) }

    /// The value if it consists of digits.
    func number(at index: Int) -> Int64? {
        bytes.withUnsafeBufferPointer { Int64(digits: UnsafeBufferPointer(rebasing: $0[places[index].value])) }
    }

    /// Whether the values of two fields are identical; makes no strings.
    func haveSameValue(_ first: Int, _ second: Int) -> Bool {
        bytes[places[first].value].elementsEqual(bytes[places[second].value])
    }

    /// Removes all fields of that name, in any case.
    mutating func removeAll(_ name: String) {
        if contains(name) { removeAll { $0.name.isEqualIgnoringASCIICase(to: name) } }
    }

    /// By their names; the values of fields with the same name are joined by commas (RFC 9110 §5.3).
    var combined: [String: String] {
        var combined = [String: String](minimumCapacity: count)
        guard mayRepeat else {
            for field in self { combined[field.name] = field.value }
            return combined
        }
        var spellings: [String: String] = [:]
        for field in self {
            let lowercased = field.name.lowercased()
            if let first = spellings[lowercased] {
                combined[first, default: ""] += ", " + field.value
            } else {
                spellings[lowercased] = field.name
                combined[field.name] = field.value
            }
        }
        return combined
    }

    /// False if no two names are the same. Compares lengths first: most differ.
    private var mayRepeat: Bool {
        guard count <= 32 else { return true }
        return bytes.withUnsafeBufferPointer { bytes in
            // One bit for each length so far, modulo 64.
            var lengths: UInt64 = 0
            for index in places.indices {
                let name = UnsafeBufferPointer(rebasing: bytes[places[index].name])
                let bit: UInt64 = 1 << (name.count & 63)
                defer { lengths |= bit }
                guard lengths & bit != 0 else { continue }
                for other in 0..<index where places[other].name.count == name.count {
                    if UnsafeBufferPointer(rebasing: bytes[places[other].name]).startsIgnoringASCIICase(with: name) {
                        return true
                    }
                }
            }
            return false
        }
    }
}

extension HeaderFields: RandomAccessCollection, RangeReplaceableCollection {
    var startIndex: Int { 0 }
    var endIndex: Int { places.count }

    subscript(position: Int) -> HeaderField { HeaderField(name: name(at: position), value: value(at: position)) }

    mutating func append(_ field: HeaderField) {
        let start = bytes.count
        bytes.append(contentsOf: field.name.utf8)
        let valueStart = bytes.count
        bytes.append(contentsOf: field.value.utf8)
        places.append(Place(start: start, valueStart: valueStart, end: bytes.count))
    }

    mutating func replaceSubrange(_ subrange: Range<Int>, with fields: some Collection<HeaderField>) {
        var all = Array(self)
        all.replaceSubrange(subrange, with: fields)
        self = HeaderFields(all)
    }

    mutating func reserveCapacity(_ count: Int) {
        places.reserveCapacity(count)
        bytes.reserveCapacity(count * 32)
    }
}

extension HeaderFields: ExpressibleByArrayLiteral {
    init(arrayLiteral fields: HeaderField...) {
        self.init(fields)
    }
}

extension HeaderFields: Codable {
    init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode([HeaderField].self))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Array(self))
    }
}
