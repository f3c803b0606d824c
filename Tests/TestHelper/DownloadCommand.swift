import CurlNetworking
import Foundation
import Glibc

/// `download RESUME-DATA TEMPORARY-DIRECTORY DESTINATION PAUSE-EVERY`: goes on with a download, and says at each step how
/// far it is. After every so many bytes it pauses, replaces the file with the resume data, and goes on from that; never, if
/// it is 0.
final class DownloadCommand: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // @unchecked is true because nothing changes but `paused` and `file`, which the delegate queue alone touches.
    private let resumeData: URL
    private let destination: URL
    private let pauseEvery: Int64
    private let configuration = URLSessionConfiguration.ephemeral
    private var pausesAt: Int64 = .max
    private let ended = AsyncStream<Void>.makeStream()

    init(_ arguments: [String]) throws {
        guard arguments.count == 4, let pauseEvery = Int64(arguments[3]) else {
            throw Usage(text: "download RESUME-DATA TEMPORARY-DIRECTORY DESTINATION PAUSE-EVERY")
        }
        resumeData = URL(fileURLWithPath: arguments[0])
        destination = URL(fileURLWithPath: arguments[2])
        self.pauseEvery = pauseEvery
        configuration.curl.temporaryDirectory = URL(fileURLWithPath: arguments[1], isDirectory: true)
        super.init()
    }

    func run() async throws {
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        start(try Data(contentsOf: resumeData), in: session)
        for await _ in ended.stream { break }
    }

    private func start(_ data: Data, in session: URLSession) {
        let task = session.downloadTask(withResumeData: data)
        Parent.say("started")
        task.resume()
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        Parent.say("resumed \(fileOffset) \(expectedTotalBytes)")
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        Parent.say("wrote \(totalBytesWritten)")
        if pausesAt == .max { pausesAt = pauseEvery == 0 ? .max - 1 : totalBytesWritten - bytesWritten + pauseEvery }
        guard totalBytesWritten >= pausesAt else { return }
        pausesAt = .max
        downloadTask.cancel { [self] data in
            guard let data, (try? data.write(to: resumeData, options: .atomic)) != nil else {
                return Parent.say("nothing to resume from")
            }
            Parent.say("stored")
            start(data, in: session)
        }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let moved = rename(location.path, destination.path) == 0
        Parent.say(moved ? "finished" : "could not move: errno \(errno)")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        switch error as? URLError {
        case nil:
            ended.continuation.yield()
        case let error? where error.code == .cancelled:
            break
        case let error?:
            Parent.say("failed \(error.code.rawValue) \(error.localizedDescription)")
            ended.continuation.yield()
        }
    }
}
