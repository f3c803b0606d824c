import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Uploads that are paused and resumed", .timeLimit(.minutes(1)))
struct UploadResumeDataTests {
    /// Resumes in a session of its own; returns how that has ended.
    private func resume(_ data: Data, _ rig: UploadRig) async throws -> (error: URLError?, UploadDelegate) {
        let delegate = UploadDelegate(UploadRig.content)
        let session = URLSession.forTest(delegate: delegate) { $0.curl.temporaryDirectory = rig.directory.url }
        defer { session.invalidateAndCancel() }
        session.uploadTask(withResumeData: data).resume()
        return (try await delegate.completion(), delegate)
    }

    @Test("An upload goes on in another session, from data, files and streams", arguments: UploadRig.Kind.allCases)
    func otherSession(kind: UploadRig.Kind) async throws {
        let rig = try UploadRig(heldAt: 300_000)
        defer { rig.stop() }
        let headers = [
            "Authorization": "Bearer secret", "Cookie": "a=secret", "X-Key": "k", "Content-Type": "image/png",
        ]
        let data = try #require(try await rig.pause(kind, at: 300_000, headers))
        #expect(try await rig.delegate.completion()?.uploadTaskResumeData == data)
        #expect(!String(decoding: data, as: UTF8.self).contains("secret"))
        let (error, delegate) = try await resume(data, rig)
        #expect(error == nil && delegate.record.value.body == Data("done".utf8))
        #expect(rig.upload.content == UploadRig.content && rig.upload.isComplete)
        #expect(rig.requests == ["POST /files", "HEAD /uploads/1", "PATCH /uploads/1"])
        #expect(rig.server.requests[2].header("X-Key") == "k")
        #expect(
            rig.server.requests[1...].allSatisfy { $0.header("Authorization") == nil && $0.header("Cookie") == nil }
        )
        #expect(delegate.record.value.streams == (kind == .stream ? [300_000] : []))
    }

    @Test("An upload that the server has all of is completed in another session", arguments: UploadRig.Kind.allCases)
    func nothingLeft(kind: UploadRig.Kind) async throws {
        let rig = try UploadRig(heldAt: 1_000_000)
        defer { rig.stop() }
        let data = try #require(try await rig.pause(kind, at: 1_000_000))
        let (error, delegate) = try await resume(data, rig)
        #expect(error == nil && delegate.record.value.body == Data("done".utf8))
        #expect(rig.upload.content == UploadRig.content && rig.upload.isComplete)
        #expect(rig.requests == ["POST /files", "HEAD /uploads/1", "PATCH /uploads/1"])
    }

    @Test("A paused upload can be resumed with a handler, and with an async call")
    func otherForms() async throws {
        for isAsync in [true, false] {
            let rig = try UploadRig(heldAt: 300_000)
            defer { rig.stop() }
            let data = try #require(try await rig.pause(.data, at: 300_000))
            let session = URLSession.forTest { $0.curl.temporaryDirectory = rig.directory.url }
            defer { session.invalidateAndCancel() }
            if isAsync {
                let (body, response) = try await session.upload(resumeFrom: data)
                #expect(body == Data("done".utf8) && (response as? HTTPURLResponse)?.statusCode == 200)
            } else {
                let result = await withCheckedContinuation { continuation in
                    session.uploadTask(withResumeData: data) {
                        continuation.resume(returning: HandlerResult($0, $1, $2))
                    }
                    .resume()
                }
                #expect(result.text == "done" && result.error == nil)
            }
            #expect(rig.upload.content == UploadRig.content)
        }
    }

    @Test("Large data waits in a private file, which goes with the upload; a file's place does as well")
    func keptFile() async throws {
        for kind in [UploadRig.Kind.data, .file] {
            let rig = try UploadRig(heldAt: 300_000)
            defer { rig.stop() }
            let data = try #require(try await rig.pause(kind, at: 300_000))
            let all = rig.directory.content.filter { $0 != "file" }
            #expect(all.count == (kind == .data ? 2 : 1))
            let kept = all.filter { $0.hasPrefix(kind == .data ? "CurlNetworkingBody_" : "CurlNetworkingUpload_") }
            try #require(kept.count == 1)
            let attributes = try FileManager.default.attributesOfItem(
                atPath: rig.directory.url.appendingPathComponent(kept[0]).path
            )
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(attributes[.size] as? Int == UploadRig.length || kind == .file)
            #expect(
                !String(decoding: data, as: UTF8.self).contains(rig.directory.url.appendingPathComponent("file").path)
            )
            #expect(try await resume(data, rig).error == nil)
            try await eventually { !rig.directory.content.contains(where: all.contains) }
        }
    }

    @Test(
        "After a response that isn't the last word, the same resume data is still good",
        arguments: [
            "HEAD 400", "HEAD 401", "HEAD 403", "PATCH 401", "PATCH 403", "PATCH 407", "PATCH 408", "PATCH 425",
            "PATCH 429",
        ]
    )
    func refused(refusal: String) async throws {
        let words = refusal.split(separator: " ")
        let status = try #require(Int(words[1]))
        let isRefused = Watched(false)
        let rig = try UploadRig(heldAt: 300_000) { request in
            guard request.method == words[0], !isRefused.value else { return nil }
            isRefused.update { $0 = true }
            return .status(status).after([.waitForBody])
        }
        defer { rig.stop() }
        let data = try #require(try await rig.pause(.data, at: 300_000))
        let kept = rig.directory.content
        #expect(kept.count == 2)
        #expect(try await resume(data, rig).error == nil && isRefused.value)
        #expect(try await resume(data, rig).error == nil)
        #expect(rig.upload.content == UploadRig.content && rig.upload.isComplete)
        try await eventually { !rig.directory.content.contains(where: kept.contains) }
    }

    @Test("A resumed upload that is paused again gives new resume data", arguments: UploadRig.Kind.allCases)
    func pausedAgain(kind: UploadRig.Kind) async throws {
        let rig = try UploadRig(heldAt: 300_000, heldAgainAt: 700_000)
        defer { rig.stop() }
        let first = try #require(try await rig.pause(kind, at: 300_000))
        let delegate = UploadDelegate(UploadRig.content)
        let session = URLSession.forTest(delegate: delegate) { $0.curl.temporaryDirectory = rig.directory.url }
        defer { session.invalidateAndCancel() }
        let task = session.uploadTask(withResumeData: first)
        task.resume()
        _ = try await rig.server.requestHead(number: 3)
        let second = try #require(await task.cancelByProducingResumeData())
        #expect(first != second)
        #expect(String(decoding: second, as: UTF8.self).contains("<integer>300000</integer>"))
        let (error, last) = try await resume(second, rig)
        #expect(error == nil && rig.upload.content == UploadRig.content)
        #expect(
            rig.requests == [
                "POST /files", "HEAD /uploads/1", "PATCH /uploads/1", "HEAD /uploads/1", "PATCH /uploads/1",
            ]
        )
        let offset = try #require(Int64(rig.server.requests[4].header("Upload-Offset") ?? ""))
        #expect(offset >= 300_000 && last.record.value.streams == (kind == .stream ? [offset] : []))
    }

    /// Two tasks go on with one upload. The server answers the first one's question only after the second has ended, and its files have
    /// gone.
    private func overtaken(
        _ kind: UploadRig.Kind,
        _ body: (URLSessionUploadTask, UploadDelegate, _ answers: Gate, UploadRig) async throws -> Void
    ) async throws {
        let answers = Gate()
        let offset: LoopbackServer.Response = .status(204).headers(["Upload-Offset": "300000", "Upload-Complete": "?0"])
            .after([.waitFor(answers)])
        let rig = try UploadRig(heldAt: 300_000) { $0.ordinal == 2 ? offset : nil }
        defer { rig.stop() }
        let data = try #require(try await rig.pause(kind, at: 300_000))
        let kept = rig.directory.content.filter { $0 != "file" }
        let delegate = UploadDelegate(UploadRig.content)
        let session = URLSession.forTest(delegate: delegate) { $0.curl.temporaryDirectory = rig.directory.url }
        defer { session.invalidateAndCancel() }
        let task = session.uploadTask(withResumeData: data)
        task.resume()
        _ = try await rig.server.requestHead(number: 2)
        #expect(try await resume(data, rig).error == nil && rig.upload.content == UploadRig.content)
        try await eventually { !rig.directory.content.contains(where: kept.contains) }
        try await body(task, delegate, answers, rig)
    }

    @Test("An upload whose body another task has ended with fails, and leaves nothing to resume with")
    func bodyGone() async throws {
        try await overtaken(.data) { _, delegate, answers, rig in
            answers.open()
            let error = try await delegate.completion()
            #expect(error?.code == .cannotOpenFile && error?.uploadTaskResumeData == nil)
            #expect(error?.failingURL == rig.server.url("/uploads/1"))
            #expect(rig.requests.filter { $0.hasPrefix("PATCH") }.count == 1)
        }
    }

    @Test(
        "An upload whose body another task has ended with can't be paused, unless its body is a stream",
        arguments: UploadRig.Kind.allCases
    )
    func pausedTooLate(kind: UploadRig.Kind) async throws {
        try await overtaken(kind) { task, _, _, _ in
            #expect((await task.cancelByProducingResumeData() != nil) == (kind == .stream))
        }
    }

    @Test("A task that was never begun gives its resume data back")
    func again() async throws {
        let rig = try UploadRig(heldAt: 300_000)
        defer { rig.stop() }
        let data = try #require(try await rig.pause(.data, at: 300_000))
        let session = URLSession.forTest { $0.curl.temporaryDirectory = rig.directory.url }
        defer { session.invalidateAndCancel() }
        let idle = session.uploadTask(withResumeData: data)
        let untouched = try #require(await idle.cancelByProducingResumeData())
        #expect(rig.server.requestCount == 1)
        #expect(try await resume(untouched, rig).error == nil)
        #expect(rig.upload.content == UploadRig.content)
    }

    @Test("Before the server's offer, and after an ordinary cancellation, there is nothing to resume")
    func none() async throws {
        let silent = Gate()
        let rig = try Rig(answering: .atHead) { _ in .raw([.open(silent), .never]) }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), from: UploadRig.content)
        task.resume()
        try await silent.wait()
        #expect(await task.cancelByProducingResumeData() == nil)
        let uploads = try UploadRig(heldAt: 300_000)
        defer { uploads.stop() }
        let other = try uploads.task(.data)
        other.resume()
        try await uploads.delegate.offered.wait()
        other.cancel()
        let error = try #require(try await uploads.delegate.completion())
        #expect(error.code == .cancelled && error.uploadTaskResumeData == nil)
    }

    @Test("A file that has changed is uploaded from the beginning; one that has gone fails the task")
    func fileChanged() async throws {
        for isGone in [true, false] {
            let rig = try UploadRig(heldAt: 300_000)
            defer { rig.stop() }
            let data = try #require(try await rig.pause(.file, at: 300_000))
            let file = rig.directory.url.appendingPathComponent("file")
            if isGone { try FileManager.default.removeItem(at: file) } else { try Data("other".utf8).write(to: file) }
            let error = try await resume(data, rig).error
            #expect(error?.code == (isGone ? .fileDoesNotExist : nil))
            #expect(rig.requests == (isGone ? ["POST /files"] : ["POST /files", "POST /files"]))
            if !isGone { #expect(rig.upload.content == Data("other".utf8)) }
        }
    }

    @Test("A changed file that was uploaded anew, and interrupted again, goes on from there")
    func changedTwice() async throws {
        let delegate = UploadDelegate()
        let rig = try UploadRig(heldAt: 300_000, cuts: [200_000], after: delegate.offered) { request in
            request.ordinal == 3 ? .status(503).after([.waitFor(Gate())]) : nil
        }
        defer { rig.stop() }
        let data = try #require(try await rig.pause(.file, at: 300_000))
        let content = GeneratedBody.bytes(seed: 105, length: 900_000)
        try content.write(to: rig.directory.url.appendingPathComponent("file"))
        let session = URLSession.forTest(delegate: delegate) { $0.curl.temporaryDirectory = rig.directory.url }
        defer { session.invalidateAndCancel() }
        let task = session.uploadTask(withResumeData: data)
        task.resume()
        _ = try await rig.server.requestHead(number: 3)
        let again = try #require(await task.cancelByProducingResumeData())
        #expect(rig.directory.content.filter { $0.hasPrefix("CurlNetworkingUpload_") }.count == 1)
        #expect(try await resume(again, rig).error == nil)
        #expect(rig.upload.content == content)
        #expect(rig.requests.filter { $0 == "POST /files" }.count == 2)
    }

    @Test("A server that has forgotten the upload gets it from the beginning", arguments: [404, 410])
    func forgotten(status: Int) async throws {
        let rig = try UploadRig(heldAt: 300_000) { $0.method == "HEAD" ? .status(status) : nil }
        defer { rig.stop() }
        let data = try #require(try await rig.pause(.data, at: 300_000))
        #expect(try await resume(data, rig).error == nil)
        #expect(rig.requests == ["POST /files", "HEAD /uploads/1", "POST /files"])
        #expect(rig.upload.content == UploadRig.content)
    }

    @Test("Forged and damaged resume data fails the task, and reaches no server")
    func forged() async throws {
        let rig = try UploadRig(heldAt: 300_000)
        defer { rig.stop() }
        let data = try #require(try await rig.pause(.data, at: 300_000))
        let text = String(decoding: data, as: UTF8.self)
        let kept = try #require(rig.directory.content.first { $0.hasPrefix("CurlNetworkingUpload_") })
        var forgeries = [Data(), Data("nonsense".utf8), data.dropLast(100), Data(repeating: 0x3c, count: 1 << 20)]
        for (old, new) in [
            ("http://127.0.0.1", "file:///etc"), ("http://127.0.0.1", "http+unix://%2Frun%2Fdocker.sock"),
            ("<string>POST", "<string>GET"), ("<string>POST", "<string>PO ST"), (">1000000<", ">-1<"),
            (">1000000<", ">999<"), (kept, "../../etc/passwd"),
            (kept, String(kept.dropLast(5)) + (kept.hasSuffix("0.tmp") ? "1.tmp" : "0.tmp")),
            ("<key>version</key>\n\t<integer>2<", "<key>version</key>\n\t<integer>1<"),
        ] {
            let forgery = text.replacingOccurrences(of: old, with: new)
            #expect(forgery != text, "\(old)")
            forgeries.append(Data(forgery.utf8))
        }
        for forgery in forgeries {
            let error = try await resume(forgery, rig).error
            #expect(error?.code == .unsupportedURL || error?.code == .cannotOpenFile)
        }
        #expect(rig.server.requestCount == 1)
    }
}
