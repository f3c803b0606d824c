// The classes of the well-known URLSession tutorial about an app called Half Tunes, without UIKit, in the shape that such apps have: a
// query service with a data task, a download service with active downloads by URL, and a controller that is the downloads' delegate.
// Written anew, in Swift 5 as the tutorial; nothing in it is of this module's making but the import.

import CurlNetworking
import Foundation

package final class Track {
    package let name: String
    package let artist: String
    package let previewURL: URL
    package let index: Int
    package var downloaded = false

    init(name: String, artist: String, previewURL: URL, index: Int) {
        self.name = name
        self.artist = artist
        self.previewURL = previewURL
        self.index = index
    }
}

package final class Download {
    package let track: Track
    package var isDownloading = false
    package var progress: Float = 0
    package var resumeData: Data?
    package var task: URLSessionDownloadTask?

    init(track: Track) {
        self.track = track
    }
}

package final class QueryService {
    package typealias QueryResult = ([Track]?, String) -> Void

    private let defaultSession = URLSession(configuration: .default)
    private var dataTask: URLSessionDataTask?
    private var tracks: [Track] = []
    private var errorMessage = ""
    private let address: String

    package init(address: String) {
        self.address = address
    }

    package func getSearchResults(searchTerm: String, completion: @escaping QueryResult) {
        dataTask?.cancel()
        guard var components = URLComponents(string: address + "/search") else { return }
        components.query = "media=music&entity=song&term=\(searchTerm)"
        guard let url = components.url else { return }

        dataTask = defaultSession.dataTask(with: url) { [weak self] data, response, error in
            defer { self?.dataTask = nil }
            if let error = error {
                self?.errorMessage += "The search failed: " + error.localizedDescription
            } else if let data = data, let response = response as? HTTPURLResponse, response.statusCode == 200 {
                self?.updateSearchResults(data)
            }
            let (tracks, errorMessage) = (self?.tracks, self?.errorMessage ?? "")
            DispatchQueue.main.async {
                completion(tracks, errorMessage)
            }
        }
        dataTask?.resume()
    }

    private func updateSearchResults(_ data: Data) {
        tracks.removeAll()
        do {
            let response = try JSONSerialization.jsonObject(with: data, options: []) as? [String: Any]
            for case let dictionary as [String: Any] in response?["results"] as? [Any] ?? [] {
                guard let preview = (dictionary["previewUrl"] as? String).flatMap({ URL(string: $0) }),
                    let name = dictionary["trackName"] as? String, let artist = dictionary["artistName"] as? String
                else { continue }
                tracks.append(Track(name: name, artist: artist, previewURL: preview, index: tracks.count))
            }
        } catch {
            errorMessage += "The answer is no JSON: \(error.localizedDescription)"
        }
    }
}

package final class DownloadService {
    package var activeDownloads: [URL: Download] = [:]
    /// The controller makes it, since it is its delegate.
    package var downloadsSession: URLSession?

    package func startDownload(_ track: Track) {
        let download = Download(track: track)
        download.task = downloadsSession?.downloadTask(with: track.previewURL)
        download.task?.resume()
        download.isDownloading = true
        activeDownloads[track.previewURL] = download
    }

    package func pauseDownload(_ track: Track) {
        guard let download = activeDownloads[track.previewURL], download.isDownloading else { return }
        download.task?.cancel(byProducingResumeData: { data in
            download.resumeData = data
        })
        download.isDownloading = false
    }

    package func resumeDownload(_ track: Track) {
        guard let download = activeDownloads[track.previewURL] else { return }
        if let resumeData = download.resumeData {
            download.task = downloadsSession?.downloadTask(withResumeData: resumeData)
        } else {
            download.task = downloadsSession?.downloadTask(with: download.track.previewURL)
        }
        download.task?.resume()
        download.isDownloading = true
    }

    package func cancelDownload(_ track: Track) {
        guard let download = activeDownloads[track.previewURL] else { return }
        download.task?.cancel()
        activeDownloads[track.previewURL] = nil
    }
}

/// What is the app's view controller; it tells a listener what the tutorial's would show.
///
/// `@unchecked Sendable`, as delegates must be: like the tutorial's, it is called on the session's delegate queue and from one thread.
package final class SearchController: NSObject, @unchecked Sendable {
    package enum Event {
        case progress(Track, Float, totalSize: String)
        case finished(Track)
    }

    package let downloadService = DownloadService()
    private let documents: URL
    private let listener: (Event) -> Void

    private lazy var downloadsSession: URLSession = {
        let configuration = URLSessionConfiguration.default
        return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }()

    package init(documents: URL, listener: @escaping (Event) -> Void) {
        self.documents = documents
        self.listener = listener
        super.init()
        downloadService.downloadsSession = downloadsSession
    }

    package func localFilePath(for url: URL) -> URL {
        documents.appendingPathComponent(url.lastPathComponent)
    }

    /// Where the delegate's methods run: there the service is used, too.
    package var queue: OperationQueue { downloadsSession.delegateQueue }

    package func close() {
        downloadsSession.invalidateAndCancel()
    }
}

extension SearchController: URLSessionDownloadDelegate {
    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        guard let sourceURL = downloadTask.originalRequest?.url else { return }
        let download = downloadService.activeDownloads[sourceURL]
        downloadService.activeDownloads[sourceURL] = nil
        let destinationURL = localFilePath(for: sourceURL)
        let fileManager = FileManager.default
        try? fileManager.removeItem(at: destinationURL)
        do {
            try fileManager.copyItem(at: location, to: destinationURL)
            download?.track.downloaded = true
        } catch {
            print("The file could not be copied: \(error.localizedDescription)")
        }
        if let track = download?.track { listener(.finished(track)) }
    }

    package func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        guard let url = downloadTask.originalRequest?.url, let download = downloadService.activeDownloads[url] else {
            return
        }
        download.progress = Float(totalBytesWritten) / Float(totalBytesExpectedToWrite)
        let totalSize = ByteCountFormatter.string(fromByteCount: totalBytesExpectedToWrite, countStyle: .file)
        listener(.progress(download.track, download.progress, totalSize: totalSize))
    }
}
