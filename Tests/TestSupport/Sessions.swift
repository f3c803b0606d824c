import CurlNetworking
import Foundation

extension URLSession {
    /// A session for one test, with an ephemeral configuration. With `CURLNETWORKING_EVENT_LOOPS=4` in the environment
    /// (`make test-loops`), it has that many event loops unless the test says otherwise.
    package static func forTest(
        delegate: (any URLSessionDelegate)? = nil,
        delegateQueue: OperationQueue? = nil,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        if let eventLoops { configuration.curl.eventLoops = eventLoops }
        configure(configuration)
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: delegateQueue)
    }

    /// The same for `ScriptedHTTP2Server`, without a cache, and with a time-out far beyond any test's own limit.
    package static func forPatientHTTP2(_ configure: (URLSessionConfiguration) -> Void = { _ in }) -> URLSession {
        forTest {
            $0.urlCache = nil
            $0.curl.httpVersion = .http2PriorKnowledge
            $0.timeoutIntervalForRequest = 600
            configure($0)
        }
    }

    private static let eventLoops =
        ProcessInfo.processInfo.environment["CURLNETWORKING_EVENT_LOOPS"].flatMap { Int($0) }

    /// Runs a data task with a completion handler to its end.
    package func load(_ request: URLRequest) async -> HandlerResult {
        await withCheckedContinuation { continuation in
            dataTask(with: request) { continuation.resume(returning: HandlerResult($0, $1, $2)) }.resume()
        }
    }

    /// Runs a data task with a completion handler to its end.
    package func load(_ url: URL) async -> HandlerResult {
        await load(URLRequest(url: url))
    }
}

extension URLSessionConfiguration {
    /// Requests wait for each other in the order they were made: no cache lookup lets one overtake another.
    package func useOneConnection() {
        httpMaximumConnectionsPerHost = 1
        urlCache = nil
    }
}

/// What a completion handler was given.
package struct HandlerResult: Sendable {
    package let data: Data?
    package let response: HTTPURLResponse?
    package let error: URLError?

    package init(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) {
        self.data = data
        self.response = response as? HTTPURLResponse
        self.error = error.map { $0 as? URLError ?? URLError(.unknown) }
    }

    package var text: String? { data.map { String(decoding: $0, as: UTF8.self) } }
}

extension URLRequest {
    /// A request in one line.
    package init(
        _ url: URL,
        method: String = "GET",
        headers: [String: String] = [:],
        body: Data? = nil,
        timeout: TimeInterval? = nil
    ) {
        self.init(url: url)
        httpMethod = method
        for (name, value) in headers { setValue(value, forHTTPHeaderField: name) }
        httpBody = body
        if let timeout { timeoutInterval = timeout }
    }
}

extension URLError {
    /// How far the transfer had got.
    package var phase: String? { userInfo[CurlErrorKey.phase] as? String }

    /// libcurl's own text.
    package var curlText: String? { userInfo[CurlErrorKey.text] as? String }
}
