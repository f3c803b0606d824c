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
        // Constants, which have no alias, are not ambiguous.
        let constants = [
            NSURLSessionDownloadTaskResumeData, URLSessionDownloadTaskResumeData, NSURLAuthenticationMethodServerTrust,
            NSURLAuthenticationMethodClientCertificate, "\(NSURLSessionTransferSizeUnknown)",
        ]
        guard Set(constants).count == 4, !Mock.canInit(with: request) else { return [] }
        let (_, stock) = try await FoundationNetworking.URLSession.shared.data(for: request)
        return [ours, stock].map { ($0 as? HTTPURLResponse)?.statusCode }
    }

    /// A protocol class, as tests have them.
    private final class Mock: URLProtocol {
        override func startLoading() {
            let client: (any URLProtocolClient)? = client
            client?.urlProtocolDidFinishLoading(self)
        }
    }
}
