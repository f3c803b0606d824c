import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlTransport

@Suite("Channels", .timeLimit(.minutes(2)))
struct ChannelTests {
    @Test("Bytes that are echoed come back in order, more than any buffer holds")
    func echo() async throws {
        let server = try LoopbackServer(conversation: Self.echo)
        defer { server.stop() }
        let rig = try await ChannelRig(server.url)
        let payload = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        await rig.perform { $0.setReading(true) }
        await rig.send(payload)
        let received = try await rig.recorder.received(payload.count)
        #expect(received == payload)
        #expect(await rig.perform { $0.unsentCount } == 0)
        await rig.close()
        try await server.waitUntilNoConnections()
    }

    @Test("Nothing is read before it is wanted, and then all of it")
    func reading() async throws {
        let server = try LoopbackServer { number in { $0.isOpened ? [.bytes("hello"), .close] : [] } }
        defer { server.stop() }
        let rig = try await ChannelRig(server.url)
        try await server.waitForBytesSent(5)
        #expect(rig.recorder.bytes.isEmpty)
        await rig.perform { $0.setReading(true) }
        #expect(try await rig.recorder.received(5) == Data("hello".utf8))
        try await rig.recorder.ended.wait()
        await rig.close()
    }

    @Test("Bytes that a channel discards aren't reported, and the end after them is")
    func discarding() async throws {
        let server = try LoopbackServer { number in { $0.isOpened ? [.bytes("hello"), .close] : [] } }
        defer { server.stop() }
        let rig = try await ChannelRig(server.url)
        try await server.waitForBytesSent(5)
        await rig.perform { $0.discardInput() }
        try await rig.recorder.ended.wait()
        #expect(rig.recorder.bytes.isEmpty && rig.recorder.failure == nil)
        await rig.close()
    }

    @Test("A channel that isn't read holds its server back, and other transfers don't disturb it")
    func backPressure() async throws {
        let total: Int64 = 64 * 1024 * 1024
        let server = try LoopbackServer { number in
            { $0.isOpened ? [.body(.generated(length: total)), .close] : [] }
        }
        defer { server.stop() }
        let rig = try await ChannelRig(server.url, ConnectionLimits(kept: 1))
        try await server.waitUntilBlocked()
        #expect(server.bytesSent < total)
        // Others come and go meanwhile, on the same multi.
        for _ in 0..<5 {
            let other = try await ChannelRig(server.url, sharing: rig)
            await other.close()
        }
        await rig.perform { $0.setReading(true) }
        try await rig.recorder.ended.wait()
        #expect(Int64(rig.recorder.bytes.count) == total)
        await rig.close()
    }

    @Test("A channel tells how much the other side has taken, however much is with the system")
    func acknowledged() async throws {
        let total = 1 << 20
        let gate = Gate()
        let server = try LoopbackServer { _ in
            { $0.isOpened ? [.stopReading, .waitFor(gate), .resumeReading] : [] }
        }
        defer { server.stop() }
        let rig = try await ChannelRig(server.url)
        await rig.send(Data(count: total))
        let taken = try #require(await rig.perform { $0.acknowledgedCount })
        #expect(taken < total)
        gate.open()
        try await eventually { await rig.perform { $0.acknowledgedCount } == total }
        await rig.close()
    }

    @Test("When libcurl runs out of memory, an open channel fails, once, and its connection is closed")
    func lackOfMemory() async throws {
        let server = try LoopbackServer(conversation: Self.echo)
        defer { server.stop() }
        let rig = try await ChannelRig(server.url)
        await rig.perform { $0.setReading(true) }
        await rig.runOutOfMemory()
        try await rig.recorder.failed.wait()
        #expect(rig.recorder.failure?.code == .outOfMemory)
        try await server.waitUntilNoConnections()
        await rig.close()
    }

    @Test("A connection that can't be made is reported once, with libcurl's code")
    func refused() async throws {
        let port = try LoopbackServer.refusingPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(port)"))
        await #expect(throws: TransferFailure.self) { _ = try await ChannelRig(url) }
    }

    @Test("A reset connection fails the channel once")
    func reset() async throws {
        let server = try LoopbackServer(conversation: Self.echo)
        defer { server.stop() }
        let rig = try await ChannelRig(server.url)
        await rig.perform { $0.setReading(true) }
        await rig.send(Data("a".utf8))
        _ = try await rig.recorder.received(1)
        server.resetConnections()
        try await rig.recorder.failed.wait()
        #expect(rig.recorder.failure?.code == .recvError)
        #expect(await rig.perform { $0.isOpen } == false)
        await rig.close()
    }

