import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import CurlTransport
import TestSupport
import Testing

extension LoopbackServer.Request {
    /// The fields that resuming is about, in alphabetical order.
    var uploadFields: [String] {
        headers.filter { field in
            ["upload-", "content-", "transfer-"].contains { field.name.lowercased().hasPrefix($0) }
        }.map { "\($0.name): \($0.value)" }.sorted()
    }
}

@Suite("Uploads whose connection is lost", .timeLimit(.minutes(1)))
struct ResumableUploadTests {
    @Test(
        "A lost connection is made up for, in every version of the protocol, from data, files and streams",
        arguments: 3...8,
        UploadRig.Kind.allCases
    )
    func resumes(version: Int, kind: UploadRig.Kind) async throws {
        let rig = try UploadRig(version: version, cuts: [300_000])
        defer { rig.stop() }
        let task = try rig.task(kind, ["Content-Type": "image/png", "X-Key": "k"])
        task.resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.delegate.record.value.body == Data("done".utf8))
        #expect(rig.upload.content == UploadRig.content && rig.upload.isComplete)
        #expect(rig.requests == ["POST /files", "HEAD /uploads/1", "PATCH /uploads/1"])
        let requests = rig.server.requests
        let interop = "Upload-Draft-Interop-Version: \(version)"
        let complete = version == 3 ? "Upload-Incomplete: ?0" : "Upload-Complete: ?1"
        let knowsLength = kind != .stream
        let length = version >= 7 && knowsLength ? ["Upload-Length: 1000000"] : []
        let begin =
            [complete, interop] + length + ["Content-Type: image/png"]
            + [knowsLength ? "Content-Length: 1000000" : "Transfer-Encoding: chunked"]
        #expect(requests[0].uploadFields == begin.sorted())
        #expect(requests[1].uploadFields == [interop])
        let rest =
            [complete, interop, "Upload-Offset: 300000"] + length
            + [knowsLength ? "Content-Length: 700000" : "Transfer-Encoding: chunked"]
            + (version >= 6 ? ["Content-Type: application/partial-upload"] : [])
        #expect(requests[2].uploadFields == rest.sorted())
        #expect(requests.map { $0.header("X-Key") } == ["k", "k", "k"])
        #expect(rig.delegate.record.value.streams == (kind == .stream ? [0, 300_000] : []))
        #expect(rig.delegate.record.value.informational == [104])
        #expect(task.countOfBytesSent == 1_000_000)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(task.originalRequest?.url?.path == "/files" && task.originalRequest?.httpMethod == "POST")
    }

    @Test("A stream of which nothing is left ends the upload, if the server has all of it and not heard of its end")
    func nothingLeft() async throws {
        let rig = try UploadRig(cuts: [Int64(UploadRig.length)])
        defer { rig.stop() }
        try rig.task(.stream).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.upload.content == UploadRig.content && rig.upload.isComplete)
        #expect(rig.delegate.record.value.streams == [0, 1_000_000])
    }

    @Test("Progress goes on where the upload does: the counters never go back, and nothing counts twice")
    func progress() async throws {
        let rig = try UploadRig(heldAt: 300_000)
        defer { rig.stop() }
        let data = try #require(try await rig.pause(.data, at: 300_000))
        let delegate = UploadDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.curl.temporaryDirectory = rig.directory.url }
        defer { session.invalidateAndCancel() }
        let task = session.uploadTask(withResumeData: data)
        #expect(task.countOfBytesExpectedToSend == 1_000_000)
        task.resume()
        #expect(try await delegate.completion() == nil)
        let sent = delegate.record.value.sent
        #expect(sent.first.map { $0[1] - $0[0] } == 300_000)
        #expect(sent.reduce(0) { $0 + $1[0] } == 700_000)
        #expect(sent.allSatisfy { $0[1] > 300_000 && $0[1] <= 1_000_000 && $0[2] == 1_000_000 })
        #expect(sent.last?[1] == 1_000_000)
        #expect(task.countOfBytesSent == 1_000_000 && task.progress.fractionCompleted == 1)
    }

    @Test("After a lost connection the counters never go back, and bytes that are sent again count once")
    func progressWithinTask() async throws {
        let rig = try UploadRig(cuts: [300_000])
        defer { rig.stop() }
        let task = try rig.task(.data)
        task.resume()
        #expect(try await rig.delegate.completion() == nil)
        let sent = rig.delegate.record.value.sent
        let totals = sent.map { $0[1] }
        #expect(zip(totals, totals.dropFirst()).allSatisfy { $0 < $1 } && totals.last == 1_000_000)
        #expect(sent.allSatisfy { $0[0] > 0 && $0[2] == 1_000_000 })
        #expect(sent.reduce(0) { $0 + $1[0] } == 1_000_000)
        #expect(task.countOfBytesSent == 1_000_000 && task.progress.fractionCompleted == 1)
    }

    // libcurl would send the same PATCH again, at an offset that the server has passed.
    @Test(
        "A rest whose answer is lost isn't sent again before the server was asked for its offset",
        arguments: [700_000, 1_000_000]
    )
    func lostRest(cut: Int64) async throws {
        let rig = try UploadRig(cuts: [300_000, cut])
        defer { rig.stop() }
        try rig.task(.data).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.upload.content == UploadRig.content && rig.upload.isComplete)
        #expect(
            rig.requests == [
                "POST /files", "HEAD /uploads/1", "PATCH /uploads/1", "HEAD /uploads/1", "PATCH /uploads/1",
            ]
        )
    }

    @Test("An upload succeeds even if its response has another location than the one where it could be resumed")
    func otherLocation() async throws {
        let offer = LoopbackServer.ResumableUpload.offer(of: "/uploads/1", version: 6)
        let rig = try UploadRig { request in
            guard request.method == "POST" else {
                return .status(204).header("Upload-Offset", "1000000").header("Upload-Complete", "?1")
            }
            let created = "HTTP/1.1 201 Created\r\nLocation: /items/1\r\nContent-Length: 0\r\n\r\n"
            return .raw([.bytes(offer), .receive(upTo: nil) { _ in [.bytes(created)] }])
        }
        defer { rig.stop() }
        let task = try rig.task(.data)
        task.resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(task.countOfBytesSent == 1_000_000)
        // Newer versions refuse the response.
        let isRefused = CurlLibrary.version >= CurlVersion(8, 17)
        #expect((task.response as? HTTPURLResponse)?.statusCode == (isRefused ? 204 : 201))
        #expect(rig.requests == (isRefused ? ["POST /files", "HEAD /uploads/1"] : ["POST /files"]))
    }

    @Test("A resumed upload of which the server turns out to have everything counts as sent")
    func completeAlready() async throws {
        let rig = try UploadRig(heldAt: 300_000) { request in
            guard request.method == "HEAD" else { return nil }
            return .status(204).header("Upload-Offset", "1000000").header("Upload-Complete", "?1")
        }
        defer { rig.stop() }
        let data = try #require(try await rig.pause(.data, at: 300_000))
        let delegate = UploadDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.curl.temporaryDirectory = rig.directory.url }
        defer { session.invalidateAndCancel() }
        let task = session.uploadTask(withResumeData: data)
        task.resume()
        #expect(try await delegate.completion() == nil)
        #expect(task.countOfBytesSent == 1_000_000 && task.countOfBytesExpectedToSend == 1_000_000)
        #expect(delegate.record.value.sent.isEmpty)
    }

    @Test("A server that doesn't know the protocol sees an ordinary upload, with two fields more")
    func ordinary() async throws {
        let rig = try Rig { _ in .text("ok") }
        defer { rig.stop() }
        let request = URLRequest(rig.url("/files"), method: "PUT", headers: ["Content-Type": "text/plain"])
        _ = try await rig.session.upload(for: request, from: Data("content".utf8))
        var plain = request
        plain.httpBody = Data("content".utf8)
        #expect(await rig.session.load(plain).text == "ok")
        let (upload, data) = (rig.server.requests[0], rig.server.requests[1])
        let fields: Set = ["Upload-Draft-Interop-Version: 6", "Upload-Complete: ?1"]
        let lines = String(decoding: upload.rawHead, as: UTF8.self).components(separatedBy: "\r\n")
        #expect(fields.isSubset(of: lines))
        #expect(
            lines.filter { !fields.contains($0) }.joined(separator: "\r\n")
                == String(decoding: data.rawHead, as: UTF8.self)
        )
        #expect(upload.body == data.body)
    }

    @Test("No resumption is offered for an empty body, DELETE or a data task, nor if program or session rules it out")
    func notOffered() async throws {
        let rig = try Rig { _ in .text("ok") }
        defer { rig.stop() }
        let url = rig.url("/")
        _ = try await rig.session.upload(for: URLRequest(url, method: "PUT"), from: Data())
        _ = try await rig.session.upload(for: URLRequest(url, method: "DELETE"), from: Data("a".utf8))
        let own = URLRequest(url, method: "POST", headers: ["Tus-Resumable": "1.0.0", "Upload-Length": "1"])
        _ = try await rig.session.upload(for: own, from: Data("a".utf8))
        _ = await rig.session.load(URLRequest(url, method: "POST", body: Data("a".utf8)))
        let silent = URLSession.forTest { $0.curl.uploadInteropVersion = nil }
        defer { silent.invalidateAndCancel() }
        _ = try await silent.upload(for: URLRequest(url, method: "POST"), from: Data("a".utf8))
        let adding = URLSession.forTest { $0.httpAdditionalHeaders = ["Tus-Resumable": "1.0.0"] }
        defer { adding.invalidateAndCancel() }
        _ = try await adding.upload(for: URLRequest(url, method: "POST"), from: Data("a".utf8))
        #expect(rig.server.requestCount == 6)
        for request in rig.server.requests {
            #expect(request.header("Upload-Draft-Interop-Version") == nil && request.header("Upload-Complete") == nil)
        }
    }

    @Test("Without an offer of the server's, a lost connection fails the upload, and leaves nothing to resume")
    func noOffer() async throws {
        let delegate = UploadDelegate()
        let rig = try Rig(answering: .atHead, delegate: delegate) { _ in .raw([.receive(upTo: 1000) { _ in [.reset] }])
        }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), from: UploadRig.content)
        task.resume()
        let error = try #require(try await delegate.completion())
        #expect(error.code == .networkConnectionLost && error.uploadTaskResumeData == nil)
        #expect(rig.server.requestCount == 1)
    }

    @Test("An upload whose answer was lost ends with the answer to the request for its offset")
    func answerLost() async throws {
        let rig = try UploadRig(cuts: [1_000_000]) { request in
            guard request.method == "HEAD" else { return nil }
            return .status(204).header("Upload-Offset", "1000000").header("Upload-Complete", "?1")
        }
        defer { rig.stop() }
        let task = try rig.task(.data)
        task.resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 204)
        #expect(rig.requests == ["POST /files", "HEAD /uploads/1"])
    }

    @Test(
        "A server that takes no more than so much at once gets the rest in pieces",
        arguments: UploadRig.Kind.allCases
    )
    func pieces(kind: UploadRig.Kind) async throws {
        let rig = try UploadRig(cuts: [300_000], limit: 250_000)
        defer { rig.stop() }
        try rig.task(kind, kind == .stream ? ["Content-Length": "1000000"] : [:]).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.upload.content == UploadRig.content && rig.upload.isComplete)
        let pieces = rig.server.requests.filter { $0.method == "PATCH" }
        #expect(pieces.map { $0.header("Upload-Offset") } == ["300000", "550000", "800000"])
        #expect(pieces.map { $0.header("Upload-Complete") } == ["?0", "?0", "?1"])
        #expect(pieces.map { $0.header("Content-Length") } == ["250000", "250000", "200000"])
        #expect(rig.delegate.record.value.streams == (kind == .stream ? [0, 300_000, 550_000, 800_000] : []))
        #expect(rig.delegate.record.value.sent.reduce(0) { $0 + $1[0] } == 1_000_000)
        #expect(rig.delegate.record.value.body == Data("done".utf8))
    }

    @Test("A rest that is too large for the server is sent in smaller pieces")
    func tooLarge() async throws {
        let rig = try UploadRig(cuts: [300_000]) { request in
            guard request.method == "PATCH", Int(request.header("Content-Length") ?? "") ?? 0 > 200_000 else {
                return nil
            }
            return .status(413)
        }
        defer { rig.stop() }
        try rig.task(.data).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.upload.content == UploadRig.content && rig.upload.isComplete)
    }

    @Test(
        "A server that refuses an upload as too large, and knows nothing of it then, has the last word",
        arguments: [403, 404]
    )
    func refused(status: Int) async throws {
        let delegate = UploadDelegate()
        let rig = try Rig(answering: .atHead, delegate: delegate) { request in
            guard request.method == "POST" else { return .status(status) }
            let refusal = LoopbackServer.Response.text("too much", status: 413)
            guard request.header("Upload-Complete") != nil else { return refusal }
            return .raw([
                .bytes("HTTP/1.1 104 Resume\r\nUpload-Draft-Interop-Version: 6\r\nLocation: /uploads/1\r\n\r\n"),
                .receive(upTo: .max) { _ in
                    [.bytes("HTTP/1.1 413 No\r\nUpload-Limit: max-append-size=70000\r\nContent-Length: 0\r\n\r\n")]
                },
            ])
        }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), from: UploadRig.content)
        task.resume()
        #expect(try await delegate.completion() == nil)
        #expect((task.response as? HTTPURLResponse)?.statusCode == 413)
        #expect(delegate.record.value.body == Data("too much".utf8))
        #expect(rig.server.requests.map(\.method) == ["POST", "HEAD", "POST"])
    }

    @Test("A resumed upload's own URL isn't answered from the cache afterwards")
    func cache() async throws {
        let rig = try UploadRig(cuts: [300_000]) { request in
            request.method == "GET" ? .text("\(request.ordinal)").header("Cache-Control", "max-age=1000") : nil
        }
        defer { rig.stop() }
        let session = URLSession.forTest(delegate: rig.delegate) {
            $0.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        }
        defer { session.invalidateAndCancel() }
        let url = rig.server.url("/files")
        #expect(await session.load(url).text == "1")
        #expect(await session.load(url).text == "1")
        session.uploadTask(with: URLRequest(url, method: "PUT"), from: UploadRig.content).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.requests == ["GET /files", "PUT /files", "HEAD /uploads/1", "PATCH /uploads/1"])
        #expect(await session.load(url).text == "5")
    }

    @Test("A gateway's error in place of the answer is made up for", arguments: [502, 503, 504])
    func gatewayError(status: Int) async throws {
        let rig = try UploadRig(cuts: [300_000]) { request in
            request.method == "PATCH" && request.ordinal == 3 ? .status(status) : nil
        }
        defer { rig.stop() }
        try rig.task(.file).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(
            rig.requests == [
                "POST /files", "HEAD /uploads/1", "PATCH /uploads/1", "HEAD /uploads/1", "PATCH /uploads/1",
            ]
        )
        #expect(rig.upload.content == UploadRig.content && rig.delegate.record.value.body == Data("done".utf8))
    }

    @Test("After a server's error to a resumed upload, its resume data is still good")
    func serverError() async throws {
        let rig = try UploadRig(heldAt: 300_000) { request in
            request.method == "PATCH" && request.ordinal == 3 ? .status(500) : nil
        }
        defer { rig.stop() }
        let data = try #require(try await rig.pause(.data, at: 300_000))
        let session = URLSession.forTest { $0.curl.temporaryDirectory = rig.directory.url }
        defer { session.invalidateAndCancel() }
        let (_, refusal) = try await session.upload(resumeFrom: data)
        #expect((refusal as? HTTPURLResponse)?.statusCode == 500)
        let (_, response) = try await session.upload(resumeFrom: data)
        #expect((response as? HTTPURLResponse)?.statusCode == 200 && rig.upload.content == UploadRig.content)
    }

    @Test("A server that misses only the end of an upload gets an empty rest")
    func emptyRest() async throws {
        for kind in UploadRig.Kind.allCases {
            let rig = try UploadRig(version: kind == .stream ? 3 : 8, cuts: [1_000_000])
            defer { rig.stop() }
            try rig.task(kind).resume()
            #expect(try await rig.delegate.completion() == nil)
            #expect(rig.upload.isComplete && rig.upload.content == UploadRig.content)
            #expect(rig.requests == ["POST /files", "HEAD /uploads/1", "PATCH /uploads/1"])
            #expect(rig.server.requests[2].header("Upload-Offset") == "1000000")
        }
    }

    @Test("A program's file that has changed meanwhile isn't mixed with what the server has")
    func fileChanged() async throws {
        let changed = Gate()
        let rig = try UploadRig(cuts: [300_000]) { request in
            guard request.method == "HEAD" else { return nil }
            return .status(204).header("Upload-Offset", "300000").after([.waitFor(changed)])
        }
        defer { rig.stop() }
        try rig.task(.file).resume()
        _ = try await rig.server.requestHead(number: 2)
        _ = try rig.directory.file(Data(count: UploadRig.length))
        changed.open()
        let error = try #require(try await rig.delegate.completion())
        #expect(error.code == .cannotOpenFile && error.uploadTaskResumeData == nil)
        #expect(rig.requests == ["POST /files", "HEAD /uploads/1"])
    }

    @Test("A delegate without the rest of the stream fails the upload clearly, and may be asked for it again later")
    func noStream() async throws {
        let source = StreamSource { _ in InputStream(data: UploadRig.content) }
        let upload = LoopbackServer.ResumableUpload(cuts: [.init(at: 300_000, after: source.informed)])
        let rig = try Rig(answering: .atHead, delegate: source) { upload.respond(to: $0) }
        defer { rig.stop() }
        rig.session.uploadTask(withStreamedRequest: URLRequest(rig.url("/files"), method: "POST")).resume()
        let error = try #require(try await source.completion())
        #expect(error.code == .requestBodyStreamExhausted)
        #expect(
            error.localizedDescription
                == "The upload can't be resumed: there is no stream with its body from byte 300000 on."
        )
        let data = try #require(error.uploadTaskResumeData)
        let delegate = UploadDelegate(UploadRig.content)
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        session.uploadTask(withResumeData: data).resume()
        #expect(try await delegate.completion() == nil)
        #expect(upload.content == UploadRig.content && delegate.record.value.streams == [300_000])
    }
}
