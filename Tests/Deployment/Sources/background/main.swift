import CurlNetworking
import Foundation

// `background URL FILE`: downloads to FILE in a background session, as a small program that is deployed with an agent, or that is its own
// agent (with `OWN_AGENT`). The status, or the error's code and text, goes to standard error.

let environment = ProcessInfo.processInfo.environment
if environment["OWN_AGENT"] != nil { CurlBackgroundAgent.runIfStartedAsAgent() }

func end(_ text: String, _ status: Int32) -> Never {
    try? FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
    exit(status)
}

/// Ends the process when the session has.
final class Receiver: NSObject, URLSessionDownloadDelegate, Sendable {
    private let destination: URL

    init(_ destination: URL) {
        self.destination = destination
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        do {
            try FileManager.default.moveItem(at: location, to: destination)
        } catch {
            end("\(error)", 1)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let error = error as NSError? else { return }
        end("\(error.domain) \(error.code) \(error.localizedDescription)", 1)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        end("200", 0)
    }
}

let words = CommandLine.arguments.dropFirst()
guard words.count == 2, let first = words.first, let last = words.last, let url = URL(string: first) else {
    end("background URL FILE", 2)
}
let configuration = URLSessionConfiguration.background(withIdentifier: "deployment")
configuration.curl.background.idleTime = .seconds(1)
let session = URLSession(
    configuration: configuration,
    delegate: Receiver(URL(fileURLWithPath: last)),
    delegateQueue: nil
)
session.downloadTask(with: url).resume()
session.finishTasksAndInvalidate()
while true { pause() }
