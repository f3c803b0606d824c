import CurlNetworking
import Foundation

/// The background session of a folder: its downloads continue without this program.
enum BackgroundDownloads {
    /// The name of the folder with the state of all such sessions, unless the user has chosen a folder.
    static let container = "halftunes"

    /// - Parameter folder: Where the downloads go; each folder has its own session.
    static func configuration(for folder: URL) -> URLSessionConfiguration {
        let path = folder.resolvingSymlinksInPath().path
        let configuration = URLSessionConfiguration.background(withIdentifier: "halftunes \(path)")
        configuration.sharedContainerIdentifier = container
        configuration.curl.background.idleTime = .milliseconds(500)
        return configuration
    }
}

extension DownloadItem {
    /// For a task's description, from which a later run knows what the task is for.
    var description: String {
        (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? url.absoluteString
    }

    /// nil if the description isn't one of ours. The file's name is checked as if it came from a server.
    init?(description: String) {
        guard let item = try? JSONDecoder().decode(Self.self, from: Data(description.utf8)),
            URL(webAddress: item.url.absoluteString) != nil, FileName.sanitised(item.fileName) == item.fileName
        else { return nil }
        self = item
    }
}
