import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("An answer that doesn't fit starts the download over", .timeLimit(.minutes(1)))
struct ResumeRestartTests {
    typealias Response = LoopbackServer.Response

    /// An answer to the resuming request that must not be appended.
    struct Misfit: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: @Sendable (LoopbackServer.Request) -> Response

        init(_ description: String, _ answer: @escaping @Sendable (LoopbackServer.Request) -> Response) {
            testDescription = description
            self.answer = answer
        }

        /// A 206 with the changed file's bytes from `start` on.
        init(_ description: String, _ range: String?, etag: String = ResumeOrigin.etag, from start: Int64) {
            self.init(description) { _ in
                Response.body(ResumeOrigin.changedBody[start..<ResumeOrigin.length])
                    .header("ETag", etag).partial(range)
            }
        }
    }

    static let misfits = [
        Misfit("another entity tag", "bytes 150000-399999/400000", etag: "\"version-2\"", from: 150_000),
        Misfit("a weak entity tag", "bytes 150000-399999/400000", etag: "W/\"version-1\"", from: 150_000),
        Misfit("a range that starts too late", "bytes 150001-399999/400000", from: 150_001),
        Misfit("a range that starts too early", "bytes 149999-399999/400000", from: 149_999),
        Misfit("a range that starts at zero", "bytes 0-399999/400000", from: 0),
        Misfit("another complete length", "bytes 150000-399999/400001", from: 150_000),
        Misfit("no Content-Range", nil, from: 150_000),
        Misfit("an empty Content-Range", "", from: 150_000),
        Misfit("a Content-Range that is no range", "bytes */400000", from: 150_000),
        Misfit("a Content-Range backwards", "bytes 150000-149999/400000", from: 150_000),
        Misfit("a Content-Range beyond all numbers", "bytes 150000-99999999999999999999/400000", from: 150_000),
        Misfit("a Content-Range in another unit", "words 150000-399999/400000", from: 150_000),
        Misfit("several parts") { _ in
            Response.text("--x\r\nContent-Range: bytes 150000-399999/400000\r\n\r\nwrong\r\n--x--")
                .header("ETag", ResumeOrigin.etag).header("Content-Type", "multipart/byteranges; boundary=x").partial(
                    nil
                )
        },
        Misfit("a coded body") { _ in
            Response.text("wrong").headers(["ETag": ResumeOrigin.etag, "Content-Encoding": "gzip"])
                .partial("bytes 150000-399999/400000")
        },
    ]

    @Test("An answer that doesn't fit starts the download from zero, with a request for the whole", arguments: misfits)
    func misfit(_ misfit: Misfit) async throws {
        let origin = try ResumeOrigin { request in
            request.ordinal == 2 ? misfit.answer(request) : .resource(ResumeOrigin.changedBody, for: request)
        }
        let paused = try await PausedDownload(from: origin)
        let resumed = try await paused.resume()
        #expect(resumed.error == nil)
        #expect(resumed.body == ResumeOrigin.changedBytes)
        #expect(!resumed.hasContinued)
        #expect((resumed.task.response as? HTTPURLResponse)?.statusCode == 200)
        let requests = origin.server.requests
        try #require(requests.count == 3)
        #expect(requests[1].header("Range") == "bytes=150000-")
        #expect(requests[2].header("Range") == nil)
        #expect(requests[2].header("If-Range") == nil)
        #expect(paused.directory.content == [])
    }

    @Test("A file that has changed comes as a whole, in the first answer")
    func changed() async throws {
        let origin = try ResumeOrigin { .resource(ResumeOrigin.changedBody, for: $0, etag: "version-2") }
        let paused = try await PausedDownload(from: origin)
        let resumed = try await paused.resume()
        #expect(resumed.error == nil)
        #expect(resumed.body == ResumeOrigin.changedBytes)
        #expect(resumed.story == ["created", "wrote", "finished downloading", "completed"])
        #expect(resumed.events.isProgress(to: ResumeOrigin.length))
        #expect(origin.server.requestCount == 2)
        #expect(paused.directory.content == [])
    }

    @Test("A data URL to which a delegate leads instead of a redirect comes as a whole")
    func local() async throws {
        let origin = try ResumeOrigin { _ in .redirect(to: "/elsewhere") }
        let paused = try await PausedDownload(from: origin)
        let local = try #require(URL(string: "data:,whole"))
        let delegate = DecidingDelegate(onRedirect: { $0.answer(URLRequest(url: local)) })
        let session = URLSession.forDownloads(to: paused.directory, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let (file, _) = try await session.download(resumeFrom: paused.resumeData)
        #expect(try Data(contentsOf: file) == Data("whole".utf8))
    }

    @Test("A server that ignores ranges sends the whole")
    func ignoresRanges() async throws {
        let origin = try ResumeOrigin { _ in
            Response.body(ResumeOrigin.body).header("ETag", ResumeOrigin.etag)
        }
        let resumed = try await PausedDownload(from: origin).resume()
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(!resumed.hasContinued)
    }

    @Test("A file that has become shorter than what is there already starts the download over")
    func shorter() async throws {
        let origin = try ResumeOrigin { _ in
            Response.body(ResumeOrigin.changedBody[0..<1000]).header("ETag", "\"version-2\"")
        }
        let resumed = try await PausedDownload(from: origin).resume()
        #expect(resumed.body == ResumeOrigin.changedBytes.prefix(1000))
    }

    @Test(
        "A server may send less than it was asked for, but the file is complete or the task fails",
        arguments: [1, 2]
    )
    func shortRange(kind: Int) async throws {
        let origin = try ResumeOrigin { request in
            guard request.ordinal == 2 else {
                return .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            }
            // Once it says so (RFC 9110 §15.3.7), once its range and its body contradict each other.
            return Response.body(ResumeOrigin.body[150_000..<160_000]).header("ETag", ResumeOrigin.etag)
                .partial(kind == 1 ? "bytes 150000-159999/400000" : "bytes 150000-399999/400000")
        }
        let paused = try await PausedDownload(from: origin)
        let resumed = try await paused.resume()
        if let error = resumed.error {
            #expect(resumed.body == nil)
            let again = try await paused.resume(error.downloadTaskResumeData)
            #expect(again.body == ResumeOrigin.bytes)
        } else {
            #expect(resumed.body == ResumeOrigin.bytes)
        }
    }

    @Test("A server that sends more than its range says doesn't get it into the file")
    func longRange() async throws {
        let origin = try ResumeOrigin { request in
            guard request.ordinal == 2 else {
                return .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            }
            return Response.body(.generated(length: 300_000, seed: 3)).header("ETag", ResumeOrigin.etag)
                .partial("bytes 150000-399999/400000")
        }
        let resumed = try await PausedDownload(from: origin).resume()
        #expect(resumed.error != nil || resumed.body == ResumeOrigin.bytes)
    }
}

extension [DelegateEvent] {
    /// Whether what was written adds up to `total`, starting from nothing.
    func isProgress(to total: Int64) -> Bool {
        var sum: Int64 = 0
        for case .wrote(let count, let newTotal, _) in self {
            sum += count
            guard count > 0, newTotal == sum else { return false }
        }
        return sum == total
    }
}
