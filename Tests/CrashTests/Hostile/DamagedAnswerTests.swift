import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Answers that are damaged at random", .timeLimit(.minutes(2)))
struct DamagedAnswerTests {
    /// What is damaged: answers of every kind, without a place to be sent to.
    private static let answers = [
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 12\r\nETag: \"a\"\r\n\r\nHello, world",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n5\r\nHello\r\n7;x=y\r\n, world\r\n0\r\nX-A: b\r\n\r\n",
        "HTTP/1.0 200 OK\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nExpires: 0\r\n\r\nHello, world",
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 3-14/100\r\nContent-Length: 12\r\n\r\nHello, world",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Max-Age=100; Path=/; Secure; HttpOnly\r\nSet-Cookie: c=d; Domain=.1\r\n"
            + "Content-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60, stale-if-error=\"7\"\r\nAge: 3\r\nVary: Accept\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth,auth-int\", opaque=\"o\"\r\n"
            + "WWW-Authenticate: Basic realm=\"\\\"q\", charset=\"UTF-8\"\r\nContent-Length: 2\r\n\r\nno",
        "HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\n\tc\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 304 Not Modified\r\nETag: W/\"a\"\r\nDate: Sun Nov  6 08:49:37 1994\r\n\r\n",
    ]

    private static let tokens = [
        "\r\n", "\n", "\r\n\r\n", ":", ";", ",", "=", "\"", "\\", " ", "\t", "\u{0}", "\u{7f}", "é", "-1",
        "9223372036854775808",
        "HTTP/1.1 200 OK\r\n", "Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n", "Content-Encoding: gzip\r\n",
        "Connection: close\r\n",
        "0\r\n\r\n", "ffffffffffffffff",
    ]

    private static func damaged(_ text: String, _ generator: inout SeededGenerator) -> Data {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...6, using: &generator) where !bytes.isEmpty {
            let position = Int.random(in: bytes.indices, using: &generator)
            let end = min(bytes.count, position + Int.random(in: 0..<40, using: &generator))
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[position] = UInt8.random(in: .min ... .max, using: &generator)
            case 1: bytes.removeSubrange(position..<end)
            case 2: bytes.insert(contentsOf: bytes[position..<end], at: position)
            case 3: bytes.insert(contentsOf: Array((tokens.randomElement(using: &generator) ?? "").utf8), at: position)
            case 4: bytes.swapAt(position, Int.random(in: bytes.indices, using: &generator))
            default: bytes.removeSubrange(position...)
            }
        }
        return Data(bytes)
    }

    /// Answers challenges, and counts what each task came to.
    private final class Counter: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
        let completions = Watched<[Int: Int]>([:])

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            completionHandler(.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
        }

        func urlSession(
            _ session: URLSession,
            downloadTask: URLSessionDownloadTask,
            didFinishDownloadingTo location: URL
        ) {}

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            completions.update { $0[task.taskIdentifier, default: 0] += 1 }
        }
    }

    @Test(
        "Each task whose answer is damaged ends once, and the session goes on",
        arguments: 1...12 as ClosedRange<UInt64>
    )
    func damage(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let count = 100
        let bodies = (0..<count).map { _ in
            Self.damaged(Self.answers.randomElement(using: &generator) ?? "", &generator)
        }
        let server = try LoopbackServer { request in
            guard let number = Int(request.path.dropFirst()), bodies.indices.contains(number) else {
                return .text("fine")
            }
            return .raw([.bytes(bodies[number]), .close])
        }
        defer { server.stop() }
        let counter = Counter()
        let directory = try TemporaryDirectory()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.temporaryDirectory = directory.url
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let session = URLSession(configuration: configuration, delegate: counter, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        var identifiers: [Int] = []
        for number in 0..<count {
            let url = server.url("/\(number)")
            let post = URLRequest(url, method: "POST", body: Data("body".utf8))
            let task: URLSessionTask =
                switch number % 4 {
                case 0: session.downloadTask(with: url)
                case 1: session.uploadTask(with: post, from: Data("upload".utf8))
                case 2: session.dataTask(with: post)
                default: session.dataTask(with: url)
                }
            identifiers.append(task.taskIdentifier)
            task.resume()
        }
        try await counter.completions.wait { $0.count == count }
        #expect(counter.completions.value == Dictionary(uniqueKeysWithValues: identifiers.map { ($0, 1) }))
        let (data, _) = try await session.data(from: server.url("/fine"))
        #expect(data == Data("fine".utf8))
    }
}
