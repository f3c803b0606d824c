import Foundation
import Testing

@testable import CurlNetworking

@Suite("A response's fields")
struct HeaderFieldsTests {
    static func received(_ fields: (name: [UInt8], value: [UInt8])...) -> HeaderFields { received(fields) }

    static func received(_ fields: [(name: [UInt8], value: [UInt8])]) -> HeaderFields {
        var received = HeaderFields()
        for field in fields {
            field.name.withUnsafeBytes { name in
                field.value.withUnsafeBytes { received.append(name: name, value: $0) }
            }
        }
        return received
    }

    @Test("Bytes are UTF-8 or else Latin-1, each name and each value by itself")
    func text() {
        let fields = Self.received(
            (Array("Schlüssel".utf8), Array("Größe".utf8)),
            (Array("X-A".utf8), [0x47, 0x72, 0xF6, 0xDF, 0x65]),
            ([0x58, 0x2D, 0xE4], Array("ä".utf8)),
            ([], [])
        )
        #expect(fields.map(\.name) == ["Schlüssel", "X-A", "X-ä", ""])
        #expect(fields.map(\.value) == ["Größe", "Größe", "ä", ""])
    }

    @Test("More marks in a row than any language has count as Latin-1: as accents, they would take long to compare")
    func marks() {
        let most = "e" + String(repeating: "\u{301}", count: 30)
        let more = most + "\u{301}"
        let latin1 = "e" + String(repeating: "\u{CC}\u{81}", count: 31)
        let fields = Self.received(
            (Array("X-A".utf8), Array("\(most)a\(most)".utf8)),
            (Array("X-A".utf8), Array(more.utf8)),
            (Array(more.utf8), Array("b".utf8))
        )
        #expect(Array(fields.value(at: 0).utf8) == Array("\(most)a\(most)".utf8))
        #expect(fields.value(at: 1) == latin1)
        #expect(fields.name(at: 2) == latin1)
    }

    @Test("In a Location or Content-Location that isn't UTF-8, the bytes are percent-encoded, because a URL means them")
    func location() {
        let latin1: [UInt8] = Array("/caf".utf8) + [0xE9] + Array("?x=%20".utf8) + [0xFC]
        let fields = Self.received(
            (Array("location".utf8), latin1),
            (Array("Location".utf8), Array("/café".utf8)),
            (Array("CONTENT-LOCATION".utf8), latin1),
            (Array("Link".utf8), latin1)
        )
        #expect(fields.map(\.value) == ["/caf%E9?x=%20%FC", "/café", "/caf%E9?x=%20%FC", "/café?x=%20ü"])
    }

    @Test("A carriage return or NUL in a value becomes a space")
    func harmless() {
        let fields = Self.received((Array("A".utf8), Array("a\rb\0c".utf8)))
        #expect(fields["a"] == "a b c")
    }

    @Test("A line that continues a value belongs to the last field, whatever encoding each has")
    func continued() {
        var fields = Self.received((Array("A".utf8), Array("a".utf8)), (Array("B".utf8), Array("Größe".utf8)))
        Array("c\r".utf8).withUnsafeBytes { fields.continueLast(with: $0) }
        [UInt8](arrayLiteral: 0xDF, 0x65).withUnsafeBytes { fields.continueLast(with: $0) }
        #expect(fields == [HeaderField(name: "A", value: "a"), HeaderField(name: "B", value: "Größe c  ße")])
    }

    @Test("The same name counts as the same, in whatever encoding it came")
    func encodings() {
        let fields = Self.received(
            ([0x58, 0x2D, 0xE4], Array("1".utf8)),
            (Array("x-ä".utf8), Array("2".utf8))
        )
        #expect(fields.combined == ["X-ä": "1, 2"])
        #expect(fields.values(of: "X-ä") == ["1", "2"])
    }

    @Test("Names are found in any case, from a position on")
    func names() {
        let fields: HeaderFields = [
            HeaderField(name: "Via", value: "1"), HeaderField(name: "VIA", value: "2"),
            HeaderField(name: "Vía", value: "3"), HeaderField(name: "Vi", value: "4"),
        ]
        #expect(fields.index(of: "via") == 0)
        #expect(fields.index(of: "via", from: 1) == 1)
        #expect(fields.index(of: "via", from: 2) == nil)
        #expect(fields["via"] == "1")
        #expect(fields.values(of: "vIA") == ["1", "2"])
        #expect(fields.contains("Vía") && !fields.contains("V"))
        #expect(!fields.haveSameValue(0, 1))
    }

    @Test("The same text is equal, in whatever bytes it came")
    func equality() {
        let text: HeaderFields = [HeaderField(name: "A", value: "Größe")]
        #expect(text == Self.received((Array("A".utf8), [0x47, 0x72, 0xF6, 0xDF, 0x65])))
        #expect(text != [HeaderField(name: "AG", value: "röße")])
        #expect(text != [])
    }

    @Test("Fields can be changed like an array")
    func changes() {
        var fields: HeaderFields = []
        fields.reserveCapacity(4)
        fields += [HeaderField(name: "A", value: "1"), HeaderField(name: "B", value: "2")]
        fields.insert(HeaderField(name: "C", value: "3"), at: 1)
        #expect(fields.map(\.name) == ["A", "C", "B"])
        fields.removeAll("c")
        fields.removeAll("d")
        #expect(fields.map(\.value) == ["1", "2"])
        fields.removeAll { $0.value == "1" }
        #expect(Array(fields) == [HeaderField(name: "B", value: "2")])
    }

    @Test("Fields are coded as a list of names and values")
    func coding() throws {
        let fields: HeaderFields = [HeaderField(name: "A", value: "Größe"), HeaderField(name: "A", value: "")]
        let data = try JSONEncoder().encode(fields)
        #expect(try JSONDecoder().decode([HeaderField].self, from: data) == Array(fields))
        #expect(try JSONDecoder().decode(HeaderFields.self, from: data) == fields)
    }
}
