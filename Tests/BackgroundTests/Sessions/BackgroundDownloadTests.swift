import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("Downloads")
    struct Downloads {
        @Test("The delegate is told of a download as in any session, and no file of it stays")
        func download() async throws {
            let rig = try BackgroundRig { _ in .generated(length: 300_000, seed: 7) }
            defer { rig.end() }
            let task = rig.session.downloadTask(with: rig.url("/file"))
            task.taskDescription = "a file"
            task.resume()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == GeneratedBody.bytes(seed: 7, length: 300_000))
            #expect(rig.delegate.story(of: task) == ["created", "wrote", "finished downloading", "completed"])
            #expect(
                rig.delegate.events(of: task).contains(.wrote(300_000, total: 300_000, expected: 300_000))
                    || rig.delegate.events(of: task).filter { $0.name == "wrote" }.count > 1
            )
            #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
            #expect(task.state == .completed)
            #expect(task.countOfBytesReceived == 300_000)
            try await rig.finish()
        }

        @Test("The request goes out as it is, with its method, fields and body, and the configuration's fields")
        func request() async throws {
            let rig = try BackgroundRig(configure: { $0.httpAdditionalHeaders = ["X-Session": "s"] }) { .echo($0) }
            defer { rig.end() }
            let headers = ["X-Own": "o", "Authorization": "Bearer b"]
            let task = rig.session.downloadTask(
                with: URLRequest(rig.url("/"), method: "POST", headers: headers, body: Data("body".utf8))
            )
            task.resume()
            try await rig.delegate.success(of: task)
            let request = rig.server.requests[0]
            #expect(request.method == "POST")
            #expect(request.text == "body")
            #expect(request.header("X-Own") == "o")
            #expect(request.header("X-Session") == "s")
            #expect(request.header("Authorization") == "Bearer b")
            // The program's, and not the agent's.
            #expect(request.header("User-Agent")?.hasPrefix(ProcessInfo.processInfo.processName) == true)
        }

        @Test("A task's time begins with its begin date, which may be changed")
        func timeBeforeBeginDate() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let task = rig.session.downloadTask(with: rig.url("/"))
            let number = task.taskIdentifier
            /// How much time it has used up when the agent writes down a change.
            func elapsed(priority: Float) async throws -> TimeInterval {
                task.priority = priority
                try await rig.waitForRecord(of: task) { $0.contains("\"priority\":\(priority)") }
                let record = try #require(rig.record(ofTask: number))
                return try WireCoding.decoder.decode(TaskRecord.self, from: Data(record.utf8)).elapsed
            }
            task.earliestBeginDate = .distantFuture
            task.resume()
            #expect(try await elapsed(priority: 0.25) == 0)
            #expect(try await elapsed(priority: 0.125) == 0)
            task.earliestBeginDate = .distantPast
            _ = try await elapsed(priority: 0.75)
            #expect(try await elapsed(priority: 0.875) > 0)
        }

        @Test("A task begins at its begin date, and no delegate is asked")
        func beginDate() async throws {
            let arrival = Watched<Date?>(nil)
            let rig = try BackgroundRig { _ in
                arrival.update { $0 = Date() }
                return .text("hello")
            }
            defer { rig.end() }
            let delegate = TimelineDelegate()
            let session = rig.session(delegate)
            defer { session.invalidateAndCancel() }
            let task = session.downloadTask(with: rig.url("/"))
            let date = Date(timeIntervalSinceNow: 0.5)
            task.earliestBeginDate = date
            task.resume()
            try await delegate.success(of: task)
            #expect(try #require(arrival.value) >= date)
            #expect(!delegate.story.contains("delayed request"))
        }

        @Test("The agent gets the request's cache policy, or the configuration's")
        func cachePolicy() async throws {
            let rig = try BackgroundRig(configure: { $0.requestCachePolicy = .reloadIgnoringLocalCacheData }) { _ in
                .never
            }
            defer { rig.end() }
            for policy in [
                URLRequest.CachePolicy.useProtocolCachePolicy, .reloadIgnoringLocalAndRemoteCacheData,
            ] {
                let task = rig.session.downloadTask(with: URLRequest(url: rig.url("/"), cachePolicy: policy))
                task.resume()
                let expected = policy == .useProtocolCachePolicy ? .reloadIgnoringLocalCacheData : policy
                try await rig.waitForRecord(of: task) { $0.contains("\"cachePolicy\":\(expected.rawValue)") }
            }
        }

        @Test("Redirects are followed without asking the delegate")
        func redirect() async throws {
            let rig = try BackgroundRig { $0.path == "/" ? .redirect(to: "/there") : .text("there") }
            defer { rig.end() }
            let task = rig.download()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == Data("there".utf8))
            #expect(task.currentRequest?.url == rig.url("/there"))
            #expect(task.originalRequest?.url == rig.url("/"))
        }

        @Test("A redirect to a scheme other than http and https fails the task without asking the delegate")
        func redirectToOtherScheme() async throws {
            let rig = try BackgroundRig { _ in .redirect(to: "myapp://callback") }
            defer { rig.end() }
            let delegate = DecidingDelegate(onRedirect: { $0.answer(nil) })
            let session = rig.session(delegate)
            defer { session.invalidateAndCancel() }
            let task = session.downloadTask(with: rig.url("/"))
            task.resume()
            #expect(try await delegate.completion(of: task)?.code == .unsupportedURL)
            #expect(delegate.redirects.value.isEmpty)
        }

        @Test("An error of the server's is a response like others")
        func notFound() async throws {
            let rig = try BackgroundRig { _ in .text("no", status: 404) }
            defer { rig.end() }
            let task = rig.download()
            try await rig.delegate.success(of: task)
            #expect((task.response as? HTTPURLResponse)?.statusCode == 404)
        }

        @Test("Suspending stops the transfer, and resuming goes on with it")
        func suspension() async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in
                .pieces([.bytes("first"), .waitFor(gate), .bytes("second")])
            }
            defer { rig.end() }
            let task = rig.download()
            try await rig.delegate.wait(for: task) { $0.name == "wrote" }
            task.suspend()
            #expect(task.state == .suspended)
            gate.open()
            task.resume()
            #expect(task.state == .running)
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == Data("firstsecond".utf8))
        }

        @Test("A cancelled task ends with that, whether it runs or waits")
        func cancellation() async throws {
            let rig = try BackgroundRig { _ in .pieces([.bytes("first"), .never, .bytes("second")]) }
            defer { rig.end() }
            let running = rig.session.downloadTask(with: rig.url("/"))
            let waiting = rig.session.downloadTask(with: rig.url("/"))
            running.resume()
            try await rig.delegate.wait(for: running) { $0.name == "wrote" }
            waiting.cancel()
            running.cancel()
            #expect(try await rig.delegate.completion(of: waiting)?.code == .cancelled)
            let error = try await rig.delegate.completion(of: running)
            #expect(error?.code == .cancelled)
            #expect(error?.backgroundTaskCancelledReason == nil)
            try await rig.finish()
        }

        @Test(
            "A download that was paused by resume data goes on, in this session and in an ordinary one",
            arguments: [true, false]
        )
        func resumeData(isBackground: Bool) async throws {
            let gate = Gate()
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 3)
            let rig = try BackgroundRig { request in
                if request.header("Range") != nil { return .resource(body, for: request, etag: "a") }
                return .pieces([.body(body[0..<100_000]), .waitFor(gate), .body(body[100_000..<200_000])])
                    .headers(["ETag": "\"a\"", "Accept-Ranges": "bytes"])
            }
            defer { rig.end() }
            let task = rig.download()
            try await rig.delegate.wait(for: task) {
                if case .wrote(_, let total, _) = $0 { total >= 100_000 } else { false }
            }
            let data = try #require(await task.cancelByProducingResumeData())
            #expect(try await rig.delegate.completion(of: task)?.code == .cancelled)

            let other =
                isBackground
                ? rig.session
                : URLSession.forTest(delegate: rig.delegate) { $0.curl.temporaryDirectory = rig.directory.url }
            let again = other.downloadTask(withResumeData: data)
            // The other session begins to count anew.
            guard isBackground else {
                let (file, _) = try await other.download(resumeFrom: data)
                #expect(try Data(contentsOf: file) == GeneratedBody.bytes(seed: 3, length: 200_000))
                #expect(rig.server.requests.last?.header("Range") == "bytes=100000-")
                other.invalidateAndCancel()
                return
            }
            again.resume()
            try await rig.delegate.success(of: again)
            #expect(rig.delegate.body(of: again) == GeneratedBody.bytes(seed: 3, length: 200_000))
            #expect(rig.server.requests.last?.header("Range") == "bytes=100000-")
            #expect(rig.delegate.events(of: again).contains(.resumed(offset: 100_000, expected: 200_000)))
            try await rig.finish()
        }

        @Test(
            "A gateway's error in place of the rest leaves what has come, and the download goes on",
            arguments: [502, 503, 504]
        )
        func gatewayError(status: Int) async throws {
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 8)
            let rig = try BackgroundRig { request in
                let response = LoopbackServer.Response.resource(body, for: request, etag: "a")
                switch request.ordinal {
                case 1:
                    return .pieces([.body(body[0..<100_000]), .reset, .body(body[100_000..<200_000])]).header(
                        "ETag",
                        "\"a\""
                    )
                case 2: return .status(status)
                default: return response
                }
            }
            defer { rig.end() }
            let task = rig.download()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == GeneratedBody.bytes(seed: 8, length: 200_000))
            #expect((task.response as? HTTPURLResponse)?.statusCode == 206)
            let ranges = rig.server.requests.map { $0.header("Range") }
            #expect(ranges.count == 3 && ranges[0] == nil && ranges[1] != nil && ranges[1] == ranges[2])
            try await rig.finish()
        }

        @Test("A checkpoint of a download that runs is no use to another, which starts over: both arrive whole")
        func checkpoint() async throws {
            let gate = Gate()
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 6)
            let rig = try BackgroundRig { request in
                let response = LoopbackServer.Response.resource(body, for: request, etag: "a")
                return request.ordinal == 1 ? response.held(after: 100_000, until: gate) : response
            }
            defer { rig.end() }
            let first = rig.download()
            try await rig.delegate.wait(for: first) {
                if case .wrote(_, let total, _) = $0 { total >= 100_000 } else { false }
            }
            let second = rig.session.downloadTask(withResumeData: try #require(await first.checkpoint()))
            second.resume()
            try await rig.delegate.success(of: second)
            gate.open()
            try await rig.delegate.success(of: first)
            for task in [first, second] {
                #expect(rig.delegate.body(of: task) == GeneratedBody.bytes(seed: 6, length: 200_000))
            }
            #expect(rig.server.requests.map { $0.header("Range") } == [nil, nil])
            try await rig.finish()
        }

        @Test("A download of which no agent has a record gives back what it was made from")
        func unusedResumeData() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate) {
                $0.curl.background.agent = rig.directory.url.appendingPathComponent("none")
            }
            defer { session.invalidateAndCancel() }
            let partial = try #require(try DownloadFile(in: rig.directory.url).keep())
            let data = try ResumeData.encoded(URLRequest(url: rig.url("/")), in: partial)
            let paused = session.downloadTask(withResumeData: data)
            #expect(await paused.cancelByProducingResumeData() == data)
            let failed = session.downloadTask(withResumeData: data)
            failed.resume()
            let cancelled = session.downloadTask(withResumeData: data)
            cancelled.cancel()
            let endings: [(URLSessionTask, URLError.Code, Data?)] = [
                (paused, .cancelled, data), (failed, .backgroundSessionWasDisconnected, data),
                (cancelled, .cancelled, nil),
            ]
            for (task, code, returned) in endings {
                let error = try await delegate.completion(of: task)
                #expect(error?.code == code && error?.downloadTaskResumeData == returned)
            }
        }

        @Test("A download goes on from where it was after its connection is lost")
        func lostConnection() async throws {
            let body = LoopbackServer.Body.generated(length: 200_000, seed: 4)
            let rig = try BackgroundRig { request in
                if request.header("Range") != nil { return .resource(body, for: request, etag: "a") }
                return .pieces([.body(body[0..<100_000]), .reset, .body(body[100_000..<200_000])])
                    .headers(["ETag": "\"a\"", "Accept-Ranges": "bytes"])
            }
            defer { rig.end() }
            let task = rig.download()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == GeneratedBody.bytes(seed: 4, length: 200_000))
            #expect(rig.delegate.completionCount(of: task) == 1)
            #expect(rig.server.requests.contains { $0.header("Range") != nil })
        }

        @Test("A response of unknown length that breaks off three times after the same bytes has ended like that")
        func unannouncedEnd() async throws {
            let rig = try BackgroundRig { _ in .raw([.bytes("HTTP/1.1 200 OK\r\n\r\nhello"), .reset]) }
            defer { rig.end() }
            let task = rig.download()
            #expect(try await rig.delegate.completion(of: task)?.code == .networkConnectionLost)
            #expect(rig.server.requestCount == 3)
        }

        @Test("A download that takes longer than the time-out for resources fails, however often the network does")
        func resourceTimeout() async throws {
            let rig = try BackgroundRig(configure: { $0.timeoutIntervalForResource = 3 }) { _ in
                .fault(.beforeAnyByte, then: .reset)
            }
            defer { rig.end() }
            let task = rig.download()
            let error = try #require(try await rig.delegate.completion(of: task))
            #expect(error.code == .timedOut)
            #expect((error.userInfo[NSUnderlyingErrorKey] as? URLError)?.code == .networkConnectionLost)
        }

        @Test("The time-out for resources ends a wait for the host, and the error says why it couldn't be reached")
        func resourceTimeoutWhileWaiting() async throws {
            let rig = try BackgroundRig(configure: { $0.timeoutIntervalForResource = 3 }) { _ in .never }
            defer { rig.end() }
            let task = rig.session.downloadTask(with: try #require(URL(string: "http://127.0.0.1:9/")))
            task.resume()
            let error = try #require(try await rig.delegate.completion(of: task))
            #expect(error.code == .timedOut)
            let cause = try #require(error.userInfo[NSUnderlyingErrorKey] as? URLError)
            #expect(cause.code == .cannotConnectToHost)
            #expect(error.localizedDescription.hasSuffix("Its last attempt failed: \(cause.localizedDescription)"))
        }

        @Test("The time-out counts from the begin date, and still ends a task that had to wait for it")
        func resourceTimeoutAfterBeginDate() async throws {
            let arrival = Watched<Date?>(nil)
            let rig = try BackgroundRig(configure: { $0.timeoutIntervalForResource = 3 }) { _ in
                arrival.update { $0 = Date() }
                return .never
            }
            defer { rig.end() }
            let task = rig.session.downloadTask(with: rig.url("/"))
            // Longer than the time-out.
            let date = Date(timeIntervalSinceNow: 3.5)
            task.earliestBeginDate = date
            task.resume()
            #expect(try await rig.delegate.completion(of: task)?.code == .timedOut)
            #expect(try #require(arrival.value) >= date)
        }

        @Test("A download that runs out of time amid a later attempt can be resumed")
        func resourceTimeoutWhileResuming() async throws {
            let gate = Gate()
            let body = LoopbackServer.Body.generated(length: 1_000_000, seed: 5)
            let rig = try BackgroundRig(configure: { $0.timeoutIntervalForResource = 3 }) { request in
                if request.header("Range") != nil {
                    return .resource(body, for: request, etag: "a").held(after: 100_000, until: gate)
                }
                return .pieces([.body(body[0..<500_000]), .reset, .body(body[500_000..<1_000_000])])
                    .headers(["ETag": "\"a\"", "Accept-Ranges": "bytes"])
            }
            defer { rig.end() }
            let task = rig.download()
            let error = try #require(try await rig.delegate.completion(of: task))
            #expect(error.code == .timedOut)
            #expect(error.localizedDescription.contains("Its last attempt failed: "))
            gate.open()
            let again = rig.session.downloadTask(withResumeData: try #require(error.downloadTaskResumeData))
            again.resume()
            try await rig.delegate.success(of: again)
            #expect(rig.delegate.body(of: again) == GeneratedBody.bytes(seed: 5, length: 1_000_000))
            #expect(rig.server.requests.last?.header("Range")?.hasPrefix("bytes=") == true)
            try await rig.finish()
        }
    }
}
