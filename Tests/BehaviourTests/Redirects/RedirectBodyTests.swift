import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Bodies that a redirect wants again", .timeLimit(.minutes(1)))
struct RedirectBodyTests {
    private static let content = GeneratedBody.bytes(seed: 5, length: 3_000_000)

    /// Gives a fresh stream whenever it is asked.
    private final class Source: NSObject, URLSessionDataDelegate {
        let streams = Watched(0)
        let completed = Watched<[URLError?]>([])

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            streams.update { $0 += 1 }
            completionHandler(InputStream(data: RedirectBodyTests.content))
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            completed.update { $0.append(error as? URLError) }
        }
    }

    @Test("A stream is asked for anew after a redirect that keeps the body", arguments: [307, 308])
    func streamed(status: Int) async throws {
        let source = Source()
        let rig = try Rig(delegate: source) { request in
            request.path == "/from" ? .redirect(to: "/to", status: status) : .text("\(request.bodyLength)")
        }
        defer { rig.stop() }
        rig.session.uploadTask(withStreamedRequest: URLRequest(rig.url("/from"), method: "POST")).resume()
        try await source.completed.wait { !$0.isEmpty }
        #expect(source.completed.value == [nil])
        #expect(source.streams.value == 2)
        #expect(rig.server.requests.last?.body == Self.content)
    }

    @Test(
        "The rest of a body that is still being sent isn't, and the next hop gets it whole",
        arguments: [true, false]
    )
    func answeredEarly(asksDelegate: Bool) async throws {
        let delegate = DecidingDelegate()
        let rig = try Rig(answering: .atHead, delegate: asksDelegate ? delegate : nil) { request in
            guard request.path == "/from" else { return .text("arrived").after([.waitForBody]) }
            return .raw([
                .stopReading, .bytes("HTTP/1.1 307 Temporary Redirect\r\nLocation: /to\r\nContent-Length: 0\r\n\r\n"),
            ])
        }
        defer { rig.stop() }
        let body = GeneratedBody.bytes(seed: 6, length: 30_000_000)
        let request = URLRequest(rig.url("/from"), method: "PUT")
        let (data, _) = try await rig.session.upload(for: request, from: body)
        #expect(data == Data("arrived".utf8))
        #expect(rig.server.requests.last?.bodyLength == 30_000_000)
        #expect(delegate.redirects.value.count == (asksDelegate ? 1 : 0))
    }

    @Test(
        "An upload's data is sent with a method that the delegate has changed, unless that is GET or HEAD",
        arguments: [302, 303, 307],
        ["PATCH", "GET", "HEAD"]
    )
    func otherMethod(status: Int, method: String) async throws {
        let delegate = DecidingDelegate(onRedirect: { redirect in
            var request = redirect.request
            request.httpMethod = method
            redirect.answer(request)
        })
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/from" ? .redirect(to: "/to", status: status) : .text("arrived")
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/from"), method: "POST")
        _ = try await rig.session.upload(for: request, from: Data("hello".utf8))
        let last = try #require(rig.server.requests.last)
        #expect(last.method == method)
        #expect(last.text == (method == "PATCH" ? "hello" : ""))
        #expect(last.header("Content-Length") == (method == "PATCH" ? "5" : nil))
    }

    @Test(
        "A delegate's own body after a 303, a server's or a class's, is sent instead of the upload's data",
        arguments: [false, true],
        [false, true]
    )
    func ownBody(isStream: Bool, isOfClass: Bool) async throws {
        let delegate = DecidingDelegate(onRedirect: { redirect in
            var request = redirect.request
            request.httpMethod = "PUT"
            if isStream {
                request.httpBodyStream = InputStream(data: Data("new".utf8))
            } else {
                request.httpBody = Data("new".utf8)
            }
            redirect.answer(request)
        })
        let rig = try Rig { request in
            request.path == "/from" ? .redirect(to: "/to", status: 303) : .text("got \(request.text)")
        }
        defer { rig.stop() }
        let target = rig.url("/to")
        let network = MockNetwork { load in
            guard let response = load.response(303) else { return }
            load.client?.urlProtocol(load, wasRedirectedTo: URLRequest(url: target), redirectResponse: response)
        }
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let request = URLRequest(isOfClass ? network.url("/from") : rig.url("/from"), method: "PUT")
        let (data, _) = try await session.upload(for: request, from: Data("old".utf8))
        #expect(String(decoding: data, as: UTF8.self) == "got new")
    }

    @Test("A connection outlives a redirect whose body was empty, or was sent", arguments: ["", "hello"])
    func connections(body: String) async throws {
        let rig = try Rig { $0.path == "/from" ? .redirect(to: "/to") : .text("arrived") }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/from"), method: "POST", body: body.isEmpty ? nil : Data(body.utf8))
        for _ in 0..<20 { #expect(await rig.session.load(request).text == "arrived") }
        #expect(rig.server.requestCount == 40)
        #expect(rig.server.connectionCount == 1)
    }

    @Test("Progress begins anew with each hop")
    func progress() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/from" ? .redirect(to: "/to", status: 307) : .text("arrived")
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/from"), method: "PUT")
        let task = rig.session.uploadTask(with: request, from: Data("hello".utf8))
        task.resume()
        try await delegate.success(of: task)
        let sent = delegate.events(of: task).filter { $0.name == "sent" }
        #expect(!sent.isEmpty)
        #expect(sent.allSatisfy { if case .sent(let growth, 5, 5) = $0 { growth > 0 } else { false } })
        #expect(task.countOfBytesSent == 5)
    }
}
