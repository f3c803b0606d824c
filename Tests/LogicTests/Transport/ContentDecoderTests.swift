import Foundation
import TestSupport
import Testing

@testable import CurlTransport

@Suite("Decoding a body's content")
struct ContentDecoderTests {
    static let forms: [(codings: [ContentCoding], coded: Data)] = [
        ([.gzip], CodedBodies.gzip), ([.deflate], CodedBodies.wrappedDeflate), ([.deflate], CodedBodies.bareDeflate),
        ([.brotli], CodedBodies.brotli), ([.brotli], CodedBodies.brotliOfSmallWindow), ([.zstd], CodedBodies.zstd),
        ([.gzip], storedGzip(CodedBodies.text)), ([.brotli, .gzip], storedGzip(CodedBodies.brotli)),
        ([.zstd, .gzip, .gzip], storedGzip(storedGzip(CodedBodies.zstd))),
    ]

    /// Decodes pieces as they come, into as much room as `room` says.
    static func decode(
        _ pieces: [Data],
        from codings: [ContentCoding],
        room: () -> Int = { 4096 }
    ) throws -> (body: Data, steps: Int) {
        let decoder = try ContentDecoder(codings)
        var body = Data()
        var steps = 0
        for piece in pieces {
            var rest = piece[...]
            var hasMore = true
            while hasMore {
                let output = UnsafeMutableRawBufferPointer.allocate(byteCount: room(), alignment: 1)
                defer { output.deallocate() }
                let step = try rest.withUnsafeBytes { try decoder.decode($0, into: output) }
                body.append(contentsOf: output.prefix(step.produced))
                rest = rest.dropFirst(step.consumed)
                hasMore = step.hasMore
                steps += 1
            }
            #expect(rest.isEmpty)
        }
        try decoder.finish()
        return (body, steps)
    }

