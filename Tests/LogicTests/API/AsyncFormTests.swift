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

    @Test("An async method that calls another one, which has only the default, isn't taken for missing")
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

    private final class Silent: NSObject, URLSessionDataDelegate {}

    private final class Refusing: NSObject, URLSessionDataDelegate {
        func urlSession(
            _ session: URLSession,
            dataTask: URLSessionDataTask,
            willCacheResponse proposedResponse: CachedURLResponse,
            completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            completionHandler(nil)
        }
    }

    @Test("A question goes on to the session's delegate even if the task has released its own meanwhile")
    func released() async throws {
        let session = URLSession.forTest(delegate: Refusing())
        let url = try Sample.url("http://example.com/")
        let task = session.dataTask(with: url)
        let own = Silent()
        task.delegate = own
        let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
        let proposal = CachedURLResponse(response: response, data: Data())
        let answer: CachedURLResponse? = await withCheckedContinuation { continuation in
            AsyncForm.Question(.caching, to: own, about: task, in: session).ask(orElse: \.data) { delegate in
                // As the end of a task does.
                task.delegate = nil
                return await delegate.urlSession(session, dataTask: task, willCacheResponse: proposal)
            } passingOn: { next in
                next.urlSession(session, dataTask: task, willCacheResponse: proposal) {
                    continuation.resume(returning: $0)
                }
            } then: {
                continuation.resume(returning: $0 ?? proposal)
            }
        }
        #expect(answer == nil)
    }
}
