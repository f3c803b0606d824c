import CurlNetworking
import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Uploading streams", .timeLimit(.minutes(1)))
struct UploadStreamTests {
    private static let content = GeneratedBody.bytes(seed: 21, length: 2_000_000)

    private func request(_ url: URL, headers: [String: String] = [:]) -> URLRequest {
        var request = URLRequest(url, method: "POST", headers: headers)
        request.httpBodyStream = InputStream(data: Self.content)
        return request
    }

    @Test("A request's stream is sent in chunks, its length being unknown")
    func chunked() async throws {
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let (data, _) = try await rig.session.data(for: request(rig.url("/")))
        #expect(data == Data("2000000".utf8))
        #expect(rig.server.requests[0].body == Self.content)
        #expect(rig.server.requests[0].headers(named: "Transfer-Encoding") == ["chunked"])
        #expect(rig.server.requests[0].header("Content-Length") == nil)
        #expect(rig.server.requests[0].header("Expect") == nil)
    }

    @Test("A streamed request sends its stream, or the one the delegate gives", arguments: [true, false])
    func streamedRequest(asksDelegate: Bool) async throws {
        final class Source: NSObject, URLSessionDataDelegate {
            let completed = Watched<[URLError?]>([])

            func urlSession(
                _ session: URLSession,
                task: URLSessionTask,
                needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
            ) {
                completionHandler(InputStream(data: UploadStreamTests.content))
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                completed.update { $0.append(error as? URLError) }
            }
        }
        let source = Source()
        let rig = try Rig(delegate: source) { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        let plain = URLRequest(rig.url("/"), method: "POST")
        let task = rig.session.uploadTask(withStreamedRequest: asksDelegate ? plain : request(rig.url("/")))
        task.resume()
        try await source.completed.wait { !$0.isEmpty }
        #expect(source.completed.value == [nil])
        #expect(rig.server.requests[0].body == Self.content)
    }

    @Test("A stream goes out on another connection than one that a server of HTTP/1.0 has kept, which takes no chunks")
    func version10() async throws {
        let rig = try Rig { _ in
            .raw([.bytes("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok")])
        }
        defer { rig.stop() }
        for _ in 1...2 {
            let (data, _) = try await rig.session.data(for: request(rig.url("/")))
            #expect(data == Data("ok".utf8))
        }
        #expect(rig.server.requests.map(\.body) == [Self.content, Self.content])
        #expect(rig.server.requests.map(\.connection) == [1, 2])
    }

    @Test("A stream that another task has used up fails the task")
    func usedTwice() async throws {
        let rig = try Rig { .text("\($0.bodyLength)") }
        defer { rig.stop() }
        for length in [nil, "2000000", "0"] {
            let request = request(rig.url("/"), headers: length.map { ["Content-Length": $0] } ?? [:])
            if length == "0" {
                request.httpBodyStream?.open()
                request.httpBodyStream?.close()
            } else {
                #expect(await rig.session.load(request).text == "2000000")
            }
            #expect(await rig.session.load(request).error?.code == .requestBodyStreamExhausted)
        }
    }

    @Test("The delegate's stream comes before the request's own")
    func delegateFirst() async throws {
        final class Source: NSObject, URLSessionDataDelegate {
            let completed = Watched(false)

            func urlSession(
                _ session: URLSession,
                task: URLSessionTask,
                needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
            ) {
                completionHandler(InputStream(data: Data("the delegate's".utf8)))
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                completed.update { $0 = true }
            }
        }
        let source = Source()
        let rig = try Rig(delegate: source) { _ in .status(200) }
        defer { rig.stop() }
        rig.session.uploadTask(withStreamedRequest: request(rig.url("/"))).resume()
        try await source.completed.wait { $0 }
        #expect(rig.server.requests.map(\.text) == ["the delegate's"])
    }

    @Test("A stream that fails is told with its own error")
    func failing() async throws {
        let rig = try Rig { _ in .status(200) }
        defer { rig.stop() }
        var request = URLRequest(rig.url("/"), method: "POST")
        request.httpBodyStream = InputStream(fileAtPath: "/nowhere")
        let error = await rig.session.load(request).error
        #expect(error?.code == .requestBodyStreamExhausted)
        #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == Int(ENOENT))
        #expect(error?.localizedDescription.hasSuffix("No such file or directory") == true)
    }

    @Test("A stream that can't be sent again fails a redirect that wants it again, rather than sending something else")
    func redirected() async throws {
        let rig = try Rig { request in
            request.path == "/from" ? .redirect(to: "/to", status: 307) : .text("\(request.bodyLength)")
        }
        defer { rig.stop() }
        let result = await rig.session.load(request(rig.url("/from")))
        #expect(result.error?.code == .requestBodyStreamExhausted)
        #expect(rig.server.requests.allSatisfy { $0.path == "/from" || $0.bodyState != .complete })
    }
}
