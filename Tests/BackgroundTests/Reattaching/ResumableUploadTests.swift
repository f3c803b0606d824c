import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("Uploads that the server lets be resumed")
    struct ResumableUploads {
        private static let content = GeneratedBody.bytes(seed: 104, length: 1_000_000)
        /// The first request is held after this.
        private static let cut: Int64 = 300_000

        private let upload = LoopbackServer.ResumableUpload(cuts: [.init(at: Self.cut, after: Gate())])

        private func start(_ rig: BackgroundRig) throws -> URLSessionUploadTask {
            let request = URLRequest(rig.url("/files"), method: "POST", headers: ["Authorization": "Bearer b"])
            let task = rig.session.uploadTask(with: request, fromFile: try rig.directory.file(Self.content))
            task.resume()
            return task
        }

        private func expectResumed(_ rig: BackgroundRig, _ task: URLSessionTask) {
            let requests = rig.server.requests
            #expect(
                requests.map { "\($0.method) \($0.path)" } == ["POST /files", "HEAD /uploads/1", "PATCH /uploads/1"]
            )
            #expect(requests.last?.header("Upload-Offset") == "\(Self.cut)")
            #expect(requests.allSatisfy { $0.header("Authorization") == "Bearer b" })
            #expect(upload.content == Self.content && upload.isComplete)
            #expect(rig.delegate.body(of: task) == Data("done".utf8))
            #expect(rig.delegate.completionCount(of: task) == 1)
            #expect(task.countOfBytesSent == 1_000_000)
            #expect(sentBytes(rig, task) == 1_000_000)
        }

        /// The sum of what the delegate was told.
        private func sentBytes(_ rig: BackgroundRig, _ task: URLSessionTask) -> Int64 {
            rig.delegate.events(of: task).reduce(Int64(0)) { sum, event in
                guard case .sent(let growth, _, _) = event else { return sum }
                return sum + growth
            }
        }

        @Test("After its agent was killed, an upload goes on from where the server has it")
        func killedAgent() async throws {
            let rig = try BackgroundRig(answering: .atHead) { [upload] in upload.respond(to: $0) }
            defer { rig.end() }
            let task = try start(rig)
            try await rig.waitForRecord(of: task) { $0.contains(#"\/uploads\/1"#) }
            try await rig.server.waitForBodyBytesReceived(Self.cut)
            rig.killAgent()
            try await rig.delegate.success(of: task)
            expectResumed(rig, task)
            try await rig.finish()
        }

        @Test("An upload has no resume data once the server has given its final response, though that isn't complete")
        func answered() async throws {
            let rig = try BackgroundRig(answering: .atHead) { request in
                let offer = LoopbackServer.ResumableUpload.offer(of: "/uploads/1", version: 6)
                return .raw([
                    .bytes(offer),
                    .receive(upTo: .max) { _ in
                        [.bytes("HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nand"), .never]
                    },
                ])
            }
            defer { rig.end() }
            let task = try start(rig)
            try await rig.waitForRecord(of: task) { $0.contains(#"\/uploads\/1"#) }
            try await rig.wait { task.response != nil }
            #expect(await task.cancelByProducingResumeData() == nil)
            let error = try #require(try await rig.delegate.completion(of: task))
            #expect(error.code == .cancelled && error.uploadTaskResumeData == nil)
            try await rig.finish()
        }

        @Test("An upload that timed out goes on from where the server has it, and no file of the first attempt stays")
        func timeout() async throws {
            let gate = Gate()
            let rig = try BackgroundRig(answering: .atHead, configure: { $0.timeoutIntervalForRequest = 3 }) {
                [upload] request in
                let response = upload.respond(to: request)
                return request.method == "HEAD" ? response.after([.waitFor(gate)]) : response
            }
            defer { rig.end() }
            let task = try start(rig)
            _ = try await rig.server.request(number: 2)
            #expect(rig.stateFiles.filter { $0.contains("/files/") } == [])
            gate.open()
            try await rig.delegate.success(of: task)
            expectResumed(rig, task)
            try await rig.finish()
        }

        @Test("An upload that made no offer isn't resumed, whatever the server says")
        func noOffer() async throws {
            for isOwn in [false, true] {
                let rig = try BackgroundRig(
                    answering: .atHead,
                    configure: {
                        $0.timeoutIntervalForRequest = 3
                        if !isOwn { $0.curl.uploadInteropVersion = nil }
                    }
                ) { request in
                    let offer = LoopbackServer.ResumableUpload.offer(of: "/uploads/1", version: 6)
                    return request.ordinal == 1 ? .raw([.bytes(offer), .never]) : .text("done")
                }
                defer { rig.end() }
                var request = URLRequest(url: rig.url("/files"))
                request.httpMethod = "POST"
                if isOwn { request.setValue("?0", forHTTPHeaderField: "Upload-Complete") }
                let task = rig.session.uploadTask(with: request, fromFile: try rig.directory.file(Self.content))
                task.resume()
                try await rig.delegate.success(of: task)
                #expect(rig.server.requests.map { "\($0.method) \($0.path)" } == ["POST /files", "POST /files"])
                try await rig.finish()
            }
        }

        @Test("Of the resources that a server keeps offering for one upload, the first is recorded")
        func manyOffers() async throws {
            let offers = (1...500).map { LoopbackServer.ResumableUpload.offer(of: "/uploads/\($0)", version: 6) }
            let gate = Gate()
            let rig = try BackgroundRig(answering: .atHead) { request in
                request.ordinal == 1
                    ? .raw([.bytes(offers.joined()), .waitFor(gate), .reset])
                    // Since 8.17 libcurl gives the request up at the second offer.
                    : .status(204).header("Upload-Offset", "1000000").header("Upload-Complete", "?1")
                        .after([.waitFor(gate)])
            }
            defer { rig.end() }
            let task = try start(rig)
            try await rig.waitForRecord(of: task) { $0.contains(#"\/uploads\/1""#) }
            gate.open()
            try await rig.delegate.success(of: task)
            #expect(rig.server.requests.map { "\($0.method) \($0.path)" } == ["POST /files", "HEAD /uploads/1"])
            try await rig.finish()
        }

        @Test("An upload that was paused goes on in another task of the background session, and in an ordinary session")
        func paused() async throws {
            for isBackground in [true, false] {
                let upload = LoopbackServer.ResumableUpload(cuts: [.init(at: Self.cut, after: Gate())])
                let rig = try BackgroundRig(answering: .atHead) { upload.respond(to: $0) }
                defer { rig.end() }
                let task = try start(rig)
                try await rig.waitForRecord(of: task) { $0.contains(#"\/uploads\/1"#) }
                try await rig.server.waitForBodyBytesReceived(Self.cut)
                let data = try #require(await task.cancelByProducingResumeData())
                let error = try await rig.delegate.completion(of: task)
                #expect(error?.code == .cancelled && error?.uploadTaskResumeData == data)
                let place = rig.directory.content.filter { $0.hasPrefix("CurlNetworkingUpload_") }
                #expect(place.count == 1)
                if isBackground {
                    let next = rig.session.uploadTask(withResumeData: data)
                    next.resume()
                    try await rig.delegate.success(of: next)
                    #expect(rig.delegate.body(of: next) == Data("done".utf8))
                    // What the first task has sent isn't counted again.
                    #expect(next.countOfBytesSent == 1_000_000)
                    #expect(sentBytes(rig, next) == 1_000_000 - Int64(Self.cut))
                } else {
                    let session = URLSession.forTest { $0.curl.temporaryDirectory = rig.directory.url }
                    defer { session.invalidateAndCancel() }
                    let (body, _) = try await session.upload(resumeFrom: data)
                    #expect(body == Data("done".utf8))
                }
                #expect(upload.content == Self.content && upload.isComplete)
                #expect(
                    rig.server.requests.map { "\($0.method) \($0.path)" }
                        == ["POST /files", "HEAD /uploads/1", "PATCH /uploads/1"]
                )
                try await eventually { !rig.directory.content.contains(place[0]) }
                try await rig.finish()
            }
        }

        @Test("Resume data stays good for as long as no agent has accepted a task that was made from it")
        func refusedByAgent() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let task = try start(rig)
            try await agent.greet()
            let submission = try #require(try await agent.submissions(1).first)
            agent.say([.accepted(submission.key)])
            async let produced = task.cancelByProducingResumeData()
            _ = try await agent.intents(1)
            let resource = UploadResource(url: rig.url("/uploads/1"), version: .v6)
            agent.say([.failure(of: submission, .cancelled, at: resource)])
            let data = try #require(await produced)
            let place = rig.directory.content.filter { $0.hasPrefix(TemporaryName.upload.rawValue) }
            #expect(place.count == 1)

            let refused = rig.session.uploadTask(withResumeData: data)
            refused.resume()
            let second = try await agent.submissions(2)[1]
            agent.say([.failure(of: second, .cannotWriteToFile)])
            let refusal = try await rig.delegate.completion(of: refused)
            #expect(refusal?.code == .cannotWriteToFile && refusal?.uploadTaskResumeData == data)

            let accepted = rig.session.uploadTask(withResumeData: data)
            accepted.resume()
            let third = try await agent.submissions(3)[2]
            #expect(third.upload == resource)
            agent.say([.accepted(third.key)])
            await Task.detached { while rig.directory.content.contains(place[0]) { await Task.yield() } }.value
        }

        @Test(
            "Resume data of anything but a file of the program's, handlers and async calls are refused with an error that says so"
        )
        func refused() async throws {
            let rig = try BackgroundRig(answering: .atHead) { [upload] in upload.respond(to: $0) }
            defer { rig.end() }
            let delegate = TimelineDelegate()
            let ordinary = URLSession.forTest(delegate: delegate) { $0.curl.temporaryDirectory = rig.directory.url }
            defer { ordinary.invalidateAndCancel() }
            let request = URLRequest(rig.url("/files"), method: "POST")
            let task = ordinary.uploadTask(with: request, from: Self.content)
            task.resume()
            try await delegate.record.wait { !$0.informational.isEmpty }
            try await rig.server.waitForBodyBytesReceived(Self.cut)
            let data = try #require(await task.cancelByProducingResumeData())
            let resumed = rig.session.uploadTask(withResumeData: data)
            resumed.resume()
            #expect(
                try await rig.delegate.completion(of: resumed)?.localizedDescription
                    == "Background sessions upload from files only."
            )
            let error = await #expect(throws: URLError.self) { try await rig.session.upload(resumeFrom: data) }
            #expect(error?.localizedDescription.contains("Async calls") == true)
            let result = await withCheckedContinuation { continuation in
                rig.session.uploadTask(withResumeData: data) {
                    continuation.resume(returning: HandlerResult($0, $1, $2))
                }.resume()
            }
            #expect(result.error?.localizedDescription.contains("Completion handlers") == true)
            #expect(rig.server.requestCount == 1 && rig.agentPid == nil)
            // It is still good where it can be used.
            _ = try await ordinary.upload(resumeFrom: data)
            #expect(upload.content == Self.content)
        }

        @Test("An upload is resumed only at the origin of its own request, to which the credentials belong")
        func origin() throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let file = try UploadFile(try rig.directory.file(Data("a".utf8)))
            let intent = TaskIntent(isSuspended: false, cancellation: nil, settings: TaskSettings())
            func mayResume(
                _ kind: TaskSubmission.Kind,
                of url: String = "https://host/files",
                at location: String
            ) throws -> Bool {
                let url = try #require(URL(string: url))
                let submission = TaskSubmission(
                    key: UUID(),
                    identifier: 1,
                    kind: kind,
                    request: try #require(RequestDescription(URLRequest(url: url))),
                    resumeData: nil,
                    upload: nil,
                    cookies: [],
                    intent: intent
                )
                return submission.mayResume(at: .init(url: try #require(URL(string: location)), version: .v6))
            }
            #expect(try mayResume(.upload(file), at: "https://host/uploads/1"))
            #expect(try !mayResume(.download, at: "https://host/uploads/1"))
            for other in [
                "https://other/uploads/1", "https://host:444/uploads/1", "http://host/uploads/1", "file:///x",
            ] {
                #expect(try !mayResume(.upload(file), at: other), "\(other)")
            }
            // Where its host requires https, that is where the request went.
            #expect(try mayResume(.upload(file), of: "http://host/files", at: "https://host/uploads/1"))
            #expect(try mayResume(.upload(file), of: "http://host:8080/files", at: "https://host:8080/uploads/1"))
            #expect(try !mayResume(.upload(file), of: "http://host:8080/files", at: "https://host/uploads/1"))
            #expect(try !mayResume(.upload(file), of: "http://host/files", at: "https://other/uploads/1"))
        }
    }
}
