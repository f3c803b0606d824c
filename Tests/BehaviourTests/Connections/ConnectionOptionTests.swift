import CurlNetworking
import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Options of connections", .timeLimit(.minutes(1)))
struct ConnectionOptionTests {
    // MARK: - Sockets

    /// The options of this process's socket that is connected to the port.
    private static func option(_ level: Int32, _ name: Int32, ofSocketTo port: Int) -> Int32? {
        for descriptor in 0..<Int32(4096) {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isConnected = withUnsafeMutablePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) == 0 }
            }
            guard isConnected, Int(UInt16(bigEndian: address.sin_port)) == port else { continue }
            var value: Int32 = 0
            length = socklen_t(MemoryLayout<Int32>.size)
            return getsockopt(descriptor, level, name, &value, &length) == 0 ? value : nil
        }
        return nil
    }

    @Test("Connections have no delay and no probes by default")
    func defaults() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/"))
        #expect(Self.option(Int32(IPPROTO_TCP), TCP_NODELAY, ofSocketTo: rig.server.port) == 1)
        #expect(Self.option(SOL_SOCKET, SO_KEEPALIVE, ofSocketTo: rig.server.port) == 0)
    }

    @Test("Probes and delay reach the socket, and a host's values go before the session's")
    func sockets() async throws {
        let servers = try (0..<2).map { _ in try LoopbackServer { _ in .text("hello") } }
        defer { for server in servers { server.stop() } }
        let session = URLSession.forTest {
            $0.curl.connections.usesNoDelay = false
            $0.curl.connections.keepAliveProbes = .init(idle: .seconds(20), interval: .milliseconds(2500))
            $0.curl.hosts["127.0.0.1:\(servers[1].port)"].connections.usesNoDelay = true
            $0.curl.hosts["*"].connections.keepAliveProbes = .init(idle: .seconds(30))
        }
        defer { session.invalidateAndCancel() }
        for server in servers { _ = try await session.data(from: server.url("/")) }
        let tcp = Int32(IPPROTO_TCP)
        #expect(servers.map { Self.option(tcp, TCP_NODELAY, ofSocketTo: $0.port) == 0 } == [true, false])
        for server in servers {
            #expect(Self.option(SOL_SOCKET, SO_KEEPALIVE, ofSocketTo: server.port) == 1)
            #expect(Self.option(tcp, TCP_KEEPIDLE, ofSocketTo: server.port) == 30)
            #expect(Self.option(tcp, TCP_KEEPINTVL, ofSocketTo: server.port) == 60)
        }
    }

    // MARK: - Lifetimes

    @Test("A connection that is too old is not used again, however busy it is")
    func lifetime() async throws {
        let rig = try Rig { _ in
            .text("hello")
        } configure: {
            $0.curl.connections.lifetime = .seconds(1)
        }
        defer { rig.stop() }
        while rig.server.connectionCount < 3 { _ = try await rig.session.data(from: rig.url("/")) }
        #expect(rig.server.openConnections <= 2)
    }

    @Test("A connection that was idle for too long is closed rather than used again")
    func idleLifetime() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        let slow = try LoopbackServer { _ in .text("hello").after([.pause(.seconds(3))]) }
        defer { for server in [server, slow] { server.stop() } }
        let session = URLSession.forTest { $0.curl.connections.idleLifetime = .seconds(1) }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url("/"))
        _ = try await session.data(from: slow.url("/"))
        _ = try await session.data(from: server.url("/"))
        #expect(server.connectionCount == 2)
    }

    // MARK: - Time and speed

    @Test("Connecting may take no longer than it is allowed to, TLS included")
    func connectTimeout() async throws {
        // Takes the connection, and never says a word.
        let (listener, port) = try ListeningSocket.open(backlog: 8, for: "silence")
        defer { close(listener) }
        let session = URLSession.forTest { $0.curl.hosts["*:\(port)"].connections.connectTimeout = .milliseconds(300) }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "https://127.0.0.1:\(port)/"))
        let error = await session.load(url).error
        #expect(error?.code == .timedOut)
        // libcurl tells them apart only once the connection is secured.
        #expect(["connecting", "securing"].contains(error?.phase))
        #expect(error?.curlText?.isEmpty == false)
    }

    @Test(
        "A host's IPv4 address is tried beside its silent IPv6 address after the delay, and no earlier",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/net/if_inet6"), "the system has no IPv6"),
        arguments: [Duration.milliseconds(1), .seconds(60)]
    )
    func happyEyeballsDelay(delay: Duration) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let deaf = try LoopbackServer(host: "::1", port: server.port, options: .deaf) { _ in .never }
        defer { deaf.stop() }
        let isShort = delay < .seconds(1)
        let session = URLSession.forTest {
            $0.curl.hosts["both.test"].names.addresses = ["::1", "127.0.0.1"]
            $0.curl.hosts["both.test"].connections.happyEyeballsDelay = delay
            if !isShort { $0.curl.hosts["both.test"].connections.connectTimeout = .seconds(1) }
        }
        defer { session.invalidateAndCancel() }
        // The kernel completes the first one or two connections, and ignores further attempts.
        for _ in 0..<3 {
            #expect(await session.load(URLRequest(deaf.url("/"), timeout: 0.3)).error?.code == .timedOut)
        }
        let url = try #require(URL(string: "http://both.test:\(server.port)/"))
        let result = await session.load(url)
        #expect(result.error?.code == (isShort ? nil : .timedOut))
        #expect(server.connectionCount == (isShort ? 1 : 0))
    }

    @Test("A transfer that is too slow for too long fails")
    func lowSpeed() async throws {
        let rig = try Rig { _ in
            .pieces([.bytes("x"), .never, .bytes("y")])
        } configure: {
            $0.curl.connections.lowSpeedLimit = .init(bytesPerSecond: 1000, duration: .seconds(1))
        }
        defer { rig.stop() }
        let error = await rig.session.load(rig.url("/")).error
        #expect(error?.code == .timedOut)
        #expect(error?.curlText?.contains("too slow") == true)
    }

    @Test("A suspended task isn't too slow")
    func lowSpeedWhileSuspended() async throws {
        let content = GeneratedBody.bytes(seed: 5, length: 4_000_000)
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) {
            $0.path == "/" ? .data(content) : .text("hello").after([.pause(.seconds(4))])
        } configure: {
            $0.curl.hosts["*"].connections.lowSpeedLimit = .init(bytesPerSecond: 1000, duration: .seconds(3))
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        try await delegate.wait(for: task, bytes: 1)
        task.suspend()
        let other = URLSession.forTest()
        _ = try await other.data(from: rig.url("/slow"))
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == content)
    }

    @Test("Rates hold back what is received and what is sent", arguments: ["GET", "PUT"])
    func rates(method: String) async throws {
        // At its rate the limited transfer takes minutes.
        let content = GeneratedBody.bytes(seed: 6, length: 16 << 20)
        let rig = try Rig {
            $0.method == "PUT" ? .text("\($0.bodyLength)") : .data(content)
        } configure: {
            $0.curl.connections.maximumReceiveRate = 100_000
            $0.curl.connections.maximumSendRate = 100_000
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: method, body: method == "PUT" ? content : nil)
        let limited = rig.session.dataTask(with: request)
        limited.resume()
        let free = URLSession.forTest()
        defer { free.invalidateAndCancel() }
        for _ in 0..<3 { #expect(await free.load(request).error == nil) }
        #expect(limited.state == .running)
        #expect(limited.countOfBytesReceived + limited.countOfBytesSent < Int64(content.count))
    }

    @Test(
        "Buffers of any permitted size carry bodies unchanged",
        arguments: [(1 << 10, 16 << 10), (512 << 10, 2 << 20)]
    )
    func buffers(receive: Int, send: Int) async throws {
        let content = GeneratedBody.bytes(seed: 7, length: 3_000_000)
        let rig = try Rig {
            $0.method == "PUT" ? .data($0.body) : .data(content)
        } configure: {
            $0.curl.connections.receiveBufferSize = receive
            $0.curl.connections.sendBufferSize = send
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).data == content)
        #expect(await rig.session.load(URLRequest(rig.url("/"), method: "PUT", body: content)).data == content)
    }
}
