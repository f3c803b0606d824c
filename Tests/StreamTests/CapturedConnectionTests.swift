import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking
@testable import CurlNetworkingLoopbackServer
@testable import CurlTransport

@Suite("Captured connections", .enabled(if: CurlLibrary.startsTLS), .timeLimit(.minutes(1)))
struct CapturedConnectionTests {
    private let sockets: SocketPair
    private let tls: TLSPair
    private let connection: CapturedConnection

    /// The handshake is done.
    init() throws {
        sockets = try SocketPair()
        // As libcurl's sockets are.
        _ = fcntl(sockets.near, F_SETFL, fcntl(sockets.near, F_GETFL) | O_NONBLOCK)
        tls = try TLSPair(TLSServerEnd())
        guard try tls.shakeHands() == .done else { throw TLSServerEnd.Failure() }
        connection = try #require(CapturedConnection(sockets.near, tls: tls.client, surplus: Data()))
    }

    /// A record of the server's.
    private func record(_ text: String) -> [UInt8] {
        tls.server.write(text)
        return tls.server.takeOutput()
    }

    /// Reads up to so many bytes; nil at the end.
    private static func read(_ connection: CapturedConnection, _ count: Int = 100) throws -> String? {
        var bytes = [UInt8](repeating: 0, count: count)
        switch bytes.withUnsafeMutableBytes({ connection.read(into: $0) }) {
        case .count(let count): return String(decoding: bytes[..<count], as: UTF8.self)
        case .end: return nil
        case .failed(let error): throw error
        }
    }

    /// Calls `body` on a thread of its own, which may block.
    private static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result(catching: body)) }.start()
        }
    }

    @Test("Each of several records that come together shows until it is read")
    func together() throws {
        #expect(!connection.mayRead)
        sockets.write(record("first") + record("second"))
        #expect(connection.mayRead)
        #expect(try Self.read(connection) == "first")
        #expect(connection.mayRead)
        #expect(try Self.read(connection, 3) == "sec")
        #expect(connection.mayRead)
        #expect(try Self.read(connection) == "ond")
        #expect(!connection.mayRead)
    }

    @Test("Bytes that came before the program ended its side of TLS can be read afterwards")
    func endedTwice() throws {
        sockets.write(record("first") + record("second"))
        #expect(try Self.read(connection, 3) == "fir")
        // By the task.
        tls.client.close()
        connection.closeWriting()
        #expect(try Self.read(connection) == "st")
        #expect(try Self.read(connection) == "second")
    }

    @Test("A part of a record is nothing to read yet")
    func part() throws {
        let whole = record("whole")
        sockets.write(Array(whole.dropLast()))
        #expect(!connection.mayRead)
        sockets.write(Array(whole.suffix(1)))
        #expect(connection.mayRead)
        #expect(try Self.read(connection) == "whole")
    }

    @Test("Bytes before a bad record are read first, and then the error, however often it is asked for")
    func badRecord() throws {
        let good = record("good")
        var bad = record("bad")
        bad[bad.count - 1] ^= 1
        sockets.write(good + bad)
        #expect(connection.mayRead)
        #expect(try Self.read(connection) == "good")
        #expect(connection.mayRead)
        #expect(throws: URLError.self) { try Self.read(connection) }
        #expect(connection.mayRead)
        #expect(throws: URLError.self) { try Self.read(connection) }
    }

    @Test("The server's end of TLS makes the connection readable, and is the end")
    func end() throws {
        tls.server.close()
        sockets.write(tls.server.takeOutput())
        #expect(connection.mayRead)
        #expect(try Self.read(connection) == nil)
        #expect(try Self.read(connection) == nil)
    }

    @Test("A reader that waits for bytes hears of the end when reading is closed")
    func closeReading() async throws {
        let connection = connection
        let begins = DispatchSemaphore(value: 0)
        async let text = Self.onThread {
            begins.signal()
            return try Self.read(connection)
        }
        try await Self.onThread { begins.wait() }
        connection.closeReading()
        #expect(try await text == nil)
    }

    /// A captured connection over TCP in plain text, and the other side's socket.
    private static func plain() throws -> (near: CapturedConnection, far: Int32) {
        let listener = try Sockets.listen(host: "127.0.0.1", port: 0, backlog: 1)
        defer { close(listener) }
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr()
        var length = socklen_t(MemoryLayout<sockaddr>.size)
        guard getsockname(listener, &address, &length) == 0, connect(socket, &address, length) == 0 else {
            throw POSIXError(.ECONNREFUSED)
        }
        _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
        return (try #require(CapturedConnection(socket, tls: nil, surplus: Data())), accept(listener, nil, nil))
    }

    /// Writes a byte. True if that fails.
    private static func failsToWrite(_ connection: CapturedConnection) -> Bool {
        if case .failed = [1].withUnsafeBytes({ connection.write($0) }) { true } else { false }
    }

    /// Waits until the other side's reset has arrived.
    private static func awaitReset(_ connection: CapturedConnection) {
        var entry = pollfd(fd: connection.descriptor, events: 0, revents: 0)
        poll(&entry, 1, -1)
    }

    @Test("A reset isn't taken for the end of the bytes, even if a write has met it first")
    func resetMetByWrite() throws {
        let (connection, far) = try Self.plain()
        Sockets.reset(far)
        Self.awaitReset(connection)
        #expect(Self.failsToWrite(connection))
        #expect(throws: URLError.self) { try Self.read(connection) }
        connection.closeReading()
        #expect(try Self.read(connection) == nil)
    }

    @Test("The end of the bytes remains the end if the other side refuses what is written after it")
    func refusalAfterEnd() throws {
        let (connection, far) = try Self.plain()
        close(far)
        // Once the end has arrived, the other side's answer to a byte is a reset.
        var entry = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
        #expect(poll(&entry, 1, -1) == 1)
        #expect(!Self.failsToWrite(connection))
        Self.awaitReset(connection)
        #expect(Self.failsToWrite(connection))
        #expect(try Self.read(connection) == nil)
    }

    /// Writes until the system takes no more, and returns how many bytes that were.
    private func fillBuffer() -> Int {
        let socket = PlainSocket(sockets.near)
        let zeros = [UInt8](repeating: 0, count: 4096)
        var filling = 0
        while case let count = zeros.withUnsafeBytes({ socket.send($0) }), count > 0 { filling += count }
        return filling
    }

    // Whether the reader is faster than the closing is a matter of luck: so it is tried again and again.
    @Test("The end of TLS is heard by a server that has yet to read a full buffer of bytes", arguments: 0..<20)
    func closeWriting(_ attempt: Int) async throws {
        let filling = fillBuffer()
        let (connection, sockets) = (connection, sockets)
        let begins = DispatchSemaphore(value: 0)
        async let closed: Void = Self.onThread {
            begins.signal()
            connection.closeWriting()
        }
        let received = try await Self.onThread {
            begins.wait()
            return sockets.readToEnd()
        }
        try await closed
        tls.server.receive(Array(received.dropFirst(filling)))
        #expect(tls.server.read() == nil)
    }

    @Test("A server that reads nothing doesn't hold up the end of TLS for ever, and hears of the end without it")
    func closeWritingUnheard() async throws {
        let filling = fillBuffer()
        let (connection, sockets) = (connection, sockets)
        // Whatever still waits gets an error.
        defer { sockets.hangUp() }
        let received = Watched<Int?>(nil)
        Thread {
            connection.closeWriting()
            let count = sockets.readToEnd().count
            received.update { $0 = count }
        }.start()
        try await received.wait { $0 != nil }
        #expect(received.value == filling)
    }
}
