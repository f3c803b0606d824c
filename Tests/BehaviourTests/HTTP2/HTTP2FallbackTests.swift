import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import CurlTransport
import TestSupport
import Testing

@Suite("Servers that speak HTTP/2 on some connections, and HTTP/1.1 on others", .timeLimit(.minutes(1)))
struct HTTP2FallbackTests {
    /// libcurl would send them all on the first connection that speaks HTTP/1.1, and get their answers mixed up.
    @Test("Requests don't share a connection that speaks HTTP/1.1")
    func mixed() async throws {
        let server = try Server(.oneByOne)
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/first")).response?.statusCode == 200)
        await withTaskGroup(of: (path: String, result: HandlerResult).self) { group in
            for path in ["/1", "/2", "/3", "/4"] { group.addTask { (path, await session.load(server.url(path))) } }
            for await (path, result) in group {
                #expect(result.error == nil)
                // Over HTTP/2, the server's answers are empty.
                #expect(["", path].contains(result.text))
            }
        }
    }

    @Test("A response that is broken off by a demand for HTTP/1.1 fails, and isn't continued by another")
    func brokenOff() async throws {
        let server = try Server(.breakingOff)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = server.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/half"))
        task.resume()
        try await delegate.wait(for: task, bytes: 4)
        // Its arrival makes the server break off the other.
        #expect(await session.load(server.url("/next")).response?.statusCode == 200)
        #expect(try await delegate.completion(of: task)?.code == .networkConnectionLost)
        #expect(delegate.body(of: task) == Data("half".utf8))
    }

    /// RFC 9113 §7: the server has done nothing with it.
    @Test(
        "A request to which the server demands HTTP/1.1 is sent again over that, with its body",
        arguments: ["GET", "PUT", "POST"]
    )
    func demanded(method: String) async throws {
        let server = try Server(.demandingHTTP1)
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        let body = method == "GET" ? nil : Data("hello".utf8)
        let result = await session.load(URLRequest(server.url("/first"), method: method, body: body))
        #expect(result.text == "/first\(body == nil ? "" : "hello")", "\(result)")
    }

