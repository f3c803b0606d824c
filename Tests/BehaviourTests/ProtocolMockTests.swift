// swift-format-ignore-file: NeverForceUnwrap
import CurlNetworking
import Foundation
import Testing

/// How people mock their network in tests.
private final class Mock: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "mock" }

    override func startLoading() {
        guard let client, let url = request.url else { return }
        switch url.path {
        case "/redirect":
            let next = URLRequest(url: URL(string: "http://mock/answer")!)
            client.urlProtocol(self, wasRedirectedTo: next, redirectResponse: response(302))
        case "/failure":
            client.urlProtocol(self, didFailWithError: URLError(.notConnectedToInternet))
        case "/never":
            break
        default:
            client.urlProtocol(self, didReceive: response(200), cacheStoragePolicy: .notAllowed)
            client.urlProtocol(self, didLoad: Data("mo".utf8))
            client.urlProtocol(self, didLoad: request.httpBody ?? Data("ck".utf8))
            client.urlProtocolDidFinishLoading(self)
        }
    }

    private func response(_ status: Int) -> HTTPURLResponse {
        HTTPURLResponse(url: request.url!, statusCode: status, httpVersion: nil, headerFields: ["X-Mock": "yes"])!
    }
}

@Suite("A protocol class of the program", .timeLimit(.minutes(1)))
struct ProtocolMockTests {
    private let session: CurlNetworking.URLSession

    init() {
        let configuration = CurlNetworking.URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Mock.self]
        session = CurlNetworking.URLSession(configuration: configuration)
    }

    private func url(_ path: String) -> URL {
        URL(string: "http://mock/\(path)")!
    }

    @Test func `answers data tasks`() async throws {
        let (data, response) = try await session.data(from: url("answer"))
        #expect(String(decoding: data, as: UTF8.self) == "mock")
        #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Mock") == "yes")
    }

    @Test func `answers download tasks`() async throws {
        let (file, _) = try await session.download(from: url("answer"))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try String(contentsOf: file, encoding: .utf8) == "mock")
    }

    @Test func `sees an upload's body`() async throws {
        let (data, _) = try await session.upload(for: URLRequest(url: url("answer")), from: Data("RE".utf8))
        #expect(String(decoding: data, as: UTF8.self) == "moRE")
    }

    @Test func `redirects`() async throws {
        let (data, response) = try await session.data(from: url("redirect"))
        #expect(String(decoding: data, as: UTF8.self) == "mock")
        #expect(response.url == url("answer"))
    }

    @Test func `fails tasks with its own error`() async {
        await #expect { try await session.data(from: url("failure")) } throws: { error in
            (error as? URLError)?.code == .notConnectedToInternet
        }
    }

    @Test func `is stopped when its task is cancelled`() async {
        let task = Task { try await session.data(from: url("never")) }
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? URLError)?.code == .cancelled }
    }

    @Test func `leaves to the network what it doesn't take`() async {
        await #expect { try await session.data(from: URL(string: "http://127.0.0.1:1/")!) } throws: { error in
            (error as? URLError)?.code == .cannotConnectToHost
        }
    }
}