    /// Random pieces, some of them empty.
    static func cut(_ data: Data, with generator: inout some RandomNumberGenerator) -> [Data] {
        var (pieces, rest) = ([Data](), data[...])
        while !rest.isEmpty {
            let count = Int.random(in: 0...Int.random(in: 1...400, using: &generator), using: &generator)
            pieces.append(Data(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }

    private static func failure(_ coded: Data, _ codings: [ContentCoding]) -> ContentDecodingError? {
        #expect(throws: ContentDecodingError.self) { try decode([coded], from: codings) }
    }

    @Test("Every coding is decoded, alone and one after the other", arguments: forms.indices)
    func whole(form: Int) throws {
        let (codings, coded) = Self.forms[form]
        #expect(try Self.decode([coded], from: codings).body == CodedBodies.text)
    }

    @Test(
        "Wherever the coded body is cut and however little room there is, the same comes out",
        arguments: forms.indices
    )
    func cuts(form: Int) throws {
        let (codings, coded) = Self.forms[form]
        var generator = SystemRandomNumberGenerator()
        let single = coded.prefix(4000).map { Data([$0]) } + [Data(coded.dropFirst(4000))]
        #expect(try Self.decode(single, from: codings).body == CodedBodies.text)
        for _ in 0..<20 {
            let pieces = Self.cut(coded, with: &generator)
            let decoded = try Self.decode(pieces, from: codings) { Int.random(in: 64...9000, using: &generator) }
            #expect(decoded.body == CodedBodies.text, "\(pieces.map(\.count))")
        }
    }

    @Test("A body that ends before its coding does fails, wherever that is", arguments: forms.indices)
    func truncated(form: Int) throws {
        let (codings, coded) = Self.forms[form]
        for count in [1, 2, 3, 5, 9, coded.count / 2, coded.count - 9, coded.count - 1] {
            let error = Self.failure(coded.prefix(count), codings)
            #expect(error?.reason == .incomplete, "\(count)")
        }
    }

    @Test(
        "A body that isn't what its coding says fails, and the error names the coding",
        arguments: ContentCoding.allCases
    )
    func damaged(coding: ContentCoding) throws {
        let error = try #require(Self.failure(Data(repeating: 0x11, count: 100), [coding]))
        guard case .damaged(let text) = error.reason else {
            Issue.record("\(error)")
            return
        }
        #expect(error.coding == coding && !text.isEmpty)
        #expect(error.description.contains(coding.rawValue) && error.description.contains(text))
    }

    @Test("Flipped bits end in an error or in other content, and in nothing worse", arguments: forms.indices)
    func flipped(form: Int) throws {
        let (codings, coded) = Self.forms[form]
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var damaged = coded
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let bit = UInt8(1) << Int.random(in: 0..<8, using: &generator)
                damaged[Int.random(in: 0..<damaged.count, using: &generator)] ^= bit
            }
            do {
                _ = try Self.decode(Self.cut(damaged, with: &generator), from: codings)
            } catch {
                #expect(error is ContentDecodingError)
            }
        }
    }

    @Test("No body at all is complete in every coding", arguments: forms.indices)
    func empty(form: Int) throws {
        #expect(try Self.decode([], from: Self.forms[form].codings).body.isEmpty)
        #expect(try Self.decode([Data()], from: Self.forms[form].codings).body.isEmpty)
    }

    @Test("A body without codings is copied, however it is cut and however little room there is")
    func copied() throws {
        var generator = SystemRandomNumberGenerator()
        for pieces in [[CodedBodies.text], Self.cut(CodedBodies.text, with: &generator), [], [Data()]] {
            let copied = try Self.decode(pieces, from: []) { Int.random(in: 64...9000, using: &generator) }
            #expect(copied.body == pieces.reduce(Data(), +))
        }
    }

    @Test("To copy a byte costs as much as any other step: a body can consist of such pieces")
    func copiedByte() throws {
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
        defer { output.deallocate() }
        let step = try Data([7]).withUnsafeBytes { try ContentDecoder([]).decode($0, into: output) }
        #expect(step == ContentDecoder.Step(consumed: 1, produced: 1, work: 2 + ContentDecoder.callWork))
    }

    @Test("Codings of nothing decode to nothing")
    func nothing() throws {
        let forms: [(ContentCoding, [UInt8])] = [(.deflate, [3, 0]), (.brotli, [0x3B]), (.brotli, [6])]
        for (coding, coded) in forms { #expect(try Self.decode([Data(coded)], from: [coding]).body.isEmpty) }
        #expect(try Self.decode([storedGzip(Data())], from: [.gzip]).body.isEmpty)
        #expect(try Self.decode([storedGzip(Data())], from: [.zstd, .gzip]).body.isEmpty)
    }

    @Test("Bytes after the end of the coded data are dropped", arguments: forms.indices)
    func trailingGarbage(form: Int) throws {
        let (codings, coded) = Self.forms[form]
        for garbage in [Data([0]), Data([0x1F]), Data([0x28, 0xB5, 0x2F]), Data("garbage".utf8), Data(count: 100_000)] {
            #expect(try Self.decode([coded + garbage], from: codings).body == CodedBodies.text)
            let single = garbage.prefix(9).map { Data([$0]) }
            #expect(try Self.decode([coded] + single, from: codings).body == CodedBodies.text)
        }
    }

    @Test("Members of gzip and frames of zstd follow each other", arguments: [ContentCoding.gzip, .zstd])
    func members(coding: ContentCoding) throws {
        let member = coding == .gzip ? CodedBodies.gzip : CodedBodies.zstd
        let skippable = coding == .gzip ? storedGzip(Data()) : Data([0x53, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3])
        let coded = member + skippable + member + member
        let expected = CodedBodies.text + CodedBodies.text + CodedBodies.text
        var generator = SystemRandomNumberGenerator()
        #expect(try Self.decode([coded], from: [coding]).body == expected)
        #expect(try Self.decode(coded.map { Data([$0]) }, from: [coding]).body == expected)
        for _ in 0..<20 {
            #expect(try Self.decode(Self.cut(coded, with: &generator), from: [coding]).body == expected)
        }
        #expect(Self.failure(coded.dropLast(1), [coding])?.reason == .incomplete)
    }

    @Test("A frame of zstd that wants more memory than 8 MiB is refused")
    func largeWindow() {
        func frame(window: UInt8) -> Data { Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, window, 1, 0, 0]) }
        #expect(throws: Never.self) { try Self.decode([frame(window: 13 << 3)], from: [.zstd]) }
        #expect(Self.failure(frame(window: 14 << 3), [.zstd]) != nil)
    }

