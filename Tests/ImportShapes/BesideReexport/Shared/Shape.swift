// Ours beside a library that exports the stock module again: two modules with a URLSession are visible here.

import CurlNetworking
import Foundation
import Reexporting

package enum BesideReexport {
    package static func load(_ url: URL) async throws -> Bool {
        var request = URLRequest(url: url)
        request.setValue(languageMode, forHTTPHeaderField: "X-Mode")
        let session = URLSession(configuration: .ephemeral)
        let tasks = Tasks()
        let (_, response) = try await session.data(for: request, delegate: tasks)
        // The library's own extension of a passive type.
        return (response as? HTTPURLResponse)?.isSuccess ?? false
    }

    private final class Tasks: NSObject, URLSessionTaskDelegate {
        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {}
    }
}
