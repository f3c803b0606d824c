import CurlNetworking
import Foundation

/// `exit URL BYTES [downloads]`: starts transfers of every kind, or downloads, and ends the process as soon as so many bytes have come, in
/// the middle of everything.
enum ExitCommand {
    static func run(_ arguments: [String]) async {
        guard (2...3).contains(arguments.count), let url = URL(string: arguments[0]), let limit = Int(arguments[1])
        else {
            return Parent.say("exit URL BYTES [downloads]")
        }
        let counter = Counter(limit)
        let sessions = (0..<3).map { _ in URLSession(configuration: .ephemeral, delegate: counter, delegateQueue: nil) }
        for session in sessions {
            for _ in 0..<4 {
                session.downloadTask(with: url).resume()
                if arguments.count == 3 { continue }
                session.dataTask(with: url).resume()
                session.dataTask(with: url) { data, _, _ in counter.add(data?.count ?? 0) }.resume()
                Task {
                    let (bytes, _) = try await session.bytes(from: url)
                    for try await chunk in bytes.chunks { counter.add(chunk.count) }
                }
            }
        }
        if limit == 0 { exit(0) }
        // Ends with the process.
        for await _ in Parent.lines {}
    }

    private final class Counter: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, @unchecked Sendable {
        // @unchecked is true because `lock` guards `rest`.
        private let lock = NSLock()
        private var rest: Int

        init(_ limit: Int) {
            rest = limit
        }

        func add(_ count: Int) {
            let isEnough = lock.withLock {
                defer { rest -= count }
                return rest > 0 && rest <= count
            }
            // From whichever thread it was, as a program would; and from no second one, which the C library doesn't allow.
            if isEnough { exit(0) }
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            add(data.count)
        }

        func urlSession(
            _ session: URLSession,
            downloadTask: URLSessionDownloadTask,
            didWriteData bytesWritten: Int64,
            totalBytesWritten: Int64,
            totalBytesExpectedToWrite: Int64
        ) {
            add(Int(bytesWritten))
        }

        func urlSession(
            _ session: URLSession,
            downloadTask: URLSessionDownloadTask,
            didFinishDownloadingTo location: URL
        ) {}
    }
}
