import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Messages put together from frames")
struct WebSocketAssemblerTests {
    private struct Frame {
        var first: UInt8
        var payload: [UInt8]

        init(_ first: UInt8, _ payload: [UInt8] = []) { (self.first, self.payload) = (first, payload) }
        init(_ first: UInt8, _ text: String) { self.init(first, Array(text.utf8)) }

        var bytes: [UInt8] {
            switch payload.count {
            case ...125: [first, UInt8(payload.count)] + payload
            case ...0xFFFF: [first, 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
            default: [first, 127] + (0..<8).reversed().map { UInt8(payload.count >> (8 * $0) & 0xFF) } + payload
            }
        }
    }

    private typealias Events = (events: [WebSocketAssembler.Event], violation: WebSocketViolation?)

    private func events(
        _ bytes: [UInt8],
        cuts: [Int] = [],
        maximum: Int = 1 << 20,
        inflater: MessageInflater? = nil
    ) -> Events {
        var assembler = WebSocketAssembler(maximumMessageSize: maximum, inflater: inflater)
        var seen: [WebSocketAssembler.Event] = []
        let ends = (cuts + [bytes.count]).sorted()
        var start = 0
        do throws(WebSocketViolation) {
            for end in ends {
                let piece = Array(bytes[start..<end])
                start = end
                try piece.withUnsafeBytes { piece in
                    Result { () throws(WebSocketViolation) in
                        var input = piece
                        while let event = try assembler.next(&input) { seen.append(event) }
                    }
                }.get()
            }
        } catch {
            return (seen, error)
        }
        return (seen, nil)
    }

    private func events(_ frames: [Frame], maximum: Int = 1 << 20) -> Events {
        events(frames.flatMap(\.bytes), maximum: maximum)
    }

    @Test("Every frame is work, even an empty one that completes nothing")
    func workOfFrames() throws {
        var assembler = WebSocketAssembler(maximumMessageSize: 100)
        let frames = [Frame(0x01)] + Array(repeating: [Frame(0x00), Frame(0x8A)], count: 100).flatMap(\.self)
        let pongs = try frames.flatMap(\.bytes).withUnsafeBytes { bytes in
            var (input, pongs) = (bytes, 0)
            while try assembler.next(&input) != nil { pongs += 1 }
            return pongs
        }
        #expect(pongs == 100)
        #expect(assembler.takeWork() == frames.count * WebSocketAssembler.workPerFrame)
        #expect(assembler.takeWork() == 0)
    }

    @Test("Control frames between fragments come first")
    func interleaved() {
        let (seen, violation) = events([
            Frame(0x01, "Hel"), Frame(0x89, "p"), Frame(0x00, "l"), Frame(0x8A, "q"), Frame(0x80, "o"),
            Frame(0x82, [1, 2]),
        ])
        #expect(violation == nil)
        #expect(
            seen == [
                .ping([0x70]), .pong([0x71]), .message(.text("Hello")), .message(.binary(Data([1, 2]))),
            ]
        )
    }

    @Test("Empty messages and empty fragments are messages")
    func empty() {
        let (seen, violation) = events([Frame(0x81), Frame(0x02), Frame(0x00), Frame(0x80), Frame(0x81, "a")])
        #expect(violation == nil)
        #expect(seen == [.message(.text("")), .message(.binary(Data())), .message(.text("a"))])
    }

    @Test("A fragment needs a message, and a message waits for the one before it")
    func order() {
        #expect(events([Frame(0x80, "a")]).violation?.status == .protocolError)
        #expect(events([Frame(0x01, "a"), Frame(0x81, "b")]).violation?.status == .protocolError)
        #expect(events([Frame(0x01, "a"), Frame(0x80, "b"), Frame(0x80, "c")]).violation?.status == .protocolError)
    }

