import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Numbers at the ends of their range, and beyond", .timeLimit(.minutes(2)))
struct ExtremeNumberTests {
    /// Where a server, a cookie or a header can put a number.
    static let numbers = [
        "", "-1", "+1", "0", "2147483648", "4294967296", "9223372036854775806", "9223372036854775807",
        "9223372036854775808", "18446744073709551615", "-9223372036854775808", "-9223372036854775809",
        "99999999999999999999999999999999999999", "1e308", "1e400", "nan", "inf", "0x7fffffffffffffff",
    ]

    /// Heads without an end, and what stands behind them; `#` is the number.
    static let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length: #\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: #\r\n\r\nok",
        "HTTP/1.1 # OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/# 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 # Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n#\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff;a=#\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nok",
        "HTTP/1.1 206 Part\r\nContent-Range: bytes 0-#/#\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 206 Part\r\nContent-Range: bytes #-#/*\r\nContent-Length: #\r\n\r\nok",
        "HTTP/1.1 416 No\r\nContent-Range: bytes */#\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 503 Later\r\nRetry-After: #\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 301 There\r\nLocation: http://127.0.0.1:#/\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=#, stale-if-error=#\r\nAge: #\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nCache-Control: s-maxage=#, stale-while-revalidate=#\r\nETag: \"#\"\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nDate: Fri, 31 Dec # 23:59:60 GMT\r\nLast-Modified: Mon, 01 Jan 1601 00:00:00 GMT\r\n"
            + "Content-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nExpires: Fri, 31 Dec 9999 23:59:59 GMT\r\nAge: #\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=#; Max-Age=#\r\nSet-Cookie: b=1; Expires=Fri, # Dec # #:59:59 GMT\r\n"
            + "Set-Cookie: c=1; Version=#; Port=\"#\"; Path=/\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nStrict-Transport-Security: max-age=#\r\nAlt-Svc: h2=\":#\"; ma=#\r\nKeep-Alive: timeout=#, max=#\r\n"
            + "Content-Length: 2\r\n\r\nok",
        "HTTP/1.1 401 Who\r\nWWW-Authenticate: Digest realm=\"#\", nonce=\"#\", nc=#, qop=auth\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: #\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: #\r\nAccept-Ranges: bytes\r\nETag: \"a\"\r\n\r\nok",
    ]

    /// Everything public that has a number in it. Each is only to be there.
    private static func read(_ task: URLSessionTask) -> String {
        let progress = task.progress
        let response = task.response as? HTTPURLResponse
        return """
            \(task) \(task.state) \(task.priority) \(task.taskIdentifier) \(String(describing: task.error))
            \(task.countOfBytesReceived) \(task.countOfBytesSent) \(task.countOfBytesExpectedToReceive)
            \(task.countOfBytesExpectedToSend) \(task.countOfBytesClientExpectsToReceive) \(task.countOfBytesClientExpectsToSend)
            \(progress.totalUnitCount) \(progress.completedUnitCount) \(progress.fractionCompleted) \(progress.isIndeterminate)
            \(progress.isFinished) \(progress.localizedDescription ?? "") \(progress.localizedAdditionalDescription ?? "")
            \(response?.expectedContentLength ?? 0) \(response?.statusCode ?? 0) \(response?.allHeaderFields.count ?? 0)
            \(response?.suggestedFilename ?? "") \(response.map(\.description) ?? "")
            """
    }

    private static func read(_ metrics: URLSessionTaskMetrics) -> String {
        metrics.transactionMetrics.reduce("\(metrics) \(metrics.taskInterval) \(metrics.redirectCount)") { text, one in
            """
            \(text) \(one) \(one.countOfRequestHeaderBytesSent) \(one.countOfRequestBodyBytesSent)
            \(one.countOfResponseHeaderBytesReceived) \(one.countOfResponseBodyBytesReceived)
            \(one.countOfResponseBodyBytesAfterDecoding) \(String(describing: one.responseEndDate))
            """
        }
    }

    /// Reads the numbers at every message, too, and answers challenges.
    private final class Reader: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
        let completions = Watched<[Int: Int]>([:])
        let texts = Watched(0)

        private func note(_ text: String) { texts.update { $0 += text.count } }

        func urlSession(
            _ session: URLSession,
            dataTask: URLSessionDataTask,
            didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            note(ExtremeNumberTests.read(dataTask))
            completionHandler(.allow)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let isFirst = challenge.previousFailureCount == 0
            let credential = URLCredential(user: "user", password: "secret", persistence: .none)
            completionHandler(isFirst ? .useCredential : .performDefaultHandling, isFirst ? credential : nil)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
        {
            note(ExtremeNumberTests.read(metrics))
        }

        func urlSession(
            _ session: URLSession,
            downloadTask: URLSessionDownloadTask,
            didFinishDownloadingTo location: URL
        ) {}

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            note(ExtremeNumberTests.read(task))
            completions.update { $0[task.taskIdentifier, default: 0] += 1 }
        }
    }

    @Test("Whatever number a server names, each task ends once, and all that it shows can be read", arguments: answers)
    func servers(answer: String) async throws {
        let server = try LoopbackServer { request in
            let number = request.header("X-Number") ?? ""
            return .raw([.bytes(answer.replacingOccurrences(of: "#", with: number)), .close])
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let reader = Reader()
        let session = URLSession.forDownloads(to: directory, delegate: reader) {
            $0.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        }
        defer { session.invalidateAndCancel() }
        for number in Self.numbers {
            // Cookies may be for a path, and the cache has an entry for a URL.
            let get = URLRequest(server.url("/\(number.count)"), headers: ["X-Number": number])
            let post = URLRequest(
                server.url("/"),
                method: "POST",
                headers: ["X-Number": number],
                body: Data("body".utf8)
            )
            for task in [
                session.dataTask(with: get), session.dataTask(with: post), session.dataTask(with: get),
                session.downloadTask(with: get), session.uploadTask(with: post, from: Data("upload".utf8)),
            ] {
                let whole = Progress(totalUnitCount: .max)
                whole.addChild(task.progress, withPendingUnitCount: .max)
                task.resume()
                let identifier = task.taskIdentifier
                try await reader.completions.wait { $0[identifier] != nil }
                #expect(!Self.read(task).isEmpty && whole.fractionCompleted >= 0)
            }
        }
        await session.flush()
        #expect(reader.completions.value.count == Self.numbers.count * 5)
        #expect(reader.completions.value.values.allSatisfy { $0 == 1 })
    }

    @Test("The bytes to be sent and received may add up to more than any integer holds", arguments: [0, 1, 2])
    func sum(position: Int) async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(Int64.max)\r\n\r\n"
            return .raw([.bytes(head + "ok"), .waitFor(gate), .close])
        }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/"), method: "POST", body: Data("body".utf8))
        let task = rig.session.dataTask(with: request)
        if position == 0 { _ = task.progress }
        task.resume()
        try await delegate.wait(for: task, bytes: 2)
        await rig.session.flush()
        if position < 2 {
            #expect(task.progress.totalUnitCount == .max)
            #expect(task.countOfBytesExpectedToReceive == .max)
            #expect(task.countOfBytesExpectedToSend == 4)
        }
        gate.open()
        #expect(try await delegate.completion(of: task)?.code == .networkConnectionLost)
        #expect(task.progress.totalUnitCount > 0)
        #expect(task.progress.fractionCompleted < 1)
    }

    @Test(
        "A resumed download takes no harm from any range",
        arguments: [
            "bytes 150000-#/400000", "bytes 150000-399999/#", "bytes 150000-#/#", "bytes 150000-#/*", "bytes #-#/#",
            "bytes */#",
        ]
    )
    func ranges(range: String) async throws {
        for number in Self.numbers {
            let answer = ResumeOrigin.Response.body(ResumeOrigin.body[ResumeOrigin.heldAt..<ResumeOrigin.length])
                .partial(range.replacingOccurrences(of: "#", with: number))
            let origin = try ResumeOrigin(next: { request in
                request.header("Range") == nil
                    ? .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag) : answer
            })
            let resumed = try await PausedDownload(from: origin).resume()
            #expect(resumed.error != nil || resumed.body == ResumeOrigin.bytes, "\(number)")
            #expect(!Self.read(resumed.task).isEmpty)
        }
    }

    @Test(
        "An FTP server's replies may name any number",
        arguments: ["SIZE", "MDTM", "EPSV", "PASV", "REST", "RETR", "226"]
    )
    func ftp(command: String) async throws {
        let replies: [String: String] = [
            "SIZE": "213 #", "MDTM": "213 #", "EPSV": "229 Entering (|||#|)", "PASV": "227 Entering (#,#,#,#,#,#)",
            "REST": "350 #", "RETR": "150 Opening data connection (# bytes)", "226": "226 #",
        ]
        let reply = try #require(replies[command])
        for number in Self.numbers + ["99991231235960", "00000101000000"] {
            let line = reply.replacingOccurrences(of: "#", with: number)
            let server = try ScriptedFTPServer(Data("content".utf8)) { asked in
                if command == "PASV", asked == "EPSV" { return .reply("500 No") }
                return asked.hasPrefix(command) ? .reply(line) : nil
            }
            defer { server.stop() }
            let directory = try TemporaryDirectory()
            let reader = Reader()
            let session = URLSession.forDownloads(to: directory, delegate: reader) { $0.timeoutIntervalForRequest = 2 }
            defer { session.invalidateAndCancel() }
            for task in [session.dataTask(with: server.url()), session.downloadTask(with: server.url())] {
                _ = task.progress
                task.resume()
                // What is said of data that doesn't come is waited for until the time-out; that is not what this is about.
                let isEndless = ["RETR", "EPSV", "PASV"].contains(command)
                if isEndless {
                    try await server.wait(for: command)
                    task.cancel()
                }
                let identifier = task.taskIdentifier
                try await reader.completions.wait { $0[identifier] != nil }
                #expect(!Self.read(task).isEmpty)
            }
            #expect(reader.completions.value.values.allSatisfy { $0 == 1 })
        }
    }

    @Test(
        "Whatever number a server names over HTTP/2, each task ends once, and all that it shows can be read",
        arguments: [":status", "content-length", "content-range", "age"]
    )
    func http2(field: String) async throws {
        for number in Self.numbers {
            let value = field == "content-range" ? "bytes 0-\(number)/\(number)" : number
            let fields = (field == ":status" ? [] : [(name: ":status", value: "200")]) + [(name: field, value: value)]
            let server = try ScriptedHTTP2Server { _ in
                [.headers(ScriptedHTTP2Server.trailers(fields), ends: false), .data(Data("ok".utf8), ends: true)]
            }
            defer { server.stop() }
            let reader = Reader()
            let session = URLSession.forTest(delegate: reader) {
                $0.urlCache = nil
                $0.timeoutIntervalForRequest = 5
                $0.curl.httpVersion = .http2PriorKnowledge
            }
            defer { session.invalidateAndCancel() }
            let post = URLRequest(server.url(), method: "POST", body: Data("body".utf8))
            for task in [session.dataTask(with: post), session.downloadTask(with: server.url())] {
                _ = task.progress
                task.resume()
                let identifier = task.taskIdentifier
                try await reader.completions.wait { $0[identifier] != nil }
                #expect(!Self.read(task).isEmpty)
            }
            #expect(reader.completions.value.values.allSatisfy { $0 == 1 })
        }
    }

    @Test("A program's own protocol class may announce any length", arguments: [Int.min, -2, -1, 0, 1, Int.max])
    func protocolClass(length: Int) async throws {
        let network = MockNetwork { load in
            guard let url = load.request.url else { return }
            let response = URLResponse(url: url, mimeType: nil, expectedContentLength: length, textEncodingName: nil)
            load.client?.urlProtocol(load, didReceive: response, cacheStoragePolicy: .allowed)
            load.send("content")
            load.finish()
        }
        let reader = Reader()
        let session = network.session(delegate: reader)
        defer { session.invalidateAndCancel() }
        let request = URLRequest(network.url(), method: "POST", body: Data("body".utf8))
        for task in [session.dataTask(with: request), session.downloadTask(with: request)] {
            _ = task.progress
            task.resume()
            let identifier = task.taskIdentifier
            try await reader.completions.wait { $0[identifier] != nil }
            #expect(task.countOfBytesExpectedToReceive >= -1)
            #expect(!Self.read(task).isEmpty)
        }
        let result = await session.load(request)
        #expect(result.text == "content")
        let (bytes, _) = try await session.bytes(for: request)
        #expect(try await bytes.reduce(into: 0) { count, _ in count += 1 } == 7)
    }

    @Test("A program may set every property to anything")
    func properties() async throws {
        let server = try LoopbackServer { _ in .text("fine") }
        defer { server.stop() }
        let times: [TimeInterval] = [
            .infinity, -.infinity, .nan, .greatestFiniteMagnitude, -1, 0, .leastNonzeroMagnitude,
        ]
        for time in times {
            for count in [Int.min, -1, 0, 1, Int.max] {
                let reader = Reader()
                let session = URLSession.forTest(delegate: reader) {
                    $0.timeoutIntervalForRequest = time
                    $0.timeoutIntervalForResource = time
                    $0.httpMaximumConnectionsPerHost = count
                    guard count > 0 else { return }
                    $0.curl.maximumConnections = count
                    $0.curl.maximumKeptConnections = count
                    $0.curl.maximumStreamsPerConnection = count
                    $0.curl.eventLoops = 1
                }
                defer { session.invalidateAndCancel() }
                var request = URLRequest(url: server.url("/"))
                request.timeoutInterval = time
                let tasks = (0..<3).map { _ in session.dataTask(with: request) }
                for task in tasks {
                    task.priority = Float(time)
                    task.countOfBytesClientExpectsToSend = Int64(count)
                    task.countOfBytesClientExpectsToReceive = Int64(count)
                    task.earliestBeginDate = Date(timeIntervalSinceReferenceDate: time)
                    task.resume()
                }
                await session.flush()
                for task in tasks {
                    #expect(!Self.read(task).isEmpty)
                    task.cancel()
                    let identifier = task.taskIdentifier
                    try await reader.completions.wait { $0[identifier] != nil }
                }
            }
        }
    }
}
