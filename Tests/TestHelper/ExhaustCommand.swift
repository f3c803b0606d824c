import CurlNetworking
import Foundation
import Glibc

/// `exhaust [URL] URL`: loads the first, if there are two, uses up all descriptors and loads the last. Says what came of that, gives the
/// descriptors back, and says what comes of it then: "STATUS BYTES", or "CODE ERRNO TEXT". A protocol class loads "mock:".
enum ExhaustCommand {
    static func run(_ arguments: [String]) async {
        let urls = arguments.compactMap { URL(string: $0) }
        guard let last = urls.last else { return Parent.say("exhaust [URL] URL") }
        // Its event loop is made with it.
        let configuration = URLSessionConfiguration.ephemeral
        if last.scheme == "mock" { configuration.protocolClasses = [Mock.self] }
        let early = urls.count > 1 ? URLSession(configuration: configuration) : nil
        for url in urls.dropLast() { _ = try? await early?.data(from: url) }
        await letDispatchLook()
        var limit = rlimit(rlim_cur: 256, rlim_max: 256)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var descriptors: [Int32] = []
        while true {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { break }
            descriptors.append(descriptor)
        }
        let session = early ?? URLSession(configuration: .ephemeral)
        // Before Dispatch looks again.
        await load(last, in: session, timeout: last.scheme == "mock" ? 0.1 : 60)
        for (count, descriptor) in descriptors.enumerated() {
            // A few at a time, for which the threads that the class has by now compete.
            if last.scheme == "mock", count.isMultiple(of: 5) { usleep(20_000) }
            close(descriptor)
        }
        await load(last, in: session)
    }

    private final class Mock: URLProtocol, @unchecked Sendable {
        // @unchecked: stores nothing.
        override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "mock" }

        override func startLoading() {
            client?.urlProtocol(self, didLoad: Data("hello".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
    }

    /// Dispatch takes its own descriptors when it is first used, and opens a file for each of its busy threads then and every second. If it
    /// can't, it ends the process ("registered worker exited prematurely"). Returns right after it has.
    private static func letDispatchLook() async {
        // The first timer may be due in the same round as that look, but not the second.
        for _ in 1...2 {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { continuation.resume() }
            }
        }
    }

    private static func load(_ url: URL, in session: URLSession, timeout: TimeInterval = 60) async {
        var request = URLRequest(url: url)
        request.timeoutInterval = timeout
        do {
            let (data, response) = try await session.data(for: request)
            Parent.say("\((response as? HTTPURLResponse)?.statusCode ?? 0) \(data.count)")
        } catch {
            let error = error as NSError
            let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
            Parent.say("\(error.code) \(cause?.code ?? 0) \(error.localizedDescription)")
        }
    }
}
