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

    /// Refuses everything, in the forms with a completion handler, and then changes its mind.
    private final class InHandlerForm: NSObject, URLSessionDataDelegate {
        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            completionHandler(.cancelAuthenticationChallenge, nil)
            completionHandler(.performDefaultHandling, nil)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            completionHandler(.rejectProtectionSpace, nil)
            completionHandler(.performDefaultHandling, nil)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest,
            completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
            completionHandler(request)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            willBeginDelayedRequest request: URLRequest,
            completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
        ) {
            completionHandler(.cancel, nil)
            completionHandler(.continueLoading, nil)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            completionHandler(InputStream(data: Data()))
            completionHandler(nil)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            needNewBodyStreamFrom offset: Int64,
            completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            completionHandler(InputStream(data: Data()))
            completionHandler(nil)
        }

        func urlSession(
            _ session: URLSession,
            dataTask: URLSessionDataTask,
            didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            completionHandler(.cancel)
            completionHandler(.allow)
        }

        func urlSession(
            _ session: URLSession,
            dataTask: URLSessionDataTask,
            willCacheResponse proposedResponse: CachedURLResponse,
            completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            completionHandler(nil)
            completionHandler(proposedResponse)
        }
    }

    /// Whether an object refuses each question, asked in the async form as a delegate that forwards its questions does.
    private func refusals(of object: some URLSessionDataDelegate, in session: URLSession) async throws -> [Bool] {
        let url = try Sample.url("http://example.com/")
        let task = session.dataTask(with: url)
        let request = try Sample.request("http://example.com/next")
        let response = try #require(HTTPURLResponse(url: url, statusCode: 302, httpVersion: nil, headerFields: nil))
        let challenge = Sample.challenge()
        let proposal = CachedURLResponse(response: response, data: Data())
        return [
            await object.urlSession(session, didReceive: challenge).0 == .cancelAuthenticationChallenge,
            await object.urlSession(session, task: task, didReceive: challenge).0 == .rejectProtectionSpace,
            await object.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request)
                == nil,
            await object.urlSession(session, task: task, willBeginDelayedRequest: request).0 == .cancel,
            await object.urlSession(session, needNewBodyStreamForTask: task) != nil,
            await object.urlSession(session, needNewBodyStreamForTask: task, from: 1) != nil,
            await object.urlSession(session, dataTask: task, didReceive: response) == .cancel,
            await object.urlSession(session, dataTask: task, willCacheResponse: proposal) == nil,
        ]
    }

    @Test("An object that is asked in the async form gives its first answer in the form with a completion handler")
    func handlerForm() async throws {
        let object = InHandlerForm()
        for delegate in [nil, object] {
            let answers = try await refusals(of: object, in: URLSession.forTest(delegate: delegate))
            #expect(answers == Array(repeating: true, count: 8))
        }
    }

    private final class Formless: NSObject, URLSessionDataDelegate {}

    @Test("An object that is asked in the async form, and has neither form, gives the default answers, each time")
    func neitherForm() async throws {
        let object = Formless()
        for delegate in [nil, object, nil] {
            let answers = try await refusals(of: object, in: URLSession.forTest(delegate: delegate))
            #expect(answers == Array(repeating: false, count: 8))
        }
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
