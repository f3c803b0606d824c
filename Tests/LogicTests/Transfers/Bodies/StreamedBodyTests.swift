import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

/// A stream that gives what it is told, piece by piece, and blocks until it is told.
private final class ScriptedStream: InputStream {
    enum Piece: Sendable {
        case bytes(Data)
        case end
        case failure(any Error)
    }

    private let pieces: @Sendable (Int) -> Piece
    private let gate: @Sendable (Int) -> Gate?
    private let closed = Gate()
    private let readCount = Watched(0)
    private nonisolated(unsafe) var rest = Data()
    private nonisolated(unsafe) var error: (any Error)?
    private nonisolated(unsafe) var status = Status.notOpen

    /// `gate` is waited for before the piece of that number is given.
    init(gate: @escaping @Sendable (Int) -> Gate? = { _ in nil }, pieces: @escaping @Sendable (Int) -> Piece) {
        self.gate = gate
        self.pieces = pieces
        super.init(data: Data())
    }

    var isClosed: Gate { closed }
    var reads: Watched<Int> { readCount }

    override var streamStatus: Status { status }
    override var streamError: (any Error)? { error }
    override var hasBytesAvailable: Bool { true }

    override func open() {
        status = .open
    }

    override func close() {
        status = .closed
        closed.open()
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
        if rest.isEmpty {
            let number = readCount.value
            gate(number)?.waitBlocking()
            readCount.update { $0 += 1 }
            switch pieces(number) {
            case .bytes(let data): rest = data
            case .end: return 0
            case .failure(let error):
                self.error = error
                return -1
            }
        }
        let part = rest.prefix(count)
        part.copyBytes(to: buffer, count: part.count)
        rest = Data(rest.dropFirst(part.count))
        return part.count
    }
}

