import CurlNetworking
import Foundation
import Glibc

/// `cycles URL COUNT`: sessions that are created, used, sometimes cancelled, and invalidated. Says "ready" when the process
/// has all that lives as long as itself, and waits for a line; in the end says how many tasks came to what, and waits
/// again. With the next line it gives back the memory that it doesn't use, and says "trimmed".
enum CyclesCommand {
    private actor Tally {
        private var outcomes: [String: Int] = [:]

        func count(_ outcome: String) {
            outcomes[outcome, default: 0] += 1
        }

        var text: String {
            outcomes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        }
    }

    static func run(_ arguments: [String]) async {
        guard arguments.count == 2, let url = URL(string: arguments[0]), let count = Int(arguments[1]) else {
            return Parent.say("cycles URL COUNT")
        }
        var lines = Parent.lines.makeAsyncIterator()
        await cycles(64, url, Tally())
        Parent.say("ready")
        _ = await lines.next()
        let tally = Tally()
        await cycles(count, url, tally)
        Parent.say(await tally.text)
        _ = await lines.next()
        typealias Trim = @convention(c) (Int) -> Int32
        if let trim = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(trim, to: Trim.self)(0) }
        Parent.say("trimmed")
        _ = await lines.next()
    }

    /// Eight at a time.
    private static func cycles(_ count: Int, _ url: URL, _ tally: Tally) async {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= 8 { await group.next() }
                group.addTask { await cycle(number, url, tally) }
            }
        }
    }

    /// Returns when the session has become invalid and its task has completed.
    private static func cycle(_ number: Int, _ url: URL, _ tally: Tally) async {
        let invalid = Invalidation()
        let session = URLSession(configuration: .ephemeral, delegate: invalid, delegateQueue: nil)
        async let outcome = withCheckedContinuation { continuation in
            let task = session.dataTask(with: url) { data, response, error in
                let status = (response as? HTTPURLResponse)?.statusCode
                let code = (error as? URLError)?.code.rawValue
                continuation.resume(returning: code.map { "error\($0)" } ?? "status\(status ?? 0)")
            }
            task.resume()
            switch number % 4 {
            case 0: task.cancel()
            case 1: session.invalidateAndCancel()
            default: break
            }
            session.finishTasksAndInvalidate()
        }
        await tally.count(await outcome)
        await invalid.wait()
    }

    private final class Invalidation: NSObject, URLSessionDelegate, Sendable {
        private let pair = AsyncStream<Void>.makeStream()

        func wait() async {
            for await _ in pair.stream {}
        }

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
            pair.continuation.finish()
        }
    }
}
