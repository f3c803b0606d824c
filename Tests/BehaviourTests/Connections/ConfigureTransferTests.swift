import CurlTransport
import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Setting libcurl's options on a transfer", .timeLimit(.minutes(1)))
struct ConfigureTransferTests {
    private static func session(
        _ configure: @escaping @Sendable (inout CurlTransfer, URLRequest) throws -> Void
    ) -> URLSession {
        .forTest { $0.curl.configureTransfer = configure }
    }

    @Test("Numbers and texts arrive, and go with the transfer")
    func kinds() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = Self.session { transfer, request in
            guard request.url?.path == "/set" else { return }
            try transfer.set("http_version", 1)
            try transfer.set("CURLOPT_REFERER", "http://set.test/")
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/set")).text == "hello")
        #expect(await session.load(server.url("/other")).text == "hello")
        #expect(server.requests.map(\.httpVersion) == ["HTTP/1.0", "HTTP/1.1"])
        #expect(server.requests.map { $0.header("Referer") } == ["http://set.test/", nil])
    }

    @Test("Large numbers and switches reach libcurl")
    func numbers() async throws {
        let server = try LoopbackServer { _ in .generated(length: 1000) }
        defer { server.stop() }
        let session = Self.session { transfer, _ in
            try transfer.set("MAXFILESIZE_LARGE", 999)
            try transfer.set("TCP_NODELAY", true)
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).error?.code == .dataLengthExceedsMaximum)
    }

    @Test("Bytes reach libcurl")
    func blob() async throws {
        let nginx = try Nginx.shared()
        let authority = try Data(contentsOf: nginx.site.authority)
        let session = Self.session { transfer, _ in try transfer.set("CAINFO_BLOB", authority) }
        defer { session.invalidateAndCancel() }
        let result = await session.load(nginx.tls(NginxSite.smallPath))
        #expect(result.text == NginxSite.smallText, "\(String(describing: result.error))")
    }

    @Test("A text or list is taken back with nothing")
    func takenBack() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = Self.session { transfer, _ in
            try transfer.set("ACCEPT_ENCODING", nil)
            try transfer.set("REFERER", "http://a/")
            try transfer.set("REFERER", nil)
            try transfer.set("MAIL_RCPT", ["a"])
            try transfer.set("MAIL_RCPT", [])
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "hello")
        #expect(server.requests[0].header("Accept-Encoding") == nil)
        #expect(server.requests[0].header("Referer") == nil)
    }

    @Test("configureTransfer is called for each hop, with the request as it is then")
    func hops() async throws {
        let server = try LoopbackServer { request in
            request.path == "/" ? .redirect(to: "/next", status: 303) : .text("hello")
        }
        defer { server.stop() }
        let asked = Watched<[String]>([])
        let session = Self.session { _, request in
            asked.update { $0.append("\(request.httpMethod ?? "") \(request.url?.path ?? "")") }
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(URLRequest(server.url("/"), method: "POST", body: Data("a".utf8))).text == "hello")
        #expect(asked.value == ["POST /", "GET /next"])
    }

    @Test("configureTransfer is called for FTP transfers too")
    func ftp() async throws {
        let server = try ScriptedFTPServer(Data("hello".utf8))
        defer { server.stop() }
        let session = Self.session { transfer, _ in try transfer.set("QUOTE", ["NOOP"]) }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url())
        #expect(server.commands.contains("NOOP"))
        let refusing = Self.session { transfer, _ in try transfer.set("URL", "ftp://elsewhere/") }
        defer { refusing.invalidateAndCancel() }
        await #expect(throws: URLError.self) { try await refusing.data(from: server.url()) }
    }

    // MARK: - Errors

    /// What the closure gets to hear; the request isn't sent.
    private func refusal(
        _ configure: @escaping @Sendable (inout CurlTransfer) throws -> Void
    ) async throws -> CurlTransferError {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = Self.session { transfer, _ in try configure(&transfer) }
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load(server.url("/")).error)
        #expect(error.code == .unknown)
        #expect(server.connectionCount == 0)
        let refusal = try #require(error.userInfo[NSUnderlyingErrorKey] as? CurlTransferError)
        #expect(error.localizedDescription.contains(refusal.description))
        return refusal
    }

    @Test(
        "Options that the session relies on can't be set, however their names are written",
        arguments: [
            "URL", "FOLLOWLOCATION", "CURLOPT_VERBOSE", "nosignal", "HTTPHEADER", "PRIVATE", "WRITEFUNCTION", "FILE",
            "TRANSFER_ENCODING", "HTTP09_ALLOWED",
        ]
    )
    func reserved(name: String) async throws {
        let option = CurlOption(name)
        for kind in 0..<4 {
            let refusal = try await refusal { transfer in
                switch kind {
                case 0: try transfer.set(option, 1)
                case 1: try transfer.set(option, "text")
                case 2: try transfer.set(option, ["text"])
                default: try transfer.set(option, Data([1]))
                }
            }
            #expect(refusal.option == option)
            #expect(refusal.code == nil)
            #expect(!refusal.reason.hasPrefix("It takes a number"))
        }
    }

    @Test("A name that libcurl doesn't know is an error, with libcurl's version")
    func unknown() async throws {
        let refusal = try await refusal { try $0.set("TCP_FASTOPENN", true) }
        #expect(refusal.description.hasPrefix("CURLOPT_TCP_FASTOPENN: libcurl "))
    }

    @Test("A value of the wrong kind is an error")
    func kindOfValue() async throws {
        #expect(try await refusal { try $0.set("TCP_FASTOPEN", "1") }.reason == "It takes a number.")
        #expect(try await refusal { try $0.set("CAINFO", 1) }.reason == "It takes a text.")
        #expect(try await refusal { try $0.set("CAINFO", ["a"]) }.reason == "It takes a text.")
        #expect(try await refusal { try $0.set("QUOTE", "a") }.reason == "It takes a list of texts.")
        #expect(try await refusal { try $0.set("CAINFO_BLOB", "a") }.reason == "It takes bytes.")
    }

    @Test("A text that would end its line is an error", arguments: ["a\r\nX-Injected: b", "a\nb", "a\0b"])
    func injection(text: String) async throws {
        for kind in 0..<2 {
            let refusal = try await refusal { transfer in
                if kind == 0 {
                    try transfer.set("REFERER", text)
                } else {
                    try transfer.set("QUOTE", ["ok", text])
                }
            }
            #expect(refusal.reason == "A text must not contain NUL, CR or LF.")
        }
    }

    @Test("A value that libcurl refuses is an error, with libcurl's code")
    func refusedByLibcurl() async throws {
        #expect(try await refusal { try $0.set("SSLVERSION", 9999) }.code == Int(CurlCode.badFunctionArgument.rawValue))
    }

    @Test("An error that is caught stops nothing, and a URLError of the closure's own is the task's, about its request")
    func ownErrors() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = Self.session { transfer, request in
            do { try transfer.set("NO_SUCH_OPTION", 1) } catch {}
            if request.url?.path == "/no" { throw URLError(.userCancelledAuthentication) }
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "hello")
        let error = await session.load(server.url("/no")).error
        #expect(error?.code == .userCancelledAuthentication && error?.failingURL == server.url("/no"))
        #expect(await session.load(server.url("/")).text == "hello")
    }
}
