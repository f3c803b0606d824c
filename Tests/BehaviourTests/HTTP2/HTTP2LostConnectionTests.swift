import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("HTTP/2 servers that hang up on each request", .timeLimit(.minutes(1)))
struct HTTP2LostConnectionTests {
    /// Sooner or later one of these requests finds a connection that libcurl has closed under it, and libcurl then names a
    /// descriptor of -1 to be watched.
    @Test("Tasks of all kinds fail at once if the server hangs up on each request, and by no time-out")
    func mixed() async throws {
        let server = try ScriptedHTTP2Server { _ in [.hangUp] }
        defer { server.stop() }
        let session = URLSession.forPatientHTTP2()
        defer { session.invalidateAndCancel() }
        for _ in 0..<20 {
            let codes = await withTaskGroup(of: URLError.Code?.self) { group in
                for index in 0..<24 { group.addTask { await Self.run(index, server.url("/\(index)"), in: session) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes == Array(repeating: .networkConnectionLost, count: 24))
        }
    }

    /// libcurl may notice the end by itself before it asks for more of a body, send the request again, and then fail to rewind the body.
    @Test("Uploads that have nothing to send are all sent again if the server goes away without having looked at them")
    func starved() async throws {
        let count = 6
        let directory = try TemporaryDirectory()
        for _ in 0..<3 {
            let gate = Gate()
            let server = try ScriptedHTTP2Server { request in
                switch request.number {
                case 1: ScriptedHTTP2Server.text("first")
                case ...count: []
                case count + 1: [.waitFor(gate), .goAway(lastStream: 1, code: 0), .hangUp]
                default: [.waitForBody] + ScriptedHTTP2Server.text("thanks")
                }
            }
            defer { server.stop() }
            let session = URLSession.forPatientHTTP2()
            defer { session.invalidateAndCancel() }
            #expect(await session.load(server.url()).text == "first")
            let uploads = try (0..<count).map { _ in
                let blocking = try BlockingStream(in: directory)
                try blocking.write(Data(count: 1000))
                let source = StreamSource { $0 == 1 ? blocking.stream : InputStream(data: Data("again".utf8)) }
                let task = session.uploadTask(withStreamedRequest: URLRequest(server.url(), method: "POST"))
                task.delegate = source
                task.resume()
                return (blocking: blocking, source: source)
            }
            try await server.state.wait { $0.bodies.values.count { $0.count == 1000 } == count }
            gate.open()
            for upload in uploads {
                let error = try await upload.source.completion()
                #expect(error == nil, "\(error?.userInfo as Any)")
                try upload.blocking.finish()
            }
            #expect(server.state.value.bodies.values.count { $0 == Data("again".utf8) } == count)
        }
    }

    /// A server may end TLS and leave the connection open until the client does the same: that is one event, for all requests.
    @Test("All requests on a connection learn that TLS has ended, and are sent again")
    func endOfTLS() async throws {
        let site = try TLSNginx.shared().site
        let directory = try TemporaryDirectory()
        let script = try directory.file("server.py", Data(Self.partingServer.utf8))
        let (ports, process) = try LoopbackProgram.start("python3") { ports in
            ["/usr/bin/python3", script.path, "\(ports[0])", site.certificate(.good).path, site.key(.good).path]
        }
        defer { process.kill() }
        let url = try #require(URL(string: "https://127.0.0.1:\(ports[0])/"))
        let session = URLSession.forTest {
            $0.urlCache = nil
            $0.curl.tls.additionalTrustRoots = [.file(site.authority)]
            // Far beyond the test's own limit.
            $0.timeoutIntervalForRequest = 600
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(url).response?.statusCode == 200)
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<3 { group.addTask { await session.load(url).response?.statusCode } }
            for await status in group { #expect(status == 200) }
        }
    }

    /// Answers every request but the first three that share a connection with an answered one. When these have arrived, it ends TLS.
    private static let partingServer = """
        import socket, ssl, sys, threading

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        context.set_alpn_protocols(["h2"])

        def frame(kind, flags, stream, payload=b""):
            return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

        has_parted = False

        def serve(connection):
            global has_parted
            try:
                connection = context.wrap_socket(connection, server_side=True)
                received = connection.makefile("rb")
                received.read(24)
                connection.sendall(frame(4, 0, 0))
                while head := received.read(9):
                    received.read(int.from_bytes(head[:3], "big"))
                    kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                    if kind == 4 and flags == 0:
                        connection.sendall(frame(4, 1, 0))
                    elif kind == 1 and (stream == 1 or has_parted):
                        connection.sendall(frame(1, 5, stream, b"\\x88"))
                    elif kind == 1 and stream == 7:
                        has_parted = True
                        connection.sendall(frame(7, 0, 0, (7).to_bytes(4, "big") + bytes(4)))
                        # Waits for the client to do the same.
                        connection.unwrap()
                        return
            except OSError:
                pass

        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(sys.argv[1])))
        listener.listen()
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
        """

    private static func run(_ index: Int, _ url: URL, in session: URLSession) async -> URLError.Code? {
        do {
            switch index % 4 {
            case 0: _ = try await session.data(from: url)
            case 1: _ = try await session.upload(for: URLRequest(url, method: "POST"), from: Data(count: 100_000))
            case 2: _ = try await session.download(from: url)
            default: _ = try await session.data(for: URLRequest(url, method: "PUT", body: Data("small".utf8)))
            }
            return nil
        } catch {
            return (error as? URLError)?.code
        }
    }
}
