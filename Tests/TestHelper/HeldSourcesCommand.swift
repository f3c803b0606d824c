import CurlNetworking
import Foundation

/// `held-sources URL FOLDER DIRECTORY`: makes tasks, says "made", and on "begin" loads `FOLDER/upload` twenty times, and uploads it to
/// `URL/echo` as often. On "download", downloads `URL/file` to the directory; on "endless", `URL/endless`, and cancels that when something
/// has been written. Says what became of each transfer: "load 300000", "upload 300000", "download 300000" and "endless cancelled".
final class HeldSourcesCommand: NSObject, URLSessionDownloadDelegate, Sendable {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let url = URL(string: arguments[0]) else {
            throw Usage(text: "held-sources URL FOLDER DIRECTORY")
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.temporaryDirectory = URL(fileURLWithPath: arguments[2], isDirectory: true)
        configuration.urlCache = nil
        configuration.httpMaximumConnectionsPerHost = 30
        let command = HeldSourcesCommand()
        let session = URLSession(configuration: configuration, delegate: command, delegateQueue: nil)

        let file = URL(fileURLWithPath: arguments[1], isDirectory: true)
            .appendingPathComponent("upload", isDirectory: false)
        var request = URLRequest(url: url.appendingPathComponent("echo"))
        request.httpMethod = "POST"
        var tasks: [URLSessionTask] = []
        for _ in 0..<20 {
            tasks.append(session.dataTask(with: file) { data, _, error in say("load", data, error) })
            // Asks how long the file is.
            let upload = session.uploadTask(with: request, fromFile: file) { data, _, error in
                say("upload", data, error)
            }
            tasks.append(upload)
        }
        Parent.say("made")

        for await line in Parent.lines {
            switch line {
            case "begin": for task in tasks { task.resume() }
            case "download": session.downloadTask(with: url.appendingPathComponent("file")).resume()
            case "endless": session.downloadTask(with: url.appendingPathComponent("endless")).resume()
            default: return
            }
        }
    }

    private static func say(_ name: String, _ data: Data?, _ error: (any Error)?) {
        Parent.say("\(name) \(data.map { "\($0.count)" } ?? error?.localizedDescription ?? "")")
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        Self.say("download", try? Data(contentsOf: location), nil)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        if downloadTask.originalRequest?.url?.lastPathComponent == "endless" { downloadTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let error else { return }
        let isCancelled = (error as? URLError)?.code == .cancelled
        Parent.say("\(task.originalRequest?.url?.lastPathComponent ?? "") \(isCancelled ? "cancelled" : "\(error)")")
    }
}
