import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Servers that lie about uploads", .timeLimit(.minutes(1)))
struct HostileUploadTests {
    @Test(
        "A server whose offset makes no sense fails the upload, and gets nothing of it",
        arguments: [
            ["Upload-Offset": "1000001"], ["Upload-Offset": "-5"], ["Upload-Offset": "garbage"], [:],
            ["Upload-Offset": "300000", "Upload-Complete": "?1"], ["Upload-Offset": "300000", "Upload-Length": "5"],
        ] as [[String: String]]
    )
    func nonsense(fields: [String: String]) async throws {
        let rig = try UploadRig(cuts: [300_000]) { request in
            guard request.method == "HEAD" else { return nil }
            return fields.reduce(.status(204)) { $0.header($1.key, $1.value) }
        }
        defer { rig.stop() }
        try rig.task(.data).resume()
        let error = try #require(try await rig.delegate.completion())
        #expect(error.code == .badServerResponse && error.uploadTaskResumeData == nil)
        #expect(rig.requests == ["POST /files", "HEAD /uploads/1"])
    }

    @Test("A server that claims ever more of a stream than was sent ends neither the stream nor the upload")
    func claims() async throws {
        let rig = try UploadRig(cuts: [300_000]) { request in
            switch request.method {
            case "HEAD": .status(204).header("Upload-Offset", "\(900_000_000_000_000 + request.ordinal)")
            case "PATCH": .status(409)
            default: nil
            }
        }
        defer { rig.stop() }
        try rig.task(.stream).resume()
        let error = try #require(try await rig.delegate.completion())
        #expect(error.code == .badServerResponse && error.localizedDescription.contains("more than were sent"))
        #expect(rig.requests == ["POST /files", "HEAD /uploads/1"] && rig.delegate.record.value.streams == [0])
    }

    @Test("A server that claims ever more of a file than was sent isn't asked for ever")
    func claimsOfFile() async throws {
        let length = 10_000_000
        let rig = try UploadRig(cuts: [300_000]) { request in
            switch request.method {
            case "HEAD": .status(204).header("Upload-Offset", "\(length - 1000 + request.ordinal)")
            case "PATCH": .status(409).after([.waitForBody])
            default: nil
            }
        }
        defer { rig.stop() }
        let file = try rig.directory.file(UploadRig.content)
        try FileHandle(forWritingTo: file).truncate(atOffset: UInt64(length))
        rig.session.uploadTask(with: rig.request(), fromFile: file).resume()
        let error = try #require(try await rig.delegate.completion())
        #expect(error.code == .networkConnectionLost && error.localizedDescription.contains("interrupted too often"))
        #expect(error.uploadTaskResumeData != nil)
    }

    @Test("A resource at another origin gets neither credentials nor anything else")
    func otherOrigin() async throws {
        let other = try LoopbackServer { _ in .status(204).header("Upload-Offset", "0") }
        defer { other.stop() }
        for location in [other.url("/uploads/1").absoluteString, "file:///etc/passwd", "http://", "ftp://127.0.0.1/1"] {
            let rig = try UploadRig(location: location, cuts: [300_000])
            defer { rig.stop() }
            try rig.task(.data, ["Authorization": "Bearer secret"]).resume()
            let error = try #require(try await rig.delegate.completion())
            #expect(error.code == .networkConnectionLost && error.uploadTaskResumeData == nil)
            #expect(rig.requests == ["POST /files"])
        }
        #expect(other.connectionCount == 0)
    }

