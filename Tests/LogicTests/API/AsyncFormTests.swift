import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("A delegate's async methods", .timeLimit(.minutes(1)))
struct AsyncFormTests {
    /// Answers one question by asking itself another, to which it has only the default answer.
    private final class AskingItself: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest
        ) async -> URLRequest? {
            let stream = await urlSession(session, needNewBodyStreamForTask: task)
            return stream == nil ? nil : request
        }
    }

    @Test("One that calls another method of its object, which has only the default, isn't taken for missing")
    func another() async throws {
        let delegate = AskingItself()
        let session = URLSession.forTest(delegate: delegate)
        let url = try Sample.url("http://example.com/")
        let task = session.dataTask(with: url)
        let response = try #require(HTTPURLResponse(url: url, statusCode: 302, httpVersion: nil, headerFields: nil))
        let request = try Sample.request("http://example.com/next")
        let answer: URLRequest? = await withCheckedContinuation { continuation in
            delegate.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request) {
                continuation.resume(returning: $0)
            }
        }
        #expect(answer == nil)
        #expect(!MissingMethods.contains(.redirect, of: delegate))
    }
}
