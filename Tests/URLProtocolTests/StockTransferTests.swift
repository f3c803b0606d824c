import CurlURLProtocol
import Foundation
import FoundationNetworking
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Tasks of a stock session on our transport", .timeLimit(.minutes(1)))
struct StockTransferTests {
    @Test("A data task with a handler is loaded")
    func dataHandler() async throws {
        let server = try LoopbackServer { _ in .text("hello").header("X-Answer", "yes") }
        defer { server.stop() }
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let (data, status) = await withCheckedContinuation { continuation in
            session.dataTask(with: server.url("/")) { data, response, _ in
                continuation.resume(
                    returning: (data, (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Answer"))
                )
            }.resume()
        }
        #expect(data == Data("hello".utf8))
        #expect(status == "yes")
        #expect(server.hasOurRequestsOnly)
    }

    @Test("A handler is given a body of many pieces as a whole", arguments: ["chunks", "length"])
    func pieces(kind: String) async throws {
        let server = try LoopbackServer { _ in
            kind == "chunks" ? .chunked(["one, ", "two, ", "three"]) : .generated(length: 1 << 20, seed: 3)
        }
        defer { server.stop() }
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let data = await withCheckedContinuation { continuation in
            session.dataTask(with: server.url("/")) { data, _, _ in continuation.resume(returning: data) }.resume()
        }
        #expect(
            data == (kind == "chunks" ? Data("one, two, three".utf8) : GeneratedBody.bytes(seed: 3, length: 1 << 20))
        )
        let (again, _) = try await session.data(from: server.url("/"))
        #expect(again == data)
    }

    @Test("The delegate of an async method hears of its task")
    func asyncDelegate() async throws {
        let server = try LoopbackServer { .echoBody($0) }
        defer { server.stop() }
        let delegate = StockDelegate()
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        var request = URLRequest(url: server.url("/"))
        request.httpMethod = "POST"
        _ = try await session.upload(for: request, from: Data("sent".utf8), delegate: delegate)
        try await delegate.state.wait { $0.sent == 4 }
    }

    @Test("Additional headers of both configurations are sent, and the stock configuration's take precedence")
    func additionalHeaders() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        for (fields, transport) in [(["X-Stock": "yes"], "CurlNetworking"), ([StockSession.mark: "stock"], "stock")] {
            let session = StockSession.make { $0.httpAdditionalHeaders = fields }
            defer { session.finishTasksAndInvalidate() }
            _ = try await session.data(from: server.url("/"))
            #expect(server.requests.last?.headers(named: StockSession.mark) == [transport])
        }
        #expect(server.requests.map { $0.headers(named: "X-Stock") } == [["yes"], []])
    }

