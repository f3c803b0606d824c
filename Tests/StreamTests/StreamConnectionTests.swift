import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking
@testable import CurlTransport

@Suite("The connection of a stream task", .timeLimit(.minutes(1)))
struct StreamConnectionTests {
    @Test("A server that takes everything at once doesn't keep the loop from others")
    func turns() async throws {
        let count = 1000
        let server = try LoopbackServer(conversation: { _ in { _ in [] } })
        defer { server.stop() }
        let rig = try ConnectionRig(server.url)
        try await rig.isOpen.wait()
        let written = Watched(0)
        let sent = Watched<Int?>(nil)
        await rig.owner.loop.perform {
            for _ in 0..<count {
                let writer = StreamWriter.handler { error in if error == nil { written.update { $0 += 1 } } }
                rig.port.add(.write(Data("x".utf8), timeout: nil, writer), for: rig.owner, waitsForLoop: false)
            }
            // After all of those, in the same round.
            rig.owner.submit { sent.update { $0 = rig.sentCount } }
        }
        try await sent.wait { $0 != nil }
        #expect((1..<100).contains(sent.value ?? 0))
        try await written.wait { $0 == count }
        #expect(await rig.owner.loop.perform { rig.sentCount } == count)
        await rig.close()
        try await server.waitUntilNoConnections()
    }

    @Test("closeWrite ends the connection's write side after everything that its last owner left to be sent")
    func leftToSend() async throws {
        let reads = Gate()
        let received = Watched(0)
        let server = try HalfClosingServer(greeting: "", reads: reads) { data in received.update { $0 += data.count } }
        defer { server.stop() }
        // More than the system takes at once.
        let left = Data(count: 32 << 20)
        let rig = try ConnectionRig(#require(URL(string: "http://127.0.0.1:\(server.port)/")), leaving: left)
        try await rig.isOpen.wait()
        await rig.owner.loop.perform { rig.port.add(.closeWrite, for: rig.owner, waitsForLoop: false) }
        reads.open()
        try await server.isOver.wait()
        #expect(received.value == left.count)
        await rig.owner.loop.perform { rig.port.add(.closeRead, for: rig.owner, waitsForLoop: false) }
        try await rig.ending.wait { $0 != nil }
        #expect(rig.ending.value == .finished(nil))
        await rig.close()
    }

    @Test("Of a server's last bytes, those that a caller has taken come before those that the loop reads")
    func lastWords() async throws {
        let (begins, goesOn) = (Gate(), Gate())
        let server = try LoopbackServer(conversation: { _ in
            { event in
                guard case .opened = event else { return [] }
                let words: [LoopbackServer.Step] = [.bytes("early "), .waitFor(goesOn), .bytes("late"), .reset]
                return [.stopReading, .waitFor(begins)] + words
            }
        })
        defer { server.stop() }
        let rig = try ConnectionRig(server.url, isPlain: true)
        try await rig.isOpen.wait()
        begins.open()
        let hasArrived = await rig.owner.loop.perform {
            var entry = pollfd(fd: rig.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
            return poll(&entry, 1, 60_000) == 1
        }
        #expect(hasArrived)
        let results = Watched<[String]>([])
        // More than the system takes.
        let writer = StreamWriter.handler { error in
            results.update { $0.append(error == nil ? "written" : "not written") }
        }
        rig.port.add(.write(Data(count: 64 << 20), timeout: nil, writer), for: rig.owner, waitsForLoop: false)
        await rig.owner.loop.perform {}
        rig.owner.holdBack()
        let reader = StreamReader.handler { data, _, error in
            let text = String(decoding: data ?? Data(), as: UTF8.self)
            results.update { $0.append("\(text) \(error == nil)") }
        }
        rig.port.add(.read(minimum: 10, maximum: 20, timeout: nil, reader), for: rig.owner, waitsForLoop: false)
        goesOn.open()
        try await rig.ending.wait { $0 == .finished(.networkConnectionLost) }
        // What the task does then.
        await rig.owner.loop.perform { rig.port.fail(.task(URLError(.networkConnectionLost))) }
        rig.owner.release()
        await rig.owner.loop.perform {}
        #expect(results.value == ["early late true", "not written"])
        await rig.close()
    }
}

/// A stream's connection over a channel of its own, without a task.
///
/// `@unchecked Sendable`: what changes is touched on the loop alone.
private final class ConnectionRig: ChannelDelegate, StreamConnectionOwner, @unchecked Sendable {
    final class Owner: StreamOwner {
        /// Loops are never freed.
        static let sharedLoop = EventLoop(label: "StreamConnectionTests.loop")

        let loop = sharedLoop
        let delegates = DelegateSet.none
        var shownURL: URL? { nil }

        func tell(_ event: TaskEvent) {}
        func ask(_ question: TaskQuestion) {}
        func reply(_ handler: @escaping @Sendable () -> Void) { handler() }
        func call(_ handler: @escaping @Sendable () -> Void) { handler() }

        /// What `submit` keeps; nil if it passes everything on.
        private let held = Watched<[@Sendable () -> Void]?>(nil)

        func submit(_ body: @escaping @Sendable () -> Void) {
            let isHeld = held.update { held in
                held?.append(body)
                return held != nil
            }
            if !isHeld { loop.submit(body) }
        }

        /// From here on the loop isn't told of anything, until `release()`.
        func holdBack() { held.update { $0 = [] } }

        func release() {
            let bodies = held.update { held in
                defer { held = nil }
                return held ?? []
            }
            for body in bodies { loop.submit(body) }
        }
    }

    enum Ending: Equatable {
        case finished(URLError.Code?)
    }

    let owner = Owner()
    let port = StreamPort()
    let isOpen = Gate()
    let ending = Watched<Ending?>(nil)
    /// What is to be sent before the stream begins.
    private let left: Data
    private let site: StreamConnection.Site
    private var multi: Multi?
    private var channel: Channel?
    private var connection: StreamConnection?

    init(_ url: URL, leaving left: Data = Data(), isPlain: Bool = false) throws {
        self.left = left
        site = StreamConnection.Site(
            peer: .success(TLSClient.Peer(host: "127.0.0.1")),
            hooks: nil,
            origin: try #require(Origin(url)),
            handshakeTimeout: .seconds(60),
            isEncrypted: false
        )
        port.owner = owner
        owner.loop.submit { [self] in
            multi = try? Multi(loop: owner.loop, limits: ConnectionLimits(kept: 1))
            var options = ChannelOptions(url: url.absoluteString, .none)
            options.isPlain = isPlain
            channel = multi.flatMap { try? Channel(options, in: $0, delegate: self) }
        }
    }

    /// Loop only.
    var sentCount: Int { channel?.sentCount ?? 0 }
    var descriptor: Int32? { channel?.descriptor }

    func close() async {
        await owner.loop.perform { [self] in
            port.fail(.task(URLError(.cancelled)))
            connection?.close()
            multi?.close()
            (multi, channel, connection) = (nil, nil, nil)
        }
    }

    func channelOpened(_ channel: Channel) {
        let connection = StreamConnection(channel, port, to: site, url: nil, owner: self)
        self.connection = connection
        left.withUnsafeBytes { channel.send($0) }
        channel.flush()
        connection.open()
        isOpen.open()
    }

    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}
    func channelReachedEnd(_ channel: Channel) {}
    func channelSentAll(_ channel: Channel) {}
    func channel(_ channel: Channel, failed failure: TransferFailure) { isOpen.open() }
    func streamSecured(_ session: TLSSession?) {}

    func streamFinished(_ error: URLError?) { ending.update { $0 = .finished(error?.code) } }
}
