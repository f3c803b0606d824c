import CurlNetworkingLocks
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("Reads and writes that are carried out by their callers", .timeLimit(.minutes(1)))
struct StreamPortTests {
    private final class Owner: StreamOwner {
        /// Loops are never freed.
        static let sharedLoop = EventLoop(label: "StreamPortTests.loop")

        let loop = sharedLoop
        let delegates = DelegateSet.none
        var shownURL: URL? { nil }
        let submits = Watched(0)

        func tell(_ event: TaskEvent) {}
        func ask(_ question: TaskQuestion) {}

        func submit(_ body: @escaping @Sendable () -> Void) {
            submits.update { $0 += 1 }
            loop.submit(body)
        }

        func reply(_ handler: @escaping @Sendable () -> Void) { handler() }
        func call(_ handler: @escaping @Sendable () -> Void) { handler() }
    }

    /// Lends the sockets; what the port wants of it is the test's to do.
    private final class Carrier: StreamCarrier {
        let sockets: (reading: PlainSocket?, writing: PlainSocket?)

        init(_ socket: PlainSocket) {
            sockets = (socket, socket)
        }

        func portChanged() {}
        func closeWriting() {}
        func begin(_ transition: StreamPort.Queue.Transition) {}
        func transitionTimedOut() {}
        func end() {}
    }

    private let pair: SocketPair
    private let port = StreamPort()
    private let owner = Owner()
    private let results = Watched<[String]>([])

    /// The port is open.
    init() async throws {
        pair = try SocketPair()
        port.owner = owner
        let socket = PlainSocket(pair.near)
        await owner.loop.perform { [port] in port.open(over: Carrier(socket)) }
    }

    private func read(_ name: String, _ minimum: Int, _ maximum: Int, isSuspended: Bool = false) {
        let reader = StreamReader.handler { [results] data, isAtEnd, error in
            let text = error == nil ? String(decoding: data ?? Data(), as: UTF8.self) : "failed"
            results.update { $0.append("\(name) \(text)\(isAtEnd ? " end" : "")") }
        }
        port.add(.read(minimum: minimum, maximum: maximum, timeout: nil, reader), for: owner, waitsForLoop: isSuspended)
    }

    private func write(_ name: String, _ data: Data, isSuspended: Bool = false) {
        let writer = StreamWriter.handler { [results] error in
            results.update { $0.append("\(name) \(error == nil ? "written" : "failed")") }
        }
        port.add(.write(data, timeout: nil, writer), for: owner, waitsForLoop: isSuspended)
    }

    /// What the carrier does once the socket takes more: writes what the port has left, and says so.
    private func finishWriting() async -> Data {
        let (port, pair) = (port, pair)
        return await owner.loop.perform {
            var written = Data()
            while let rest = port.unwritten {
                written += rest
                port.wrote(rest.count)
            }
            return pair.read() + written
        }
    }

    @Test("A read that finds its bytes, and a write for which there is room, need no loop")
    func direct() {
        pair.write("Hello, whoever")
        read("a", 1, 5)
        read("b", 2, 100)
        write("c", Data("you are".utf8))
        #expect(results.value == ["a Hello", "b , whoever", "c written"])
        #expect(pair.read() == Data("you are".utf8))
        #expect(owner.submits.value == 0)
    }

    @Test(
        "Bytes that are too few for a read are the first of what the loop reads for it, and the caller's turn comes again"
    )
    func tooFew() async {
        pair.write("abc")
        read("a", 5, 10)
        // It waits behind the first.
        read("b", 1, 10)
        #expect(results.value == [])
        let wanted = await owner.loop.perform { [port] in port.wantedCount }
        #expect(wanted > 0)
        await owner.loop.perform { [port] in port.received(Data("de".utf8)) }
        #expect(results.value == ["a abcde"])
        await owner.loop.perform { [port] in port.received(Data("f".utf8)) }
        #expect(results.value == ["a abcde", "b f"])
        let submits = owner.submits.value
        pair.write("g")
        read("c", 1, 10)
        #expect(results.value == ["a abcde", "b f", "c g"])
        #expect(owner.submits.value == submits)
    }

    @Test("The loop sends what the system doesn't take of a write, and later writes wait behind it")
    func partial() async {
        let data = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        write("a", data)
        write("b", Data("later".utf8))
        #expect(results.value == [])
        #expect(await finishWriting() == data + Data("later".utf8))
        #expect(results.value == ["a written", "b written"])
        // The caller's turn again.
        let submits = owner.submits.value
        write("c", Data("at once".utf8))
        #expect(results.value.last == "c written")
        #expect(owner.submits.value == submits)
        #expect(pair.read() == Data("at once".utf8))
    }

