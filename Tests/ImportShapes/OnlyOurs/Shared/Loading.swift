// A program that hides the session behind a protocol of its own, and hands its methods on as values.

import CurlNetworking
import Foundation

package protocol Loading {
    func data(for request: URLRequest) async throws -> (Data, URLResponse)
    func data(from url: URL) async throws -> (Data, URLResponse)
    func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse)
    func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse)
}

extension URLSession: Loading {}

extension OnlyOurs {
    /// What the server answers to the session as it is, behind the protocol, and as a function.
    package static func loadInEachWay(_ url: URL) async throws -> [String] {
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        let loader: any Loading = session
        let function: (URLRequest) async throws -> (Data, URLResponse) = session.data(for:)
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue(languageMode, forHTTPHeaderField: "X-Mode")
        let answers = [
            try await session.data(for: request), try await loader.data(for: request), try await function(request),
            try await session.upload(for: request, from: Data()),
        ]
        return answers.map { String(decoding: $0.0, as: UTF8.self) }
    }
}