    @Test("Both time-outs of the stock configuration end its tasks", arguments: [true, false])
    func timeOuts(_ isIdle: Bool) async throws {
        let server = try SilentServer()
        defer { server.stop() }
        let session = StockSession.make {
            if isIdle { $0.timeoutIntervalForRequest = 0.3 } else { $0.timeoutIntervalForResource = 0.3 }
        }
        defer { session.finishTasksAndInvalidate() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
        #expect(error?.code == .timedOut)
    }

    @Test("The stock configuration's proxies are used")
    func proxies() async throws {
        let proxy = try LoopbackServer { .text($0.target) }
        defer { proxy.stop() }
        let session = StockSession.make {
            $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": proxy.port]
        }
        defer { session.finishTasksAndInvalidate() }
        let url = try #require(URL(string: "http://server.test/path"))
        let (data, _) = try await session.data(from: url)
        #expect(String(decoding: data, as: UTF8.self) == "http://server.test/path")
    }

    @Test("A task's own delegate isn't told of response, body and end, but that of an async method of the response")
    func ownDelegates() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let (own, others, calls) = (StockDelegate(), StockDelegate(), StockDelegate())
        let session = StockSession.make(delegate: others)
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: server.url("/"))
        task.delegate = own
        task.resume()
        let told = try await others.end()
        #expect(told.events == ["response 200"] && told.body == Data("hello".utf8) && told.ends == [nil])
        let untold = own.state.value
        #expect(untold.events.isEmpty && untold.body.isEmpty && untold.ends.isEmpty)
        _ = try await session.data(from: server.url("/"), delegate: calls)
        try await calls.state.wait { !$0.events.isEmpty }
        let heard = calls.state.value
        #expect(heard.events == ["response 200"] && heard.body.isEmpty && heard.ends.isEmpty)
        #expect(others.state.value.ends == [nil])
    }

    @Test("The async methods load data and upload")
    func async() async throws {
        let server = try LoopbackServer { .echoBody($0) }
        defer { server.stop() }
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        let (empty, _) = try await session.data(from: server.url("/"))
        #expect(empty.isEmpty)
        var request = URLRequest(url: server.url("/"))
        request.httpMethod = "POST"
        let (echo, _) = try await session.upload(for: request, from: Data("sent".utf8))
        #expect(echo == Data("sent".utf8))
        #expect(server.hasOurRequestsOnly)
    }

    @Test("A data task with a delegate hears of the response, its body and the end")
    func delegate() async throws {
        let server = try LoopbackServer { _ in .generated(length: 300_000, seed: 3) }
        defer { server.stop() }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        session.dataTask(with: server.url("/")).resume()
        let state = try await delegate.end()
        #expect(state.events == ["response 200"])
        #expect(state.body == GeneratedBody.bytes(seed: 3, length: 300_000))
        #expect(state.ends == [nil])
        #expect(server.hasOurRequestsOnly)
    }

    @Test("A multipart/x-mixed-replace body comes undivided, to a delegate and to a handler")
    func parts() async throws {
        let body = "preamble\r\n--frame\r\nX-Number: 1\r\n\r\npart 1\r\n--frame--\r\nepilogue"
        let server = try LoopbackServer { _ in .text(body, contentType: "multipart/x-mixed-replace; boundary=frame") }
        defer { server.stop() }
        let delegate = StockDelegate()
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        session.dataTask(with: server.url("/")).resume()
        let state = try await delegate.end()
        #expect(state.events == ["response 200"])
        #expect(state.body == Data(body.utf8))
        let (data, _) = try await session.data(from: server.url("/"))
        #expect(data == Data(body.utf8))
        #expect(server.hasOurRequestsOnly)
    }

    @Test("Uploads from data, from a file, and from a stream are sent", arguments: ["data", "file", "stream"])
    func upload(kind: String) async throws {
        let server = try LoopbackServer { .echoBody($0) }
        defer { server.stop() }
        let body = GeneratedBody.bytes(seed: 4, length: 200_000)
        let delegate = StockDelegate(stream: { InputStream(data: body) })
        let session = StockSession.make(delegate: delegate)
        defer { session.finishTasksAndInvalidate() }
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("body")
        try body.write(to: file)
        var request = URLRequest(url: server.url("/"))
        request.httpMethod = "PUT"
        switch kind {
        case "data": session.uploadTask(with: request, from: body).resume()
        case "file": session.uploadTask(with: request, fromFile: file).resume()
        default: session.uploadTask(withStreamedRequest: request).resume()
        }
        let state = try await delegate.end()
        #expect(state.ends == [nil])
        #expect(state.body == body)
        #expect(state.sent == 200_000)
        #expect(server.hasOurRequestsOnly)
    }

    @Test("The shared session is served if the class was registered before the first session")
    func registered() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer { _ in .text("hello") }
            StockSession.marked
            #expect(URLProtocol.registerClass(CurlURLProtocol.self))
            let (data, _) = try await URLSession.shared.data(from: server.url("/"))
            #expect(data == Data("hello".utf8) && server.hasOurRequestsOnly)
            server.stop()
        }
    }

    @Test("A request's own stream is sent")
    func requestStream() async throws {
        let server = try LoopbackServer { .echoBody($0) }
        defer { server.stop() }
        let session = StockSession.make()
        defer { session.finishTasksAndInvalidate() }
        var request = URLRequest(url: server.url("/"))
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: Data("streamed".utf8))
        let (data, _) = try await session.data(for: request)
        #expect(data == Data("streamed".utf8))
    }
}
