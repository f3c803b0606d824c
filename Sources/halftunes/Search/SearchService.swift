import CurlNetworking
import Foundation
import CurlNetworkingLocks

/// Searches the catalogue; a new query cancels the previous one.
final class SearchService: Sendable {
    private let api: URL
    private let session: URLSession
    private let current = Mutex<Task<Void, Never>?>(nil)
    /// In bytes: far more than a catalogue has to say about 200 songs.
    private static let longestResponse = 8 << 20

    /// - Parameter api: The catalogue's address, such as `https://itunes.apple.com`.
    init(api: URL) {
        self.api = api
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 20
        session = URLSession(configuration: configuration)
    }

    deinit {
        session.finishTasksAndInvalidate()
    }

    /// Calls `completion` once, on any thread: with the tracks that match, or with `URLError.cancelled` as soon as another search begins.
    func search(
        _ term: String,
        limit: Int,
        completion: @escaping @Sendable (Result<[Track], any Error>) -> Void
    ) {
        current.withLock { current in
            current?.cancel()
            current = Task {
                do {
                    completion(.success(try await tracks(matching: term, limit: limit)))
                } catch {
                    completion(.failure(error))
                }
            }
        }
    }

    func search(_ term: String, limit: Int) async throws -> [Track] {
        try await withCheckedThrowingContinuation { continuation in
            search(term, limit: limit) { continuation.resume(with: $0) }
        }
    }

    static func url(api: URL, term: String, limit: Int) -> URL? {
        guard var components = URLComponents(url: api, resolvingAgainstBaseURL: true) else { return nil }
        components.path += components.path.hasSuffix("/") ? "search" : "/search"
        components.queryItems = [
            URLQueryItem(name: "media", value: "music"),
            URLQueryItem(name: "entity", value: "song"),
            URLQueryItem(name: "limit", value: String(limit)),
            URLQueryItem(name: "term", value: term),
        ]
        // The server takes a plus for a space, and URLComponents doesn't encode it.
        components.percentEncodedQuery = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
        return components.url
    }

    /// Returns no more tracks than requested, and none from a response that is too long: the catalogue isn't trusted.
    private func tracks(matching term: String, limit: Int) async throws -> [Track] {
        guard let url = Self.url(api: api, term: term, limit: limit) else { throw URLError(.badURL) }
        let (bytes, response) = try await session.bytes(from: url)
        if let status = (response as? HTTPURLResponse)?.statusCode, status != 200 { throw SearchError.status(status) }
        var body = Data()
        for try await chunk in bytes.chunks {
            body += chunk
            guard body.count <= Self.longestResponse else { throw SearchError.notUnderstood }
        }
        guard let result = try? JSONDecoder().decode(SearchResult.self, from: body) else {
            throw SearchError.notUnderstood
        }
        return Array(result.results.prefix(limit))
    }
}

enum SearchError: LocalizedError, Equatable {
    case status(Int)
    case notUnderstood

    var errorDescription: String? {
        switch self {
        case .status(let status): "the catalogue answered with status \(status)"
        case .notUnderstood: "the catalogue's answer is not a search result"
        }
    }
}
