// Ours beside the stock module itself, in one file.

import CurlNetworking
import Foundation
import FoundationNetworking

package enum BesideStock {
    /// One request by ours, and one by the stock module under its full name.
    package static func load(_ url: URL) async throws -> [Int?] {
        var request = URLRequest(url: url)
        request.setValue(languageMode, forHTTPHeaderField: "X-Mode")
        let session: URLSession = .shared
        let (_, ours) = try await session.data(for: request)
        let (_, stock) = try await FoundationNetworking.URLSession.shared.data(for: request)
        return [ours, stock].map { ($0 as? HTTPURLResponse)?.statusCode }
    }
}
