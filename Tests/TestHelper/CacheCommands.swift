import CurlNetworking
import Foundation
import Glibc

/// Commands about a cache on disk.
enum CacheCommands {
    /// The cache that the tests and this program share.
    private static func cache(_ path: String) -> CurlURLCache {
        CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 64 << 20, diskPath: path)
    }

    /// `fill DIRECTORY`: stores responses as fast as it can, two at a time, and says after each how many there were. Each body says over
    /// and over which URL it is for.
    static func fill(_ arguments: [String]) async {
        guard let path = arguments.first else { return Parent.say("fill DIRECTORY") }
        let cache = cache(path)
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<2 {
                group.addTask {
                    for number in 0... {
                        let text = "http://example.com/\((number * 7 + writer) % 40)"
                        guard let url = URL(string: text) else { return }
                        let piece = text + "\n"
                        let body = Data(String(repeating: piece, count: 1 + number * 131 % 3000).utf8)
                        let response = URLResponse(
                            url: url,
                            mimeType: nil,
                            expectedContentLength: body.count,
                            textEncodingName: nil
                        )
                        if number % 17 == 16 { cache.removeCachedResponse(for: URLRequest(url: url)) }
                        cache.storeCachedResponse(
                            CachedURLResponse(response: response, data: body),
                            for: URLRequest(url: url)
                        )
                        Parent.say("\(number)")
                    }
                }
            }
        }
    }

    /// `cached DIRECTORY FIRST-URL COUNT`: loads the URL with the numbers from 0 appended, eight at once; says how many bodies came, how
    /// many bytes, and what CPU each cost, in microseconds, once all is written that was to be. "-" is the directory of the default
    /// configuration.
    static func cached(_ arguments: [String]) async {
        guard arguments.count == 3, let count = Int(arguments[2]) else {
            return Parent.say("cached DIRECTORY FIRST-URL COUNT")
        }
        let configuration = URLSessionConfiguration.default
        if arguments[0] != "-" { configuration.urlCache = cache(arguments[0]) }
        let session = URLSession(configuration: configuration)
        let start = cpuTime
        var (bodies, bytes) = (0, 0)
        await withTaskGroup(of: Int?.self) { group in
            for number in 0..<count {
                if number >= 8, let size = await group.next() ?? nil { (bodies, bytes) = (bodies + 1, bytes + size) }
                group.addTask {
                    guard let url = URL(string: arguments[1] + "\(number)") else { return nil }
                    return try? await session.data(from: url).0.count
                }
            }
            for await size in group {
                if let size { (bodies, bytes) = (bodies + 1, bytes + size) }
            }
        }
        let cost = (cpuTime - start) / max(1, count)
        await session.flush()
        Parent.say("\(bodies) \(bytes) \(cost)")
    }

    /// In microseconds, of this process.
    private static var cpuTime: Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    }
}
