import CurlNetworking
import Foundation

/// A message for somebody else's server.
struct Delivery: Sendable {
    /// The same with every attempt, so that its receiver can tell a repetition.
    let id = UUID().uuidString
    let url: URL
    let body: Data
}

/// Delivers messages to servers that want to know who is calling, several at a time.
struct Dispatcher: Sendable {
    private static let inFlight = 16
    private static let attempts = 3

    private let session: URLSession
    private let secret: Data

    /// - Parameters:
    ///   - identity: What servers are shown.
    ///   - authority: Whom to trust; nil for whom the system trusts.
    init(secret: Data, identity: TLSIdentity?, authority: URL?) throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 15
        configuration.timeoutIntervalForResource = 30
        // No receiver's cookies come back to it, let alone to another one.
        configuration.httpCookieStorage = nil
        configuration.httpMaximumConnectionsPerHost = 4
        configuration.curl.tls.identity = identity
        if let authority { configuration.curl.tls.trustRoots = [.file(authority)] }
        try configuration.curl.validate()
        session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
        self.secret = secret
    }

    /// Returns how many could not be delivered; throws when the Swift task is cancelled.
    func dispatch(_ deliveries: [Delivery], report: (Delivery, String?) -> Void) async throws -> Int {
        defer { session.invalidateAndCancel() }
        return try await withThrowingTaskGroup(of: (Delivery, String?).self) { group in
            var failures = 0
            func take(_ result: (delivery: Delivery, failure: String?)) {
                report(result.delivery, result.failure)
                if result.failure != nil { failures += 1 }
            }
            for (number, delivery) in deliveries.enumerated() {
                if number >= Self.inFlight, let result = try await group.next() { take(result) }
                group.addTask { try await (delivery, deliver(delivery)) }
            }
            for try await result in group { take(result) }
            return failures
        }
    }

    /// Returns why it could not be delivered; nil where it was.
    private func deliver(_ delivery: Delivery) async throws -> String? {
        var failure = ""
        for attempt in 0..<Self.attempts {
            if attempt > 0 { try await Task.sleep(for: .milliseconds(Int.random(in: 0...500) << attempt)) }
            do {
                let (_, response) = try await session.data(for: request(delivery))
                let status = (response as? HTTPURLResponse)?.statusCode ?? 0
                if 200..<300 ~= status { return nil }
                failure = "status \(status)"
                // It has understood, and doesn't want it.
                guard status == 429 || status >= 500 else { return failure }
            } catch {
                try Task.checkCancellation()
                failure = error.localizedDescription
            }
        }
        return failure
    }

    private func request(_ delivery: Delivery) -> URLRequest {
        let timestamp = Int(Date().timeIntervalSince1970)
        let signature = Signature.make(id: delivery.id, timestamp: timestamp, body: delivery.body, secret: secret)
        var request = URLRequest(url: delivery.url)
        request.httpMethod = "POST"
        request.httpBody = delivery.body
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue(delivery.id, forHTTPHeaderField: "webhook-id")
        request.setValue("\(timestamp)", forHTTPHeaderField: "webhook-timestamp")
        request.setValue(signature, forHTTPHeaderField: "webhook-signature")
        return request
    }
}

/// A receiver that has moved has to say so to the sender, not to the sender's messages.
private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        nil
    }
}
