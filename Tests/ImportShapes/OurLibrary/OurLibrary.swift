// A library that uses ours inside, and speaks to its users in the passive types alone.

import CurlNetworking
import Foundation

/// Loads requests.
package struct Loader {
    private let session: URLSession

    package init(cookies: HTTPCookieStorage?, cache: URLCache?) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = cookies
        configuration.urlCache = cache
        session = URLSession(configuration: configuration)
    }

    package func load(_ request: URLRequest) async throws -> (Data, HTTPURLResponse?) {
        let (data, response) = try await session.data(for: request)
        return (data, response as? HTTPURLResponse)
    }
}
