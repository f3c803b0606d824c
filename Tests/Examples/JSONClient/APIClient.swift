import CurlNetworking
import Foundation

/// A JSON API: values in, values out. What may be sent twice is sent again when it fails for a reason that passes.
struct APIClient: Sendable {
    private let base: URL
    private let retries: RetryPolicy
    private let session: URLSession

    init(base: URL, timeout: TimeInterval, retries: RetryPolicy) {
        let configuration = URLSessionConfiguration.ephemeral
        // For one attempt: without a byte in either direction, and in all.
        configuration.timeoutIntervalForRequest = timeout
        configuration.timeoutIntervalForResource = 10 * timeout
        configuration.httpAdditionalHeaders = ["Accept": "application/json"]
        session = URLSession(configuration: configuration)
        self.base = base
        self.retries = retries
    }

    func get<Answer: Decodable>(_ path: String) async throws -> Answer {
        try await send(request("GET", path))
    }

    /// The key tells the server that a second attempt is none of a second item.
    func create<Answer: Decodable>(_ path: String, _ body: some Encodable) async throws -> Answer {
        var request = try request("POST", path, body)
        request.setValue(UUID().uuidString, forHTTPHeaderField: "Idempotency-Key")
        return try await send(request)
    }

    func change<Answer: Decodable>(_ path: String, _ body: some Encodable) async throws -> Answer {
        try await send(request("PATCH", path, body))
    }

    private func request(_ method: String, _ path: String) -> URLRequest {
        var request = URLRequest(url: base.appendingPathComponent(path))
        request.httpMethod = method
        return request
    }

    private func request(_ method: String, _ path: String, _ body: some Encodable) throws -> URLRequest {
        var request = request(method, path)
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(body)
        return request
    }

    private func send<Answer: Decodable>(_ request: URLRequest) async throws -> Answer {
        var attempt = 1
        while true {
            do {
                return try await JSONDecoder().decode(Answer.self, from: load(request))
            } catch let failure as RequestFailure {
                guard let delay = retries.delay(after: failure, of: request, attempt: attempt) else { throw failure }
                try await Task.sleep(for: .seconds(delay))
                attempt += 1
            }
        }
    }

    /// In bytes. `data(for:)` would collect whatever a server sends.
    private static let longestAnswer = 16 << 20

    private func load(_ request: URLRequest) async throws -> Data {
        do {
            let (bytes, response) = try await session.bytes(for: request)
            guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
            var data = Data()
            for try await chunk in bytes.chunks {
                data += chunk
                guard data.count <= Self.longestAnswer else { throw RequestFailure.tooLong }
            }
            guard 200..<300 ~= response.statusCode else {
                let retryAfter = response.value(forHTTPHeaderField: "Retry-After")
                throw RequestFailure.status(response.statusCode, body: data, retryAfter: retryAfter)
            }
            return data
        } catch let error as URLError {
            throw RequestFailure.transport(error)
        }
    }
}