    @Test("A 104 of a version that isn't known, or of none, is no offer", arguments: ["2", "9", "x", nil] as [String?])
    func unknownVersion(version: String?) async throws {
        let delegate = UploadDelegate()
        let field = version.map { "Upload-Draft-Interop-Version: \($0)\r\n" } ?? ""
        let rig = try Rig(answering: .atHead, delegate: delegate) { _ in
            .raw([
                .bytes("HTTP/1.1 104 Upload Resumption Supported\r\n\(field)Location: /uploads/1\r\n\r\n"),
                .receive(upTo: 1000) { _ in [.waitFor(delegate.offered), .reset] },
            ])
        }
        defer { rig.stop() }
        rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), from: UploadRig.content).resume()
        #expect(try await delegate.completion()?.code == .networkConnectionLost)
        #expect(rig.server.requestCount == 1)
    }

    @Test("A server that sends 104s without end is stopped")
    func endless() async throws {
        let delegate = UploadDelegate()
        let offer = LoopbackServer.ResumableUpload.offer(of: "/uploads/1", version: 6)
        let rig = try Rig(answering: .atHead, delegate: delegate) { _ in
            .raw([.bytes(String(repeating: offer, count: 20_000)), .never])
        }
        defer { rig.stop() }
        rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), from: Data("a".utf8)).resume()
        #expect(try await delegate.completion()?.code == .badServerResponse)
    }

    @Test("A server that sends 104s without end while it gets the rest is stopped")
    func endlessDuringRest() async throws {
        let offer = LoopbackServer.ResumableUpload.offer(of: "/uploads/1", version: 6)
        let rig = try UploadRig(cuts: [300]) { request in
            request.method == "PATCH"
                ? .raw([.waitForBody, .bytes(String(repeating: offer, count: 20_000)), .never]) : nil
        }
        defer { rig.stop() }
        rig.session.uploadTask(with: rig.request(), from: Data(count: 1000)).resume()
        let error = try #require(try await rig.delegate.completion())
        #expect(error.code == .badServerResponse)
        #expect(rig.requests == ["POST /files", "HEAD /uploads/1", "PATCH /uploads/1"])
    }

    @Test("A server that takes back what it had fails the upload")
    func goingBack() async throws {
        let rig = try UploadRig(cuts: [300_000, 600_000]) { request in
            request.method == "HEAD" && request.ordinal > 2 ? .status(204).header("Upload-Offset", "299999") : nil
        }
        defer { rig.stop() }
        try rig.task(.data).resume()
        let error = try #require(try await rig.delegate.completion())
        #expect(error.code == .badServerResponse && error.uploadTaskResumeData == nil)
        // A rest that was lost on a kept connection may have been sent again on another one.
        #expect(rig.requests.starts(with: ["POST /files", "HEAD /uploads/1", "PATCH /uploads/1"]))
        #expect(rig.requests.last == "HEAD /uploads/1")
    }

    @Test("A server that refuses every rest as one that doesn't fit isn't asked for ever")
    func endlessConflicts() async throws {
        let body = Data(count: 1000)
        let rig = try UploadRig(cuts: [300]) { $0.method == "PATCH" ? .status(409).after([.waitForBody]) : nil }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: rig.request(), from: body)
        task.resume()
        let error = try #require(try await rig.delegate.completion())
        #expect(error.code == .networkConnectionLost && error.localizedDescription.contains("interrupted too often"))
        #expect(error.uploadTaskResumeData != nil)
        #expect(rig.requests.filter { $0 == "HEAD /uploads/1" }.count == 5)
    }

    @Test("A rest that doesn't fit is asked about again")
    func conflicts() async throws {
        let rig = try UploadRig(cuts: [300_000]) { request in
            request.method == "PATCH" && request.ordinal == 3 ? .status(409).header("Upload-Offset", "7") : nil
        }
        defer { rig.stop() }
        try rig.task(.data).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(
            rig.requests == [
                "POST /files", "HEAD /uploads/1", "PATCH /uploads/1", "HEAD /uploads/1", "PATCH /uploads/1",
            ]
        )
        #expect(rig.upload.content == UploadRig.content)
    }

    @Test(
        "A server that has forgotten an upload that wasn't complete gets all of it again",
        arguments: [404, 410],
        UploadRig.Kind.allCases
    )
    func forgotten(status: Int, kind: UploadRig.Kind) async throws {
        // More than sockets have room for: some of it hasn't been sent when the connection is lost.
        let content = GeneratedBody.bytes(seed: 105, length: 16_000_000)
        let rig = try UploadRig(content, cuts: [300_000]) { $0.method == "HEAD" ? .status(status) : nil }
        defer { rig.stop() }
        try rig.task(kind, ["Content-Length": "16000000"]).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.requests == ["POST /files", "HEAD /uploads/1", "POST /files"])
        // The difference between megabytes would take hours to find.
        let (found, isSame) = (rig.upload.content.count, rig.upload.content == content)
        #expect(isSame, "\(found) bytes")
        #expect(rig.delegate.record.value.streams == (kind == .stream ? [0, 0] : []))
    }

    @Test("A redirect of the request for the offset is followed, and the rest is sent there")
    func redirects() async throws {
        let rig = try UploadRig(cuts: [300_000]) { request in
            request.method == "HEAD" && request.query == nil ? .redirect(to: "/uploads/1?moved", status: 308) : nil
        }
        defer { rig.stop() }
        try rig.task(.data).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.upload.content == UploadRig.content)
        #expect(
            rig.server.requests.map { "\($0.method) \($0.target)" } == [
                "POST /files", "HEAD /uploads/1", "HEAD /uploads/1?moved", "PATCH /uploads/1?moved",
            ]
        )
    }

    @Test("A redirect of the request with the rest is followed", arguments: [307, 308], UploadRig.Kind.allCases)
    func redirectOfRest(status: Int, kind: UploadRig.Kind) async throws {
        let rig = try UploadRig(cuts: [300_000]) { request in
            request.method == "PATCH" && request.query == nil
                ? .redirect(to: "/uploads/1?moved", status: status).after([.waitForBody]) : nil
        }
        defer { rig.stop() }
        try rig.task(kind).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.upload.content == UploadRig.content && rig.upload.isComplete)
        #expect(
            rig.server.requests.map { "\($0.method) \($0.target)" } == [
                "POST /files", "HEAD /uploads/1", "PATCH /uploads/1", "PATCH /uploads/1?moved",
            ]
        )
        #expect(rig.server.requests.last?.header("Upload-Offset") == "300000")
        #expect(rig.delegate.record.value.streams == (kind == .stream ? [0, 300_000, 300_000] : []))
    }

    @Test("A redirect of the rest to the upload's result is followed without a body")
    func redirectToResult() async throws {
        for kind in UploadRig.Kind.allCases {
            let rig = try UploadRig(cuts: [300_000]) { request in
                switch request.method {
                case "PATCH": .redirect(to: "/result", status: 303).after([.waitForBody])
                case "GET": .text("result")
                default: nil
                }
            }
            defer { rig.stop() }
            try rig.task(kind).resume()
            #expect(try await rig.delegate.completion() == nil)
            #expect(rig.delegate.record.value.body == Data("result".utf8))
            #expect(rig.requests == ["POST /files", "HEAD /uploads/1", "PATCH /uploads/1", "GET /result"])
            #expect(rig.server.requests.last?.bodyLength == 0)
        }
    }

    @Test("A redirect of a resumable upload to another origin takes no credentials there")
    func redirectElsewhere() async throws {
        let other = LoopbackServer.ResumableUpload(path: "/there")
        let otherServer = try LoopbackServer(answering: .atHead) { other.respond(to: $0) }
        defer { otherServer.stop() }
        let rig = try UploadRig(cuts: [300_000]) { request in
            request.method == "HEAD" ? .redirect(to: otherServer.url("/there"), status: 307) : nil
        }
        defer { rig.stop() }
        try rig.task(.data, ["Authorization": "Bearer secret", "Cookie": "a=b"]).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.server.requests[1].header("Authorization") == "Bearer secret")
        let requests = otherServer.requests
        #expect(requests.map(\.method) == ["HEAD", "PATCH"])
        #expect(requests.allSatisfy { $0.header("Authorization") == nil && $0.header("Cookie") == nil })
        #expect(other.content == UploadRig.content)
    }

    @Test("Challenges to the request for the offset and to the rest are answered")
    func challenges() async throws {
        let credential = URLCredential(user: "user", password: "password", persistence: .none)
        let rig = try UploadRig(cuts: [300_000], credential: credential) { request in
            guard request.path == "/uploads/1", request.header("Authorization") == nil else { return nil }
            return .status(401).header("WWW-Authenticate", "Basic realm=\"\(request.method)\"")
        }
        defer { rig.stop() }
        try rig.task(.data).resume()
        #expect(try await rig.delegate.completion() == nil)
        #expect(rig.upload.content == UploadRig.content)
        #expect(rig.delegate.record.value.challenges >= 1)
        #expect(rig.requests.starts(with: ["POST /files", "HEAD /uploads/1", "HEAD /uploads/1"]))
    }

    @Test("Resume data of an upload that a redirect had led elsewhere takes the session's credentials to neither")
    func resumedElsewhere() async throws {
        let there = try UploadRig(heldAt: 300_000)
        defer { there.stop() }
        let delegate = there.delegate
        let here = try Rig(delegate: delegate) { _ in .redirect(to: there.server.url("/files"), status: 307) }
        defer { here.stop() }
        let task = here.session.uploadTask(with: URLRequest(here.url("/"), method: "POST"), from: UploadRig.content)
        task.resume()
        try await delegate.offered.wait()
        try await there.server.waitForBodyBytesReceived(300_000)
        let data = try #require(await task.cancelByProducingResumeData())
        let session = URLSession.forTest {
            $0.httpAdditionalHeaders = ["Authorization": "Bearer secret", "X-Key": "k"]
        }
        defer { session.invalidateAndCancel() }
        _ = try await session.upload(resumeFrom: data)
        #expect(there.upload.content == UploadRig.content)
        #expect(there.server.requests.map { $0.header("Authorization") } == [nil, nil, nil])
        #expect(there.server.requests.last?.header("X-Key") == "k")
    }
}