@Suite("Bodies from streams", .timeLimit(.minutes(1)))
struct StreamedBodyTests {
    private static func failure(_ body: () async throws -> Data) async -> URLError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? URLError)?.code
        }
    }

    @Test("A stream is read to its end", arguments: [0, 1, 1000, 3_000_000], [1024, 100_000])
    func whole(count: Int, size: Int) async throws {
        let data = GeneratedBody.bytes(seed: 1, length: count)
        let reader = BodyReader()
        let body = reader.body(InputStream(data: data))
        defer { body.close() }
        #expect(body.length == nil)
        #expect(try await reader.readAll(body, by: size) == data)
        #expect(try RequestBodyTests.read(body, 10) == Data(), "the end stays the end")
    }

    @Test("A slow stream doesn't block its reader: bytes are announced when they come, once")
    func slow() async throws {
        let (first, second) = (Gate(), Gate())
        let stream = ScriptedStream(gate: { [0: first, 1: second][$0] }) { number in
            number < 2 ? .bytes(Data("\(number)".utf8)) : .end
        }
        let reader = BodyReader()
        let body = reader.body(stream)
        defer { body.close() }
        #expect(try RequestBodyTests.read(body, 10) == nil)
        #expect(try RequestBodyTests.read(body, 10) == nil)
        #expect(reader.readable.value == 0)
        first.open()
        try await reader.readable.wait { $0 == 1 }
        #expect(try RequestBodyTests.read(body, 10) == Data("0".utf8))
        second.open()
        #expect(try await reader.readAll(body) == Data("1".utf8))
    }

    /// Says for ever that it isn't open, and begins anew when it is opened.
    private final class ForgetfulStream: InputStream {
        private let bytes: Data
        private nonisolated(unsafe) var position = 0

        init(_ bytes: Data) {
            self.bytes = bytes
            super.init(data: Data())
        }

        override func open() { position = 0 }
        override func close() {}

        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
            let part = bytes.dropFirst(position).prefix(count)
            part.copyBytes(to: buffer, count: part.count)
            position += part.count
            return part.count
        }
    }

    @Test("A stream whose status is never another is opened once, however long it is")
    func openedOnce() async throws {
        let data = GeneratedBody.bytes(seed: 1, length: 3_000_000)
        let reader = BodyReader()
        let body = reader.body(ForgetfulStream(data))
        defer { body.close() }
        #expect(try await reader.readAll(body) == data)
    }

    @Test("A stream that is only looked at for its end is closed", arguments: [true, false])
    func lookedAt(isEmpty: Bool) async throws {
        let stream = ScriptedStream { _ in isEmpty ? .end : .bytes(Data("a".utf8)) }
        let found = Watched<URLError??>(nil)
        StreamedBody.findEnd(of: stream, url: nil) { error in found.update { $0 = .some(error) } }
        try await stream.isClosed.wait()
        let error = try #require(found.value)
        #expect(error?.code == (isEmpty ? nil : .dataLengthExceedsMaximum))
    }

    @Test("No more than the mark and one read wait for a slow peer")
    func bound() async throws {
        let stream = ScriptedStream { _ in .bytes(Data(count: 64 * 1024)) }
        let reader = BodyReader()
        let body = reader.body(stream)
        defer { body.close() }
        #expect(try RequestBodyTests.read(body, 1) == nil)
        try await stream.reads.wait { $0 >= 8 }
        // It reads on only as bytes are taken.
        var taken = 0
        for _ in 0..<100 {
            if let piece = try RequestBodyTests.read(body, 16 * 1024) { taken += piece.count }
            let read = stream.reads.value * 64 * 1024
            #expect(read - taken <= 512 * 1024 + 64 * 1024)
        }
        #expect(taken > 0)
    }

    @Test(
        "A stream that goes on after its announced length fails the task before all of that was sent",
        arguments: [1, 4, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 100_000, 600_000]
    )
    func tooLong(length: Int) async throws {
        let reader = BodyReader()
        let body = reader.body(InputStream(data: Data(count: length + 1)), length: Int64(length))
        defer { body.close() }
        #expect(body.length == Int64(length))
        let taken = Watched(0)
        let failure = await Self.failure {
            while true {
                let told = reader.readable.value
                if let piece = try RequestBodyTests.read(body, 10_000) {
                    taken.update { $0 += piece.count }
                } else {
                    try await reader.readable.wait { $0 > told }
                }
            }
        }
        #expect(failure == .dataLengthExceedsMaximum)
        #expect(taken.value < length)
    }

    @Test("A stream that keeps its reader waiting at its announced length doesn't keep its request waiting")
    func openEnd() async throws {
        let never = Gate()
        let stream = ScriptedStream(gate: { $0 == 1 ? never : nil }) { _ in .bytes(Data("abcd".utf8)) }
        let reader = BodyReader()
        let body = reader.body(stream, length: 4)
        defer {
            body.close()
            never.open()
        }
        #expect(try RequestBodyTests.read(body, 1) == nil)
        try await stream.reads.wait { $0 == 1 }
        var taken = Data()
        while taken.count < 4 {
            let told = reader.readable.value
            if let piece = try RequestBodyTests.read(body, 10) {
                taken += piece
            } else {
                try await reader.readable.wait { $0 > told }
            }
        }
        #expect(taken == Data("abcd".utf8))
    }

    @Test("A stream that ends before its announced length fails the task")
    func tooShort() async throws {
        let reader = BodyReader()
        let body = reader.body(InputStream(data: Data("abc".utf8)), length: 4)
        defer { body.close() }
        #expect(await Self.failure { try await reader.readAll(body) } == .requestBodyStreamExhausted)
    }

    @Test("A stream that fails fails the task, after what it gave before")
    func failing() async throws {
        let stream = ScriptedStream { $0 == 0 ? .bytes(Data("abc".utf8)) : .failure(CocoaError(.fileReadCorruptFile)) }
        let reader = BodyReader()
        let body = reader.body(stream)
        defer { body.close() }
        #expect(try RequestBodyTests.read(body, 1) == nil)
        try await stream.reads.wait { $0 == 2 }
        #expect(try RequestBodyTests.read(body, 10) == Data("abc".utf8))
        #expect(await Self.failure { try await reader.readAll(body) } == .requestBodyStreamExhausted)
    }

    /// Says that it has read more than there is room for, by so many bytes.
    private final class BoastfulStream: InputStream {
        private let surplus: Int

        init(surplus: Int) {
            self.surplus = surplus
            super.init(data: Data())
        }

        override var streamStatus: Status { .open }
        override func close() {}

        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
            count.addingReportingOverflow(surplus).overflow ? .max : count + surplus
        }
    }

    @Test("A stream that says it has read more than there is room for fails the task", arguments: [1, .max])
    func boastful(surplus: Int) async throws {
        for length in [nil, 1, 1 << 20, .max] as [Int64?] {
            let reader = BodyReader()
            let body = reader.body(BoastfulStream(surplus: surplus), length: length)
            defer { body.close() }
            #expect(await Self.failure { try await reader.readAll(body) } == .requestBodyStreamExhausted)
        }
        let found = Watched<URLError??>(nil)
        StreamedBody.findEnd(of: BoastfulStream(surplus: surplus), url: nil) { error in
            found.update { $0 = .some(error) }
        }
        try await found.wait { $0 != nil }
        #expect(found.value??.code == .requestBodyStreamExhausted)
    }

    @Test("A stream can't be started again once it was read from")
    func seeking() async throws {
        let reader = BodyReader()
        let body = reader.body(InputStream(data: Data("abc".utf8)))
        defer { body.close() }
        #expect(body.seek(to: 0))
        #expect(!body.seek(to: 1))
        _ = try await reader.readAll(body)
        #expect(!body.seek(to: 0))
    }

    @Test("The stream of a body that isn't asked for bytes isn't touched")
    func untouched() async throws {
        let stream = ScriptedStream { $0 == 0 ? .bytes(Data("abc".utf8)) : .end }
        let reader = BodyReader()
        let unused = reader.body(stream)
        #expect(!unused.hasBegun)
        unused.close()
        #expect(stream.streamStatus == .notOpen && stream.reads.value == 0)
        let body = reader.body(stream)
        defer { body.close() }
        #expect(try await reader.readAll(body) == Data("abc".utf8))
        #expect(body.hasBegun)
    }

    @Test("Bytes that come one by one go out in the order in which they came, in pieces of any size")
    func singly() async throws {
        let data = GeneratedBody.bytes(seed: 2, length: 100_000)
        let stream = ScriptedStream { $0 < data.count ? .bytes(data[$0..<$0 + 1]) : .end }
        let reader = BodyReader()
        let body = reader.body(stream)
        defer { body.close() }
        #expect(try await reader.readAll(body, by: 777) == data)
    }

    @Test("Closing ends the reading ahead and closes the stream")
    func closing() async throws {
        let gate = Gate()
        let stream = ScriptedStream(gate: { $0 == 1 ? gate : nil }) { _ in .bytes(Data("abc".utf8)) }
        let reader = BodyReader()
        let body = reader.body(stream)
        #expect(try RequestBodyTests.read(body, 1) == nil)
        try await stream.reads.wait { $0 == 1 }
        body.close()
        gate.open()
        try await stream.isClosed.wait()
        #expect(stream.reads.value <= 2, "at most it was in the middle of a read, and it began no other")
    }
}