    /// Where libcurl loses such an answer: a POST may not be carried out twice.
    @Test(
        "An upload whose answer came too early and was lost is sent again over HTTP/1.1, and so are later ones",
        arguments: ["PUT", "POST"]
    )
    func lostAnswer(method: String) async throws {
        let server = try Server(.answeringEarly)
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        func load(_ method: String, _ path: String, _ body: Data? = nil) async -> HandlerResult {
            await session.load(URLRequest(server.url(path), method: method, body: body))
        }
        let body = Data(count: 300_000)
        let result = await load(method, "/first", body)
        guard CurlQuirks.current.forgetsHTTP2Input else { return #expect(result.text == "early") }
        if method == "PUT" {
            #expect(result.text == "/first")
        } else {
            #expect(result.error?.code == .networkConnectionLost)
            #expect(result.error?.localizedDescription.contains("lost the answer") == true)
        }
        #expect(await load(method, "/second", body).text == "/second")
        // What has no body can't be answered too early.
        #expect(await load("GET", "/third").text == "early")
        #expect(await load(method, "/fourth", Data(count: 1)).text == "/fourth")
    }

    @Test(
        "An upload that is broken off over HTTP/1.1 doesn't put later ones back on HTTP/2, if the server has agreed to HTTP/1.1",
        .enabled(if: CurlQuirks.current.forgetsHTTP2Input, "this libcurl loses no answer"),
        arguments: ["PUT", "POST"]
    )
    func brokenOff(method: String) async throws {
        let server = try Server(.answeringEarly)
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        func load(_ path: String) async -> HandlerResult {
            await session.load(URLRequest(server.url(path), method: method, body: Data(count: 300_000)))
        }
        // Over HTTP/2.
        _ = await load("/first")
        #expect(await load("/broken").error?.code == .networkConnectionLost)
        for path in ["/second", "/third"] { #expect(await load(path).text == path) }
    }

    @Test(
        "An error status that ends an upload early counts, whatever becomes of the stream after it",
        arguments: ["PUT", "POST"]
    )
    func refused(method: String) async throws {
        let server = try Server(.refusing)
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        for size in [100_000, 3_000_000] {
            let result = await session.load(URLRequest(server.url("/"), method: method, body: Data(count: size)))
            #expect(result.error == nil)
            #expect(result.response?.statusCode == 413)
        }
    }

    @Test(
        "If a server doesn't respond to an upload over HTTP/1.1 either, that and others go out over HTTP/2 again",
        arguments: ["PUT", "POST"]
    )
    func onlyHTTP2(method: String) async throws {
        let server = try Server(.answeringFirstEarly)
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        func load(_ method: String, _ body: Data) async -> HandlerResult {
            await session.load(URLRequest(server.url("/"), method: method, body: body))
        }
        let first = await load("POST", Data(count: 300_000))
        guard CurlQuirks.current.forgetsHTTP2Input else { return #expect(first.text == "early") }
        #expect(first.error?.code == .networkConnectionLost)
        // Over HTTP/1.1 the server might have carried it out, so a POST isn't sent again.
        let second = await load(method, Data(count: 10))
        #expect(method == "PUT" ? second.text == "late" : second.error?.code == .networkConnectionLost)
        #expect(await load(method, Data(count: 10)).text == "late")
    }

    /// Its first connection speaks HTTP/2, and its others HTTP/1.1, unless it answers early. Written with Python's `ssl`, which can offer
    /// one or the other.
    private final class Server: Sendable {
        enum Manner: String {
            /// Takes one request at a time over HTTP/2, and answers all but the first once three others are there over HTTP/1.1.
            case oneByOne
            /// Breaks off the answer to the first request when the second arrives.
            case breakingOff
            /// Resets each request over HTTP/2 before it answers, and demands HTTP/1.1.
            case demandingHTTP1
            /// Answers at once, and wants no body then. Each connection speaks HTTP/2 if the client offers it. Over HTTP/1.1 it breaks off
            /// the request for "/broken".
            case answeringEarly
            /// The same for the first request. The others get their answers over HTTP/2 alone: an HTTP/1.1 connection is closed.
            case answeringFirstEarly
            /// Answers 413 at once, without a body, and wants none. Speaks HTTP/2 only.
            case refusing
        }

        private let site: TLSSite
        private let port: Int
        private let directory: TemporaryDirectory
        private let process: ChildProcess

        init(_ manner: Manner) throws {
            let site = try TLSNginx.shared().site
            let directory = try TemporaryDirectory()
            let script = try directory.file("server.py", Data(Self.script.utf8))
            let (ports, process) = try LoopbackProgram.start("python3") { ports in
                [
                    "/usr/bin/python3", script.path, "\(ports[0])", site.certificate(.good).path, site.key(.good).path,
                    manner.rawValue,
                ]
            }
            (self.site, port, self.directory, self.process) = (site, ports[0], directory, process)
        }

        func url(_ path: String) -> URL {
            URL(string: "https://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path)
        }

        func session(delegate: (any URLSessionDelegate)? = nil) -> URLSession {
            .forTest(delegate: delegate) {
                $0.urlCache = nil
                $0.curl.tls.additionalTrustRoots = [.file(site.authority)]
            }
        }

        func stop() {
            process.kill()
        }

        private static let script = """
            import socket, ssl, sys, threading

            one_by_one = sys.argv[4] == "oneByOne"
            answers_early = sys.argv[4] == "answeringEarly"
            refuses = sys.argv[4] == "refusing"
            demands = sys.argv[4] == "demandingHTTP1"
            answers_first_early = sys.argv[4] == "answeringFirstEarly"
            has_begun = False
            arrivals = threading.Condition()
            http_1_1_required = bytes([0, 0, 0, 13])
            count = 0

            def context(*names):
                made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                made.load_cert_chain(sys.argv[2], sys.argv[3])
                made.set_alpn_protocols(names)
                return made

            contexts = [context("h2"), context("http/1.1")]
            if answers_early:
                contexts = [context("h2", "http/1.1")] * 2
            elif answers_first_early or refuses:
                # A client that offers only HTTP/1.1 gets a connection without a protocol.
                contexts = [context("h2")] * 2

            def wait(arrived):
                global count
                with arrivals:
                    count += arrived
                    arrivals.notify_all()
                    while one_by_one and count < 3:
                        arrivals.wait()

            def frame(kind, flags, stream, payload=b""):
                return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

            def speak_2(connection, received):
                received.read(24)
                connection.sendall(frame(4, 0, 0, bytes([0, 3, 0, 0, 0, 1 if one_by_one else 100])))
                while head := received.read(9):
                    received.read(int.from_bytes(head[:3], "big"))
                    kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                    if kind == 4 and flags == 0:
                        connection.sendall(frame(4, 1, 0))
                    elif demands:
                        if kind == 1:
                            connection.sendall(frame(3, 0, stream, http_1_1_required))
                    elif refuses:
                        if kind == 1:
                            connection.sendall(frame(1, 5, stream, b"\\x48\\x03413"))
                            connection.sendall(frame(3, 0, stream, bytes(4)))
                    elif answers_first_early and (kind > 1 or count > 0):
                        if kind == 0 and head[:3] != bytes(3):
                            connection.sendall(frame(8, 0, 0, bytes(1) + head[:3]))
                        if kind < 2 and flags & 1:
                            connection.sendall(frame(1, 4, stream, b"\\x88") + frame(0, 1, stream, b"late"))
                    elif kind == 1 and (answers_early or answers_first_early):
                        wait(1)
                        answer = frame(1, 4, stream, b"\\x88") + frame(0, 1, stream, b"early")
                        connection.sendall(answer + frame(3, 0, stream, bytes(4)))
                    elif kind == 1 and stream == 1 and not one_by_one:
                        connection.sendall(frame(1, 4, 1, b"\\x88") + frame(0, 0, 1, b"half"))
                    elif kind == 1:
                        if one_by_one and stream > 1:
                            wait(0)
                        elif stream > 1:
                            connection.sendall(frame(3, 0, 1, http_1_1_required))
                        connection.sendall(frame(1, 5, stream, b"\\x88"))

            def speak_1(connection, received):
                if answers_first_early or refuses:
                    received.readline()
                    return connection.shutdown(socket.SHUT_RDWR)
                while line := received.readline():
                    length = 0
                    while (field := received.readline()) != b"\\r\\n":
                        if field.lower().startswith(b"content-length:"):
                            length = int(field.split(b":")[1])
                    body = received.read(length)
                    wait(1)
                    path = line.split(b" ")[1] + (body if demands else b"")
                    if path == b"/broken":
                        return connection.shutdown(socket.SHUT_RDWR)
                    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%b" % (len(path), path))

            def serve(connection):
                global has_begun
                try:
                    connection = contexts[has_begun].wrap_socket(connection, server_side=True)
                    has_begun = True
                    speak = speak_2 if connection.selected_alpn_protocol() == "h2" else speak_1
                    speak(connection, connection.makefile("rb"))
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
    }
}
