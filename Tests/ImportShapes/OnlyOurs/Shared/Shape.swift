// The common case: a program that has changed its import, and sees no other URLSession.

import CurlNetworking
import Foundation

package enum OnlyOurs {
    package static func load(_ url: URL) async throws -> String {
        let seen = Seen()
        let session = URLSession(configuration: .ephemeral, delegate: seen, delegateQueue: nil)
        var request = URLRequest(url: url)
        request.setValue(languageMode, forHTTPHeaderField: "X-Mode")
        session.dataTask(with: request).resume()
        for await text in seen.texts.stream { return text }
        return ""
    }

    /// A delegate as programs have them.
    private final class Seen: NSObject, URLSessionDataDelegate {
        let texts = AsyncStream<String>.makeStream()

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            texts.continuation.yield(String(decoding: data, as: UTF8.self))
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            texts.continuation.finish()
            session.finishTasksAndInvalidate()
        }
    }
}