    @Test("A write that finds no room at all waits whole")
    func full() async {
        let socket = PlainSocket(pair.near)
        var filling = 0
        let zeros = [UInt8](repeating: 0, count: 4096)
        while case let count = zeros.withUnsafeBytes({ socket.send($0) }), count > 0 { filling += count }
        #expect(!socket.hasFailed)
        write("a", Data("late".utf8))
        #expect(results.value == [])
        #expect(await finishWriting() == Data(count: filling) + Data("late".utf8))
        #expect(results.value == ["a written"])
    }

    @Test("A suspended task's reads and writes wait for the loop, whatever was lent before")
    func suspended() async {
        pair.write("there")
        read("a", 1, 10, isSuspended: true)
        write("b", Data("here".utf8), isSuspended: true)
        #expect(results.value == [])
        #expect(owner.submits.value == 2)
        #expect(pair.read().isEmpty)
        await owner.loop.perform { [port] in port.setPaused(true) }
        let wanted = await owner.loop.perform { [port] in port.wantedCount }
        #expect(wanted == 0)
    }

    @Test("After closeWrite, TLS or a capture was asked for, nothing passes it by", arguments: 0..<3)
    func passing(what: Int) async {
        let operation: StreamPort.Operation = [.closeWrite, .transition(.startTLS), .transition(.capture)][what]
        // The loop doesn't get to it before all have been asked for.
        let asked = DispatchSemaphore(value: 0)
        owner.loop.submit { asked.wait() }
        port.add(operation, for: owner, waitsForLoop: false)
        pair.write("plain")
        write("a", Data("plain".utf8))
        read("b", 1, 10)
        asked.signal()
        await owner.loop.perform {}
        #expect(pair.read().isEmpty)
        #expect(results.value == (what == 0 ? ["a failed"] : []))
    }

    @Test("A peer that has gone away leaves reads and writes to the loop, which finds out")
    func gone() async {
        pair.write("last")
        pair.hangUp()
        read("a", 1, 10)
        #expect(results.value == ["a last"])
        read("b", 1, 10)
        write("c", Data("nobody hears".utf8))
        #expect(results.value == ["a last"])
        await owner.loop.perform { [port] in port.receivedEnd() }
        #expect(results.value == ["a last", "b  end"])
        let unwritten = await owner.loop.perform { [port] in port.unwritten }
        #expect(unwritten == Data("nobody hears".utf8))
        await owner.loop.perform { [port] in port.fail(.task(URLError(.networkConnectionLost))) }
        #expect(results.value.last == "c failed")
    }

    @Test("A task that is cancelled while the loop has half of a write fails it and those after it, once each")
    func cancelled() async {
        write("a", Data(count: 300_000))
        write("b", Data("later".utf8))
        await owner.loop.perform { [port] in port.fail(.task(URLError(.cancelled))) }
        #expect(results.value == ["a failed", "b failed"])
        write("c", Data("too late".utf8))
        await owner.loop.perform {}
        #expect(results.value == ["a failed", "b failed", "c failed"])
    }

    @Test("A read that comes after the end is answered, though its task is dropped before the loop gets to it")
    func dropped() async {
        await owner.loop.perform { [port] in port.fail(.task(URLError(.cancelled))) }
        let isDropped = DispatchSemaphore(value: 0)
        owner.loop.submit { isDropped.wait() }
        do {
            let owner = Owner()
            port.owner = owner
            let reader = StreamReader.handler { [results] _, _, error in
                results.update { $0.append(error == nil ? "read" : "failed") }
            }
            port.add(.read(minimum: 1, maximum: 9, timeout: nil, reader), for: owner, waitsForLoop: false)
        }
        isDropped.signal()
        await owner.loop.perform {}
        #expect(results.value == ["failed"])
    }

    @Test("Writers on many threads keep each one's order, while the loop takes the socket and gives it back")
    func concurrent() async throws {
        let (writers, each) = (4, 200)
        let sending = DispatchGroup()
        for writer in 0..<writers {
            DispatchQueue.global().async(group: sending) {
                for number in 0..<each {
                    let filling = String(repeating: "x", count: number * 37 % 300)
                    write("\(writer) \(number)", Data("\(writer) \(number) \(filling)\n".utf8))
                }
            }
        }
        var received = Data()
        while sending.wait(timeout: .now()) == .timedOut { received += await finishWriting() }
        received += await finishWriting()
        let lines = String(decoding: received, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == writers * each)
        for writer in 0..<writers {
            let numbers = lines.filter { $0.hasPrefix("\(writer) ") }.compactMap { Int($0.split(separator: " ")[1]) }
            #expect(numbers == Array(0..<each), "the order of the calls")
        }
        #expect(Set(results.value) == Set((0..<writers).flatMap { a in (0..<each).map { "\(a) \($0) written" } }))
        #expect(results.value.count == writers * each)
    }
}
