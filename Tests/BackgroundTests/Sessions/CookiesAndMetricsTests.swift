import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("Cookies and metrics")
    struct CookiesAndMetrics {
        @Test("Cookies of the program's storage are sent, and those of the response go there")
        func cookies() async throws {
            let storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
            let rig = try BackgroundRig(configure: { $0.httpCookieStorage = storage }) { request in
                .text(request.header("Cookie") ?? "none").header("Set-Cookie", "answer=b; Path=/")
            }
            defer { rig.end() }
            storage.setCookie(try #require(Self.cookie("own", "a")))
            let first = rig.download()
            try await rig.delegate.success(of: first)
            #expect(rig.delegate.body(of: first) == Data("own=a".utf8))
            #expect(storage.cookies(for: rig.url("/"))?.map(\.name).sorted() == ["answer", "own"])
            // The program changes its mind.
            storage.setCookie(try #require(Self.cookie("own", "c")))
            let second = rig.download()
            try await rig.delegate.success(of: second)
            let text = String(decoding: rig.delegate.body(of: second) ?? Data(), as: UTF8.self)
            #expect(Set(text.components(separatedBy: "; ")) == ["own=c", "answer=b"])
        }

        private static func cookie(
            _ name: String,
            _ value: String,
            _ more: [HTTPCookiePropertyKey: Any] = [:]
        ) -> HTTPCookie? {
            let properties: [HTTPCookiePropertyKey: Any] = [
                .name: name, .value: value, .domain: "127.0.0.1", .path: "/",
            ]
            return HTTPCookie(properties: properties.merging(more) { $1 })
        }

        @Test("A response sets cookies by the rules of every session: for no other domain, with its own path and end")
        func rules() async throws {
            let storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
            let rig = try BackgroundRig(configure: { $0.httpCookieStorage = storage }) { _ in
                .text("").headers([
                    "Set-Cookie": "bank=1; Domain=bank.example", "Set-Cookie": "top=1; Domain=com",
                    "Set-Cookie": "secure=1; Secure", "Set-Cookie": "__Host-a=1; Path=/",
                    "Set-Cookie": "gone=; Max-Age=0; Path=/", "Set-Cookie": "aged=1; Max-Age=1000",
                    "Set-Cookie": "dated=1; Expires=Fri, 31 Dec 2100 23:59:59 GMT", "Set-Cookie": "own=1; HttpOnly",
                ])
            }
            defer { rig.end() }
            storage.setCookie(try #require(Self.cookie("gone", "1")))
            try await rig.delegate.success(of: rig.download("/a/b"))
            let cookies = (storage.cookies ?? []).sorted { $0.name < $1.name }
            #expect(cookies.map(\.name) == ["aged", "dated", "own"])
            #expect(cookies.allSatisfy { $0.path == "/a" && $0.domain == "127.0.0.1" })
            #expect(cookies.map { $0.expiresDate == nil } == [false, false, true])
            #expect(cookies.map(\.isHTTPOnly) == [false, false, true])
        }

        @Test("Cookies that the request may not carry stay in the storage: secure by their comment, expired, elsewhere")
        func unsent() async throws {
            let storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
            let rig = try BackgroundRig(configure: { $0.httpCookieStorage = storage }) { request in
                .text(request.header("Cookie") ?? "none")
            }
            defer { rig.end() }
            // As it is read from the storage's file.
            storage.setCookie(try #require(Self.cookie("login", "x", [.comment: "Secure"])))
            storage.setCookie(try #require(Self.cookie("elsewhere", "x", [.path: "/elsewhere"])))
            let task = rig.download()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == Data("none".utf8))
        }

        @Test("A cookie that the program has deleted is in no later request, wherever it came from")
        func deleted() async throws {
            let storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
            let rig = try BackgroundRig(configure: { $0.httpCookieStorage = storage }) { request in
                .text(request.header("Cookie") ?? "none").header("Set-Cookie", "answer=b; Path=/")
            }
            defer { rig.end() }
            storage.setCookie(try #require(Self.cookie("own", "a")))
            try await rig.delegate.success(of: rig.download())
            for cookie in storage.cookies ?? [] { storage.deleteCookie(cookie) }
            let task = rig.download()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == Data("none".utf8))
        }

        @Test("A cookie that a redirect sets is for the task's next request, and not for other tasks or the storage")
        func redirect() async throws {
            let storage = try #require(URLSessionConfiguration.ephemeral.httpCookieStorage)
            let rig = try BackgroundRig(configure: { $0.httpCookieStorage = storage }) { request in
                request.path == "/"
                    ? .redirect(to: "/there").header("Set-Cookie", "hop=1; Path=/")
                    : .text(request.header("Cookie") ?? "none")
            }
            defer { rig.end() }
            let first = rig.download()
            try await rig.delegate.success(of: first)
            #expect(rig.delegate.body(of: first) == Data("hop=1".utf8))
            let second = rig.download("/there")
            try await rig.delegate.success(of: second)
            #expect(rig.delegate.body(of: second) == Data("none".utf8))
            #expect(storage.cookies?.isEmpty != false)
        }

        @Test("The metrics have all hops: a redirect, a lost connection, and the rest of the file")
        func metrics() async throws {
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 4)
            let rig = try BackgroundRig { request in
                if request.path == "/" { return .redirect(to: "/there") }
                if request.header("Range") != nil { return .resource(body, for: request, etag: "a") }
                return .pieces([.body(body[0..<100_000]), .reset, .body(body[100_000..<200_000])])
                    .headers(["ETag": "\"a\"", "Accept-Ranges": "bytes"])
            }
            defer { rig.end() }
            let delegate = AnsweringDelegate()
            let session = rig.session(delegate)
            let task = session.downloadTask(with: rig.url("/"))
            task.resume()
            try await delegate.result.wait { $0 != nil }
            let metrics = try #require(delegate.metrics.value)
            let hops = metrics.transactionMetrics
            #expect(hops.first?.request.url == rig.url("/"))
            // Each attempt begins with the request as it was.
            #expect(hops.map { ($0.response as? HTTPURLResponse)?.statusCode } == [302, 200, 302, 206])
            #expect(hops.allSatisfy { $0.networkProtocolName == "http/1.1" && $0.remotePort == "\(rig.server.port)" })
            #expect(hops.map(\.isReusedConnection) == [false, true, false, true])
            #expect(hops.allSatisfy { $0.resourceFetchType == .networkLoad && $0.responseStartDate != nil })
            #expect(metrics.taskInterval.start <= (hops.first?.fetchStartDate ?? .distantPast))
            session.invalidateAndCancel()
        }

        @Test("The metrics have the attempts of a killed agent, apart from the one that was under way")
        func killedAgent() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { request in
                request.ordinal == 1 ? .fault(.beforeAnyByte) : .text("hello").after([.waitFor(gate)])
            }
            defer { rig.end() }
            let delegate = AnsweringDelegate()
            let session = rig.session(delegate)
            defer { session.invalidateAndCancel() }
            session.downloadTask(with: rig.url("/")).resume()
            try await rig.server.waitForRequests(2)
            rig.killAgent()
            gate.open()
            try await delegate.result.wait { $0 == .success(200) }
            let hops = try #require(delegate.metrics.value).transactionMetrics
            #expect(hops.map { ($0.response as? HTTPURLResponse)?.statusCode } == [nil, 200])
            #expect(rig.server.requestCount == 3)
        }

        @Test("A task that ends before an agent has begun it has metrics without transactions")
        func noTransactions() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let delegate = TimelineDelegate()
            let session = rig.session(delegate)
            defer { session.invalidateAndCancel() }
            let start = Date()
            let cancelled = session.downloadTask(with: rig.url("/"))
            cancelled.cancel()
            #expect(try await delegate.completion(of: cancelled)?.code == .cancelled)
            let refused = session.downloadTask(with: rig.url("/"))
            refused.resume()
            try await agent.greet()
            let submission = try #require(try await agent.submissions(1).first)
            agent.say([.failure(of: submission, .cannotWriteToFile)])
            #expect(try await delegate.completion(of: refused)?.code == .cannotWriteToFile)
            for task in [cancelled, refused] {
                #expect(delegate.story(of: task) == ["created", "metrics", "completed"])
            }
            for metrics in delegate.record.value.metrics {
                #expect(metrics.transactionMetrics.isEmpty && metrics.taskInterval.start >= start)
            }
        }

        @Test("Metrics that no delegate has a method for are not asked of the agent")
        func ignoredMetrics() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { $0.path == "/" ? .text("") : .text("").after([.waitFor(gate)]) }
            defer { rig.end() }
            // The delegate's default has been called then.
            try await rig.delegate.success(of: rig.download())
            let task = rig.download("/held")
            try await rig.waitForRecord(of: task) { $0.contains("\"ignoresMetrics\":true") }
            let delegate = AnsweringDelegate()
            let watched = rig.session.downloadTask(with: rig.url("/held"))
            watched.delegate = delegate
            watched.resume()
            try await rig.waitForRecord(of: watched) { !$0.contains("ignoresMetrics") }
            gate.open()
            try await rig.delegate.success(of: task)
            try await delegate.result.wait { $0 == .success(200) }
            #expect(delegate.metrics.value?.transactionMetrics.count == 1)
            try await rig.finish()
        }
    }
}