    @Test("Bytes that can't be sent fail the channel, although its delegate stops reading before the end")
    func sendFailure() async throws {
        let isOpen = Gate()
        let server = try LoopbackServer { _ in { $0.isOpened ? [.waitFor(isOpen), .bytes("x"), .reset] : [] } }
        defer { server.stop() }
        let rig = try await ChannelRig(server.url, recorder: ChannelRecorder(readsOnce: true))
        isOpen.open()
        let isReset = await rig.perform { channel in
            var entry = pollfd(fd: channel.descriptor ?? -1, events: 0, revents: 0)
            return poll(&entry, 1, 60_000) == 1
        }
        #expect(isReset == true)
        await rig.perform { channel in
            channel.setReading(true)
            Data("y".utf8).withUnsafeBytes { channel.send($0) }
            channel.flush()
        }
        #expect(try await rig.recorder.received(1) == Data("x".utf8))
        try await rig.recorder.failed.wait()
        #expect(rig.recorder.failure?.code == .sendError)
        await rig.close()
    }

    @Test("Once nothing can be sent, other threads leave what has arrived to the channel")
    func withdrawal() async throws {
        let isOpen = Gate()
        let server = try LoopbackServer { _ in { $0.isOpened ? [.waitFor(isOpen), .bytes("x"), .reset] : [] } }
        defer { server.stop() }
        let rig = try await ChannelRig(server.url, isPlain: true)
        isOpen.open()
        let isReset = await rig.perform { channel in
            var entry = pollfd(fd: channel.descriptor ?? -1, events: 0, revents: 0)
            return poll(&entry, 1, 60_000) == 1
        }
        #expect(isReset == true)
        let taken = await rig.perform { channel in
            let socket = channel.receivingSocket
            Data("y".utf8).withUnsafeBytes { channel.send($0) }
            channel.flush()
            var buffer = [UInt8](repeating: 0, count: 8)
            let count = buffer.withUnsafeMutableBytes { socket?.receive(into: $0) }
            channel.setReading(true)
            return count
        }
        #expect(taken == .some(.some(0)))
        #expect(try await rig.recorder.received(1) == Data("x".utf8))
        try await rig.recorder.failed.wait()
        await rig.close()
    }

    @Test("A server that begins another TLS handshake and goes silent costs nothing, and gets all when it goes on")
    func renegotiation() async throws {
        let server = try await TalkingTLSServer(["-tls1_2"])
        defer { server.stop() }
        var settings = TLSSettings()
        settings.verifiesServer = false
        let rig = try await ChannelRig(server.url, profile: ConnectionProfile([settings]))
        server.renegotiate()
        let isAsked = await rig.perform { channel in
            var entry = pollfd(fd: channel.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
            return poll(&entry, 1, 60_000) == 1
        }
        #expect(isAsked == true)
        server.stall()
        await rig.perform { $0.setReading(true) }
        await rig.send(Data("GET / HTTP/1.1\r\n\r\n".utf8))
        #expect(await rig.perform { $0.unsentCount } == 18)
        #expect(await rig.rounds(upTo: 1000) < 1000)
        server.resume()
        try await server.waitForRequest()
        #expect(await rig.perform { $0.unsentCount } == 0)
        await rig.close()
    }

    @Test("A server that takes everything at once doesn't keep the loop from others")
    func refills() async throws {
        let server = try LoopbackServer(conversation: { _ in { _ in [] } })
        defer { server.stop() }
        let rig = try await ChannelRig(server.url)
        let refiller = Refiller(1000)
        let sent = await rig.perform { channel in
            channel.delegate = refiller
            refiller.channelSentAll(channel)
            channel.flush()
            return refiller.sentCount
        }
        #expect((1..<100).contains(sent ?? 0))
        try await refiller.isDone.wait()
        #expect(await rig.perform { $0.sentCount } == 1000)
        await rig.close()
    }

    @Test("Closing the multi closes its channels, and using them afterwards does nothing")
    func multiCloses() async throws {
        let server = try LoopbackServer(conversation: Self.echo)
        defer { server.stop() }
        let rig = try await ChannelRig(server.url)
        await rig.closeMulti()
        try await server.waitUntilNoConnections()
        await rig.send(Data("a".utf8))
        await rig.perform { $0.setReading(true) }
        #expect(await rig.perform { $0.isOpen } == false)
        await rig.close()
    }

    private static let echo: @Sendable (Int) -> LoopbackServer.Conversation = { _ in
        {
            if case .received(let data) = $0 { return [.bytes(data)] }
            return []
        }
    }
}

/// Sends one byte after the other.
///
/// `@unchecked Sendable`: used on the loop alone, but for the gate.
private final class Refiller: ChannelDelegate, @unchecked Sendable {
    let isDone = Gate()
    private(set) var sentCount = 0
    private let count: Int

    init(_ count: Int) {
        self.count = count
    }

    func channelSentAll(_ channel: Channel) {
        guard sentCount < count else { return isDone.open() }
        sentCount += 1
        Data("x".utf8).withUnsafeBytes { channel.send($0) }
    }

    func channelOpened(_ channel: Channel) {}
    func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {}
    func channelReachedEnd(_ channel: Channel) {}
    func channel(_ channel: Channel, failed failure: TransferFailure) { isDone.open() }
}

extension LoopbackServer.StreamEvent {
    var isOpened: Bool { if case .opened = self { true } else { false } }
}