    // MARK: - Bounds

    @Test("No step takes or gives more than there is room for, whatever the body decodes to")
    func steps() throws {
        let bombs: [([ContentCoding], Data)] = [
            ([.brotli], Bombs.brotli(mebibytes: 32).coded), ([.zstd], Bombs.zstd(mebibytes: 32).coded),
            ([.gzip, .gzip], Bombs.doublyZipped.coded),
        ]
        for (codings, coded) in bombs {
            let decoder = try ContentDecoder(codings)
            let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 * 1024, alignment: 1)
            defer { output.deallocate() }
            var rest = coded[...]
            for _ in 0..<500 {
                let step = try rest.withUnsafeBytes { try decoder.decode($0, into: output) }
                #expect(step.work <= codings.count * (ContentDecoder.pieceSize + 32 * 1024 + 64))
                #expect(step.hasMore)
                rest = rest.dropFirst(step.consumed)
            }
        }
    }

    @Test("The samples of bombs decode to as much as they say")
    func bombs() throws {
        let brotli = Bombs.brotli(mebibytes: 32)
        #expect(brotli.coded.count < 64)
        #expect(try Self.decode([brotli.coded], from: [.brotli], room: { 1 << 20 }).body.count == brotli.length)
        let zstd = Bombs.zstd(mebibytes: 32)
        #expect(try Self.decode([zstd.coded], from: [.zstd], room: { 1 << 20 }).body.count == zstd.length)
        let gzip = Bombs.doublyZipped
        #expect(try Self.decode([gzip.coded], from: [.gzip, .gzip], room: { 1 << 20 }).body.count == gzip.length)
    }

    @Test("A decoder knows before its first step whether one may take long")
    func long() throws {
        func mayTakeLong(_ codings: [ContentCoding], _ coded: Data) throws -> Bool {
            let decoder = try ContentDecoder(codings)
            #expect(!Data().withUnsafeBytes { decoder.mayTakeLong(before: $0) })
            return coded.withUnsafeBytes { decoder.mayTakeLong(before: $0) }
        }
        #expect(try mayTakeLong([.brotli], CodedBodies.brotli))
        #expect(try !mayTakeLong([.brotli], CodedBodies.brotliOfSmallWindow))
        #expect(try mayTakeLong([.brotli, .gzip], CodedBodies.gzip))
        #expect(try !mayTakeLong([.zstd, .gzip], CodedBodies.gzip))
        // Each pattern of RFC 7932 §9.1.
        let windows: [UInt8: Int] = [
            0b0: 16, 0b000_0001: 17, 0b0011: 18, 0b0101: 19, 0b0111: 20, 0b1001: 21, 0b1011: 22, 0b1101: 23, 0b1111: 24,
            0b010_0001: 10, 0b011_0001: 11, 0b100_0001: 12, 0b101_0001: 13, 0b110_0001: 14, 0b111_0001: 15,
        ]
        for (byte, bits) in windows { #expect(BrotliStage.windowSize(first: byte) == 1 << bits) }
    }

    // MARK: - What is offered

    @Test("Codings' names are known in any case, and gzip by its old one")
    func names() {
        #expect(
            ["GZip", "x-gzip", "Deflate", "BR", "zstd"].map { ContentCoding(name: $0) } == [
                .gzip, .gzip, .deflate, .brotli, .zstd,
            ]
        )
        #expect(["identity", "aws-chunked", "", "compress"].allSatisfy { ContentCoding(name: $0) == nil })
    }

    @Test("A coding whose library is missing isn't offered")
    func offer() {
        #expect(ContentCoding.offer { _ in true } == "deflate, gzip, br, zstd")
        #expect(ContentCoding.offer { $0 != .brotli } == "deflate, gzip, zstd")
        #expect(ContentCoding.offer { _ in false } == nil)
        #expect(SharedLibrary("libno-such-library.so.1") == nil)
    }
}