    @Test("Text is refused with the byte that makes it none, and at its end where a character is cut off")
    func text() {
        #expect(events([0x81, 0x05, 0x61, 0xED, 0xA0]).violation?.status == .invalidPayload)
        #expect(events([Frame(0x81, [0xE2, 0x82])]).violation?.status == .invalidPayload)
        #expect(events([Frame(0x01, [0xE2, 0x82]), Frame(0x80, [0xAC])]).events == [.message(.text("€"))])
        #expect(events([Frame(0x82, [0xE2, 0x82])]).violation == nil)
    }

    @Test("A message may be as large as the maximum, and no byte more", arguments: [99, 100, 101])
    func size(size: Int) {
        let whole = [Frame(0x82, Array(repeating: 1, count: size))]
        let parts = [Frame(0x02, Array(repeating: 1, count: 60)), Frame(0x80, Array(repeating: 1, count: size - 60))]
        for frames in [whole, parts] {
            let (seen, violation) = events(frames, maximum: 100)
            #expect(violation?.status == (size > 100 ? .tooBig : nil))
            #expect(seen.count == (size > 100 ? 0 : 1))
        }
    }

    @Test("A length that no memory holds is refused before a byte of the payload comes")
    func announced() {
        let header: [UInt8] = [0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        #expect(events(header).violation?.status == .tooBig)
        #expect(events([0x02, 1, 0] + [0x80] + header.dropFirst()).violation?.status == .tooBig)
    }

    @Test("Close frames say what the RFC lets them say")
    func closing() {
        #expect(events([Frame(0x88)]).events == [.close(WebSocketClosing(nil))])
        #expect(events([Frame(0x88, [3, 0xE8])]).events == [.close(WebSocketClosing(1000))])
        #expect(
            events([Frame(0x88, [3, 0xE9] + Array("bye".utf8))]).events
                == [.close(WebSocketClosing(1001, reason: Data("bye".utf8)))]
        )
        #expect(events([Frame(0x88, [3])]).violation?.status == .protocolError)
        #expect(events([Frame(0x88, [3, 0xE8, 0xFF])]).violation?.status == .invalidPayload)
        let valid = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]
        let invalid = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535]
        for code in valid + invalid {
            let violation = events([Frame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)])]).violation
            #expect(violation?.status == (invalid.contains(code) ? .protocolError : nil), "\(code)")
        }
    }

    @Test("However the bytes are cut, the events are the same", arguments: 0..<40)
    func cuts(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var frames: [Frame] = []
        for _ in 0..<20 {
            let payload = (0..<Int.random(in: 0...400, using: &random)).map { _ in
                UInt8.random(in: 97...122, using: &random)
            }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: frames.append(Frame(0x89, Array(payload.prefix(125))))
            case 1: frames.append(Frame(0x81, payload))
            case 2: frames += [Frame(0x01, payload), Frame(0x8A, "x"), Frame(0x00, "é"), Frame(0x80, payload)]
            default: frames.append(Frame(0x82, payload))
            }
        }
        // Half of them end with something that is wrong.
        if seed % 2 == 1 { frames.append(Frame([0x80, 0x83, 0xC1, 0x08].randomElement(using: &random) ?? 0x83, "a")) }
        let bytes = frames.flatMap(\.bytes)
        let whole = events(bytes)
        #expect((whole.violation != nil) == (seed % 2 == 1))
        let some = (0..<30).map { _ in Int.random(in: 0...bytes.count, using: &random) }
        for cuts in [some, Array(0..<bytes.count)] {
            let pieces = events(bytes, cuts: cuts)
            #expect(pieces.events == whole.events)
            #expect(pieces.violation == whole.violation)
        }
    }

    // MARK: - Large frames

    /// What comes of the bytes when they are read as the assembler wants them, in whatever pieces the system has.
    private func events(reading bytes: [UInt8], _ random: inout SeededGenerator) -> Events {
        var assembler = WebSocketAssembler(maximumMessageSize: 1 << 22)
        var seen: [WebSocketAssembler.Event] = []
        var rest = bytes[...]
        do throws(WebSocketViolation) {
            while !rest.isEmpty {
                let there = Int.random(in: 1...100_000, using: &random)
                let piece: UnsafeMutableRawBufferPointer
                var own: UnsafeMutableRawBufferPointer?
                switch assembler.nextReading {
                case .into(let buffer):
                    piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(there).prefix(rest.count))
                case .upTo(let most):
                    piece = .allocate(byteCount: min(there, most, rest.count), alignment: 1)
                    own = piece
                }
                defer { own?.deallocate() }
                piece.copyBytes(from: rest.prefix(piece.count))
                rest = rest.dropFirst(piece.count)
                var input = UnsafeRawBufferPointer(piece)
                while let event = try assembler.next(&input) { seen.append(event) }
            }
        } catch {
            return (seen, error)
        }
        return (seen, nil)
    }

    @Test("Bytes that are read to where they belong are the same as those that are copied there", arguments: 0..<20)
    func direct(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var frames: [Frame] = []
        for _ in 0..<12 {
            let size = [100, 5_000, 40_000, 70_000, 300_000].randomElement(using: &random) ?? 0
            // Text whose characters are cut by the pieces.
            let payload = Array(String(repeating: "añ€😀", count: size / 10).utf8)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: frames.append(Frame(0x81, payload))
            case 1: frames += [Frame(0x02, payload), Frame(0x89, "p"), Frame(0x00, payload), Frame(0x80, payload)]
            case 2: frames += [Frame(0x01, payload), Frame(0x80, payload)]
            default: frames.append(Frame(0x82, payload))
            }
        }
        if seed % 4 == 3 { frames.append(Frame(0x81, Array(repeating: 0x61, count: 90_000) + [0xFF])) }
        let bytes = frames.flatMap(\.bytes)
        let copied = events(bytes, maximum: 1 << 22)
        #expect(copied.violation?.status == (seed % 4 == 3 ? .invalidPayload : nil))
        for _ in 0..<3 {
            let read = events(reading: bytes, &random)
            #expect(read.events == copied.events)
            #expect(read.violation == copied.violation)
        }
    }

    @Test("A large message is handed over in the memory to which it was read")
    func handedOver() throws {
        var assembler = WebSocketAssembler(maximumMessageSize: 1 << 20)
        let bytes = Frame(0x82, [UInt8](repeating: 7, count: 65_536)).bytes
        let first = try bytes[..<512].withUnsafeBytes { bytes in
            var input = bytes
            return try assembler.next(&input)
        }
        #expect(first == nil)
        guard case .into(let buffer) = assembler.nextReading else {
            Issue.record("the frame's payload isn't read to its message")
            return
        }
        #expect(buffer.count == bytes.count - 512)
        buffer.copyBytes(from: bytes[512...])
        var input = UnsafeRawBufferPointer(buffer)
        guard case .message(.binary(let data)) = try assembler.next(&input) else {
            Issue.record("no message")
            return
        }
        #expect(data == Data(repeating: 7, count: 65_536))
        data.withUnsafeBytes { data in
            #expect(data.baseAddress.map { $0 + (512 - 10) } == UnsafeRawPointer(buffer.baseAddress))
        }
    }

    @Test("Small frames, compressed ones and control frames are read with what comes after them")
    func small() throws {
        let frames = [
            Frame(0x82, [UInt8](repeating: 7, count: 1000)), Frame(0xC2, [UInt8](repeating: 0, count: 60_000)),
        ]
        for frame in frames {
            let inflater = try #require(MessageInflater(windowBits: 15, forgets: false))
            var assembler = WebSocketAssembler(maximumMessageSize: 1 << 20, inflater: inflater)
            let event = try frame.bytes[..<4].withUnsafeBytes { bytes in
                var input = bytes
                return try assembler.next(&input)
            }
            #expect(event == nil)
            guard case .upTo(.max) = assembler.nextReading else {
                Issue.record("read to its message")
                continue
            }
        }
    }

    // MARK: - Compression

    @Test("The examples of RFC 7692 inflate to Hello, with and without what came before")
    func inflating() throws {
        let first: [UInt8] = [0xc1, 0x07, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]
        let again: [UInt8] = [0xc1, 0x05, 0xf2, 0x00, 0x11, 0x00, 0x00]
        let stored: [UInt8] = [0xc1, 0x0b, 0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00]
        let final: [UInt8] = [0xc1, 0x08, 0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00]
        let twoBlocks: [UInt8] = [
            0xc1, 0x0d, 0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00,
        ]
        let fragments: [UInt8] = [0x41, 0x03, 0xf2, 0x48, 0xcd, 0x80, 0x04, 0xc9, 0xc9, 0x07, 0x00]
        let hello = WebSocketAssembler.Event.message(.text("Hello"))
        for bytes in [first + again, stored + first + again, twoBlocks, fragments, final + first] {
            let inflater = try #require(MessageInflater(windowBits: 15, forgets: false))
            let (seen, violation) = events(bytes, inflater: inflater)
            #expect(violation == nil)
            #expect(!seen.isEmpty && seen.allSatisfy { $0 == hello }, "\(bytes)")
        }
        let forgetful = try #require(MessageInflater(windowBits: 15, forgets: true))
        #expect(events(first + again, inflater: forgetful).violation?.status == .invalidPayload)
    }

    @Test(
        "A compressed message inflates to what it was, by any of the four parameters",
        arguments: 9...15,
        [false, true]
    )
    func roundTrip(windowBits: Int, forgets: Bool) throws {
        let deflater = try #require(MessageDeflater(windowBits: windowBits, forgets: forgets))
        let inflater = try #require(MessageInflater(windowBits: windowBits, forgets: forgets))
        var random = SeededGenerator(seed: UInt64(windowBits))
        var bytes: [UInt8] = []
        var messages: [WebSocketAssembler.Event] = []
        for length in [1, 10, 1000, 70_000, 100_000] {
            let payload = (0..<length).map { _ in UInt8.random(in: 0...3, using: &random) }
            let compressed = try #require(payload.withUnsafeBytes { deflater.deflate($0) })
            bytes += Frame(0xC2, compressed).bytes
            messages.append(.message(.binary(Data(payload))))
        }
        let cuts = (0..<50).map { _ in Int.random(in: 0...bytes.count, using: &random) }
        let (seen, violation) = events(bytes, cuts: cuts, inflater: inflater)
        #expect(violation == nil)
        #expect(seen == messages)
    }

    @Test(
        "However the bytes are cut, compressed messages in fragments among control frames are the same",
        arguments: 0..<20
    )
    func compressedCuts(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let forgets = Bool.random(using: &random)
        let deflater = try #require(MessageDeflater(windowBits: 15, forgets: forgets))
        var bytes: [UInt8] = []
        var expected: [WebSocketAssembler.Event] = []
        for number in 0..<12 {
            let text = String(repeating: "añ€😀 \(number) ", count: Int.random(in: 0...300, using: &random))
            // Some messages of a connection with compression are sent without.
            let isCompressed = Int.random(in: 0..<4, using: &random) > 0
            let payload =
                isCompressed
                ? try #require(Array(text.utf8).withUnsafeBytes { deflater.deflate($0) }) : Array(text.utf8)
            let ends =
                (0..<Int.random(in: 0...4, using: &random))
                .map { _ in Int.random(in: 0...payload.count, using: &random) }.sorted() + [payload.count]
            var start = 0
            for (index, end) in ends.enumerated() {
                let first: UInt8 = index == 0 ? (isCompressed ? 0x41 : 0x01) : 0x00
                let final: UInt8 = index == ends.count - 1 ? 0x80 : 0x00
                bytes += Frame(first | final, Array(payload[start..<end])).bytes
                start = end
                if final == 0, Bool.random(using: &random) {
                    bytes += Frame(0x89, "p\(index)").bytes
                    expected.append(.ping(Array("p\(index)".utf8)))
                }
            }
            expected.append(.message(.text(text)))
        }
        let some = (0..<40).map { _ in Int.random(in: 0...bytes.count, using: &random) }
        for cuts in [[], some, Array(0..<bytes.count)] {
            let inflater = try #require(MessageInflater(windowBits: 15, forgets: forgets))
            let (seen, violation) = events(bytes, cuts: cuts, inflater: inflater)
            #expect(violation == nil)
            #expect(seen == expected)
        }
    }

    @Test(
        "A compressed message that ends amid a block is none, instead of damaging the next",
        arguments: [false, true]
    )
    func cutOff(forgets: Bool) throws {
        let text = String(repeating: "A message with enough in it for more than one symbol. ", count: 20)
        let deflater = try #require(MessageDeflater(windowBits: 15, forgets: forgets))
        let payload = try #require(Array(text.utf8).withUnsafeBytes { deflater.deflate($0) })
        for count in 0..<payload.count {
            let inflater = try #require(MessageInflater(windowBits: 15, forgets: forgets))
            let (seen, violation) = events(Frame(0xC1, Array(payload[..<count])).bytes, inflater: inflater)
            #expect(seen.isEmpty && violation?.status == .invalidPayload, "\(count) of \(payload.count) bytes")
        }
        let inflater = try #require(MessageInflater(windowBits: 15, forgets: forgets))
        #expect(events(Frame(0xC1, payload).bytes, inflater: inflater).events == [.message(.text(text))])
    }

    @Test("A bomb stops at the maximum")
    func bomb() throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, forgets: false))
        let zeros = [UInt8](repeating: 0, count: 50_000_000)
        let bomb = try #require(zeros.withUnsafeBytes { deflater.deflate($0) })
        #expect(bomb.count < 60_000)
        let inflater = try #require(MessageInflater(windowBits: 15, forgets: false))
        let (seen, violation) = events(Frame(0xC2, bomb).bytes, maximum: 100_000, inflater: inflater)
        #expect(seen.isEmpty)
        #expect(violation?.status == .tooBig)
    }

    @Test(
        "Messages that no longer count aren't looked into, but the control frames among them are",
        arguments: [false, true]
    )
    func skipping(beginsBefore: Bool) throws {
        let inflater = try #require(MessageInflater(windowBits: 15, forgets: false))
        var assembler = WebSocketAssembler(maximumMessageSize: 100_000, inflater: inflater)
        func events(_ bytes: [UInt8]) throws -> [WebSocketAssembler.Event] {
            try bytes.withUnsafeBytes { bytes in
                var (input, seen) = (bytes, [WebSocketAssembler.Event]())
                while let event = try assembler.next(&input) { seen.append(event) }
                return seen
            }
        }
        let message = Frame(0x02, [UInt8](repeating: 1, count: 50_000)).bytes
        let split = beginsBefore ? 40_000 : 0
        #expect(try events(Array(message[..<split])) == [])
        assembler.skipMessages()
        #expect(assembler.waitingCount == 0)
        guard case .upTo = assembler.nextReading else {
            Issue.record("read to a message")
            return
        }
        let frames = [
            Frame(0x89, "p"), Frame(0x80, "end"), Frame(0xC2, [0xFF, 0xFF, 0xFF]), Frame(0x81, [0xFF]),
            Frame(0x82, [UInt8](repeating: 2, count: 200_000)), Frame(0x8A, "q"), Frame(0x88, [3, 0xE8]),
        ]
        let seen = try events(message[split...] + frames.flatMap(\.bytes))
        #expect(seen == [.ping([0x70]), .pong([0x71]), .close(WebSocketClosing(1000))])
        #expect(assembler.waitingCount == 0)
    }

    @Test("Damaged data is told from text that is none")
    func damaged() throws {
        let inflater = try #require(MessageInflater(windowBits: 15, forgets: false))
        #expect(events(Frame(0xC2, [0xFF, 0xFF, 0xFF]).bytes, inflater: inflater).violation?.status == .invalidPayload)
    }
}
