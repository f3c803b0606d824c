import CurlNetworking
import Foundation
import Synchronization

/// One slow consumer in a process of its own: it takes the body at a rate, and looks at its own memory meanwhile.
struct Reader {
    enum Kind: String, CaseIterable {
        case async, delegate
    }

    /// By how much memory may grow after the first megabytes: the documented 1.9 MB, and the allocator's fluctuations.
    private static let allowance = 8 << 20

    private let kind: Kind
    private let url: URL
    private let length: Int
    private let pace: Pace

    init(_ words: [String]) throws {
        guard words.count == 4, let kind = Kind(rawValue: words[0]), let url = URL(string: words[1]),
            let megabytes = Int(words[2]), let rate = Int(words[3])
        else { throw Complaint("usage: soak read KIND URL MEGABYTES RATE") }
        self.kind = kind
        self.url = url
        length = megabytes * 1_000_000
        pace = Pace(bytesPerSecond: rate * 1_000_000)
    }

    func run() async throws {
        switch kind {
        case .async: try await readAsynchronously()
        case .delegate: try await readInDelegate()
        }
        guard pace.taken == length else { throw Complaint("\(kind): \(pace.taken) bytes instead of \(length)") }
        let growth = pace.growth
        print("\(kind): \(length / 1_000_000) MB read; after the first 16 memory grew by \(growth / 1024) KiB at most")
        guard growth <= Self.allowance else { throw Complaint("\(kind): that is too much") }
    }

    private func readAsynchronously() async throws {
        let session = URLSession(configuration: .ephemeral)
        let (bytes, _) = try await session.bytes(from: url)
        for try await chunk in bytes.chunks {
            try await Task.sleep(for: pace.delay(afterTaking: chunk.count))
        }
        session.finishTasksAndInvalidate()
    }

    private func readInDelegate() async throws {
        let delegate = SlowDelegate(pace)
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        for await error in delegate.ending.stream {
            if let error { throw error }
        }
    }
}

/// Holds its queue up for as long as the pace demands.
private final class SlowDelegate: NSObject, URLSessionDataDelegate {
    let ending = AsyncStream<(any Error)?>.makeStream()
    private let pace: Pace

    init(_ pace: Pace) {
        self.pace = pace
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        Thread.sleep(forTimeInterval: pace.delay(afterTaking: data.count) / .seconds(1))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        ending.continuation.yield(error)
        ending.continuation.finish()
    }
}
