import CurlNetworking
import Foundation

/// `held-files URL FOLDER`: with one event loop and files in the folder, makes tasks, says "made", and from "begin" on uploads
/// `FOLDER/upload` to `URL/echo`, and downloads `URL/file` and, until "cancel", `URL/endless`. Makes a request for each "go", and says
/// "answered". Says what became of each transfer: "upload 300000", "download 300000" and "endless cancelled". On "crowd", makes twenty more
/// downloads like the last, and on "fail" one from a port where no server listens, of which it says "refused".
enum HeldFilesCommand {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 2, let url = URL(string: arguments[0]), let nobody = URL(string: "http://127.0.0.1:1/")
        else {
            throw Usage(text: "held-files URL FOLDER")
        }
        let folder = URL(fileURLWithPath: arguments[1], isDirectory: true)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.temporaryDirectory = folder
        configuration.urlCache = nil
        configuration.httpMaximumConnectionsPerHost = 30
        let session = URLSession(configuration: configuration)

        var request = URLRequest(url: url.appendingPathComponent("echo"))
        request.httpMethod = "POST"
        let file = folder.appendingPathComponent("upload", isDirectory: false)
        // Asks how long the file is.
        let upload = session.uploadTask(with: request, fromFile: file) { data, _, error in say("upload", data, error) }
        let download = session.downloadTask(with: url.appendingPathComponent("file")) { file, _, error in
            say("download", file.flatMap { try? Data(contentsOf: $0) }, error)
        }
        let endless = (0...20).map { _ in
            session.downloadTask(with: url.appendingPathComponent("endless")) { _, _, error in
                say("endless", nil, error)
            }
        }
        Parent.say("made")

        for await line in Parent.lines {
            switch line {
            case "go":
                _ = try await session.data(from: url.appendingPathComponent("file"))
                Parent.say("answered")
            case "begin": for task in [upload, download, endless[0]] { task.resume() }
            case "crowd": for task in endless.dropFirst() { task.resume() }
            case "fail":
                do {
                    _ = try await session.download(from: nobody)
                } catch let error as URLError where error.code == .cannotConnectToHost {
                    Parent.say("refused")
                }
            case "cancel": for task in endless { task.cancel() }
            default: return
            }
        }
    }

    private static func say(_ name: String, _ data: Data?, _ error: (any Error)?) {
        let isCancelled = (error as? URLError)?.code == .cancelled
        let outcome = data.map { "\($0.count)" } ?? (isCancelled ? "cancelled" : "\(error?.localizedDescription ?? "")")
        Parent.say("\(name) \(outcome)")
    }
}
