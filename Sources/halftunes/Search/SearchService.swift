import CurlNetworking
import Foundation
import CurlNetworkingLocks

/// Searches the catalogue; a new query cancels the previous one.
final class SearchService: Sendable {
    private let api: URL
    private let session: URLSession
    private let current = Mutex<URLSessionDataTask?>(nil)

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

    /// Calls `completion` once, on the session's queue: with the tracks that match, or with `URLError.cancelled` as soon
    /// as another search begins.
    func search(
        _ term: String,
        limit: Int,
        completion: @escaping @Sendable (Result<[Track], any Error>) -> Void
    ) {
        guard let url = Self.url(api: api, term: term, limit: limit) else {
            return completion(.failure(URLError(.badURL)))
        }
        let task = session.dataTask(with: url) { data, response, error in
            completion(Result { try Self.tracks(data, response, error) })
        }
        let predecessor = current.withLock { current in
            defer { current = task }
            return current
        }
        predecessor?.cancel()
        task.resume()
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

    private static func tracks(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) throws -> [Track] {
        if let error { throw error }
        if let status = (response as? HTTPURLResponse)?.statusCode, status != 200 { throw SearchError.status(status) }
        guard let result = try? JSONDecoder().decode(SearchResult.self, from: data ?? Data()) else {
            throw SearchError.notUnderstood
        }
        return result.results
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
