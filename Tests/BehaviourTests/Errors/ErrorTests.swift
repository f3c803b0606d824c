import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Errors", .timeLimit(.minutes(1)))
struct ErrorTests {
    /// Loads `url`, which fails, and checks what every such error has to say.
    private func failure(
        _ url: URL,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> URLError {
        let session = URLSession.forTest(configure)
        defer { session.invalidateAndCancel() }
        let error = try #require(await session.load(url).error)
        #expect(error.failingURL == url)
        #expect(error.userInfo[NSURLErrorFailingURLErrorKey] as? URL == url)
        #expect(error.localizedDescription.isEmpty == false)
        return error
    }

    @Test("A refused connection is cannotConnectToHost, with libcurl's text, the phase and the system's error")
    func refused() async throws {
        let port = try LoopbackServer.refusingPort()
        let error = try await failure(try #require(URL(string: "http://127.0.0.1:\(port)/")))
        #expect(error.code == .cannotConnectToHost)
        #expect(error.phase == "connecting")
        #expect(error.curlText?.contains("127.0.0.1") == true)
        #expect(error.curlCode == .couldntConnect)
        let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(underlying?.domain == NSPOSIXErrorDomain)
        #expect(underlying?.code == Int(ECONNREFUSED))
    }

    @Test("A lack of descriptors is named in the error, and the same session goes on when it is over")
    func lackOfDescriptors() async throws {
        let servers = [try LoopbackServer { _ in .text("hello") }, try LoopbackServer { _ in .text("hello") }]
        defer { for server in servers { server.stop() } }
        let urls = servers.map { $0.url("/").absoluteString }
        let helper = try ChildProcess([TestHelper.path(), "exhaust"] + urls)
        let lines = await helper.remainingLines()
        let code = URLError.Code.cannotConnectToHost.rawValue
        #expect(lines == ["\(code) \(EMFILE) No socket could be opened: Too many open files.", "200 5"])
    }

    @Test("A protocol class whose thread can't get descriptors loads nothing, and goes on when the lack is over")
    func lackOfDescriptorsForProtocol() async throws {
        let helper = try ChildProcess([TestHelper.path(), "exhaust", "data:,x", "mock:x"])
        let lines = await helper.remainingLines()
        #expect(lines.first?.hasPrefix("\(URLError.Code.timedOut.rawValue) ") == true)
        #expect(lines.dropFirst() == ["0 5"])
    }

    @Test("A lack of descriptors is named in the error even if it keeps the first event loop from being created")
    func lackOfDescriptorsForLoop() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let helper = try ChildProcess([TestHelper.path(), "exhaust", server.url("/").absoluteString])
        let lines = await helper.remainingLines()
        #expect(lines.count == 2 && lines.last == "200 5")
        #expect(lines.first?.hasSuffix("The event loop could not be created: Too many open files.") == true)
    }

    @Test("A host that doesn't exist is cannotFindHost, while resolving")
    func unresolvable() async throws {
        let error = try await failure(try #require(URL(string: "http://nonexistent.invalid/")))
        #expect(error.code == .cannotFindHost)
        #expect(error.phase == "resolving")
        #expect(error.curlText?.contains("nonexistent.invalid") == true)
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let fault: LoopbackServer.Fault
        let ending: LoopbackServer.FaultEnding
        let code: URLError.Code
        let phases: Set<String>

        init(
            _ fault: LoopbackServer.Fault,
            _ ending: LoopbackServer.FaultEnding,
            _ code: URLError.Code,
            _ phases: Set<String> = ["receiving"]
        ) {
            self.fault = fault
            self.ending = ending
            self.code = code
            self.phases = phases
        }

        var testDescription: String { "\(fault), \(ending)" }
    }

    static let cases: [Case] = [
        Case(.beforeAnyByte, .close, .networkConnectionLost, ["sending", "receiving"]),
        Case(.beforeAnyByte, .reset, .networkConnectionLost, ["sending", "receiving"]),
        Case(.insideHead, .close, .networkConnectionLost),
        Case(.insideHead, .reset, .networkConnectionLost),
        Case(.afterHead(length: 1000), .close, .networkConnectionLost),
        Case(.insideBody(after: 1000, of: 5000), .close, .networkConnectionLost),
        Case(.insideBody(after: 1000, of: 5000), .reset, .networkConnectionLost),
        Case(.insideChunk(after: 1000), .close, .networkConnectionLost),
        Case(.insideChunk(after: 1000), .reset, .networkConnectionLost),
    ]

    @Test(
        "A connection that breaks off gives the documented error, with libcurl's text and the phase",
        arguments: cases
    )
    func broken(testCase: Case) async throws {
        let server = try LoopbackServer { _ in .fault(testCase.fault, then: testCase.ending) }
        defer { server.stop() }
        let error = try await failure(server.url("/"))
        #expect(error.code == testCase.code)
        #expect(error.curlText?.isEmpty == false)
        #expect(testCase.phases.contains(error.phase ?? "none"))
        // A request that may have been acted upon is not sent twice behind the program's back.
        #expect(server.requestCount == 1)
    }

    @Test(
        "An answer that is no proper HTTP fails the task, or is taken for no more than it is",
        arguments: [
            "This is no HTTP at all.\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\0\0\0\u{7}\u{1}", "HTTP/1.1 abc OK\r\n\r\n",
            "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: nonsense\r\n\r\nabc",
        ]
    )
    func garbage(answer: String) async throws {
        let rig = try Rig { _ in .raw([.bytes(answer), .close]) }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/"))
        // Some of it libcurl takes for the best it can be; none of it may pass for more than it is.
        if let error = result.error {
            let codes: [URLError.Code] = [
                .cannotParseResponse, .badServerResponse, .networkConnectionLost, .cannotDecodeContentData,
            ]
            #expect(codes.contains(error.code))
            #expect(error.failingURL == rig.url("/"))
            #expect(error.phase != nil)
        } else {
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            #expect(result.data?.count ?? 0 <= 3)
        }
    }

    @Test(
        "Chunks that are none, lengths that differ and a misplaced line end are a bad response and no lost connection",
        arguments: [
            "Transfer-Encoding: chunked\r\n\r\nhello\r\n", "Transfer-Encoding: chunked\r\n\r\n1\r\nOK\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nOK\r\n",
            "Content-Length: 2\r\nContent-Length: 1\r\n\r\nOK", "Content-Length: 1\r\nContent-Length: 2\r\n\r\nOK",
            "\rContent-Length: 2\r\n\r\nOK",
        ]
    )
    func nonsense(rest: String) async throws {
        let server = try LoopbackServer { _ in .raw([.bytes("HTTP/1.1 200 OK\r\n" + rest)]) }
        defer { server.stop() }
        let error = try await failure(server.url("/"))
        #expect(error.code == .badServerResponse)
        #expect(error.phase == "receiving")
        try await server.waitUntilNoConnections()
    }

    @Test("More body than the length says is not part of it, and the connection isn't used again")
    func tooMuch() async throws {
        let rig = try Rig { request in
            request.path == "/bad" ? .fault(.lengthTooShort(claimed: 1000, sent: 5000), then: .hang) : .text("good")
        }
        defer { rig.stop() }
        let result = await rig.session.load(rig.url("/bad"))
        #expect(result.data == GeneratedBody.bytes(seed: 0, length: 1000))
        let next = await rig.session.load(rig.url("/good"))
        #expect(next.text == "good")
        #expect(rig.server.connectionCount == 2)
    }

    @Test("Half a head and then silence is timedOut, while receiving")
    func silence() async throws {
        let server = try LoopbackServer { _ in .fault(.insideHead, then: .hang) }
        defer { server.stop() }
        let error = try await failure(server.url("/")) { $0.timeoutIntervalForRequest = 2 }
        #expect(error.code == .timedOut)
        #expect(error.phase == "receiving")
    }

    @Test(
        "An upload that stops half-way fails while sending, and one whose response breaks off while receiving",
        arguments: [false, true]
    )
    func uploadPhases(isStreamed: Bool) async throws {
        let body = GeneratedBody.bytes(seed: 4, length: 30_000_000)
        let rig = try Rig(answering: .atHead) { request in
            switch request.path {
            case "/stalled": .raw([.stopReading, .never])
            case "/permitted": .raw([.stopReading, .bytes("HTTP/1.1 100 Continue\r\n\r\n"), .never])
            case "/reset": .raw([.waitForBody, .reset])
            default: .raw([.stopReading, .bytes("HTTP/1.1 200 OK\r\nContent-Le"), .never])
            }
        } configure: {
            $0.timeoutIntervalForRequest = 1
        }
        defer { rig.stop() }
        func phase(_ path: String, _ body: Data, expects: Bool = false) async throws -> String? {
            var request = URLRequest(rig.url(path), method: "PUT")
            if isStreamed { request.httpBodyStream = InputStream(data: body) } else { request.httpBody = body }
            if expects { request.setValue("100-continue", forHTTPHeaderField: "Expect") }
            return try #require(await rig.session.load(request).error).phase
        }
        #expect(try await phase("/stalled", body) == "sending")
        #expect(try await phase("/stalled", body, expects: true) == "sending")
        #expect(try await phase("/permitted", body) == "sending")
        #expect(try await phase("/permitted", body, expects: true) == "sending")
        #expect(try await phase("/reset", Data("hello".utf8)) == "receiving")
        #expect(try await phase("/answered", body) == "receiving")
    }

    @Test("A request that was sent and gets no answer fails while receiving")
    func unanswered() async throws {
        let rig = try Rig { _ in
            .raw([.never])
        } configure: {
            $0.timeoutIntervalForRequest = 2
        }
        defer { rig.stop() }
        for body in [nil, Data("hello".utf8)] {
            var request = URLRequest(rig.url("/"), method: body == nil ? "GET" : "POST")
            request.httpBody = body
            let error = try #require(await rig.session.load(request).error)
            #expect(error.code == .timedOut)
            #expect(error.phase == "receiving")
        }
    }

    @Test("A request without a URL, or with another scheme, is refused before anything is done")
    func refusedRequests() async throws {
        let error = try await failure(try #require(URL(string: "gopher://127.0.0.1/")))
        #expect(error.code == .unsupportedURL)
        #expect(error.phase == "preparing")
    }

    @Test("A TLS handshake that gets no answer fails the task, with the phase")
    func plainServer() async throws {
        // It waits for the end of a line, which a ClientHello has not.
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
        let error = try await failure(url) { $0.timeoutIntervalForRequest = 0.5 }
        #expect([.timedOut, .secureConnectionFailed].contains(error.code))
        // Until the handshake is over, this libcurl doesn't tell the two apart.
        #expect(["connecting", "securing"].contains(error.phase))
        #expect(server.requestCount == 0)
    }

    @Test("The delegate, the handler and the async call get the same error")
    func everywhere() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .fault(.insideBody(after: 10, of: 20)) }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        var errors = [try await delegate.completion(of: task), await rig.session.load(rig.url("/")).error]
        errors.append(await #expect(throws: URLError.self) { _ = try await rig.session.data(from: rig.url("/")) })
        errors.append(task.error as? URLError)
        #expect(errors.map { $0?.code } == Array(repeating: .networkConnectionLost, count: 4))
        #expect(errors.allSatisfy { $0?.curlText != nil && $0?.phase == "receiving" && $0?.failingURL != nil })
    }
}
