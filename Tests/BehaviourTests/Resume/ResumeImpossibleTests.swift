import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("No resume data where resuming could not work", .timeLimit(.minutes(1)))
struct ResumeImpossibleTests {
    typealias Fields = KeyValuePairs<String, String>

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let fields: Fields
        var method = "GET"
        var headers: [String: String] = [:]
        var status = 200
        var body: Data?
        /// It is at another URL, to which a 303 leads.
        var isElsewhere = false

        func request(to server: LoopbackServer) -> URLRequest {
            URLRequest(server.url("/"), method: method, headers: headers, body: body)
        }
    }

    static let tag = ResumeOrigin.etag

    static let cases = [
        Case(testDescription: "no validator", fields: ["Accept-Ranges": "bytes"]),
        Case(testDescription: "a weak entity tag alone", fields: ["ETag": "W/\"version-1\""]),
        Case(
            testDescription: "a weak entity tag beside a date (RFC 9110 §13.1.5)",
            fields: ["ETag": "W/\"version-1\"", "Last-Modified": ResumeOrigin.lastModified]
        ),
        Case(testDescription: "an entity tag without quotes", fields: ["ETag": "version-1"]),
        Case(testDescription: "an empty entity tag", fields: ["ETag": ""]),
        Case(testDescription: "an entity tag with a control character", fields: ["ETag": "\"version\u{7f}1\""]),
        Case(testDescription: "a date that is none", fields: ["Last-Modified": "yesterday"]),
        Case(
            testDescription: "a date too recent to be a strong validator (RFC 9110 §8.8.2.2)",
            fields: ["Last-Modified": ResumeOrigin.lastModified, "Date": ResumeOrigin.lastModified]
        ),
        Case(
            testDescription: "a date from a server that doesn't say its time (RFC 9110 §8.8.2.2)",
            fields: ["Last-Modified": ResumeOrigin.lastModified, "Date": ""]
        ),
        Case(testDescription: "a server that refuses ranges", fields: ["ETag": tag, "Accept-Ranges": "none"]),
        Case(testDescription: "an answer to POST", fields: ["ETag": tag], method: "POST"),
        Case(
            testDescription: "an answer to the GET that a POST has become",
            fields: ["ETag": tag],
            method: "POST",
            isElsewhere: true
        ),
        Case(testDescription: "a GET with a body", fields: ["ETag": tag], body: Data("query".utf8)),
        Case(
            testDescription: "a part that the request itself asked for",
            fields: ["ETag": tag],
            headers: ["Range": "bytes=0-"]
        ),
        Case(
            testDescription: "a part that nobody asked for and that doesn't begin at the first byte",
            fields: ["ETag": tag, "Content-Range": "bytes 10000-19999/20000"],
            status: 206
        ),
        Case(testDescription: "a part of which nobody says where it begins", fields: ["ETag": tag], status: 206),
        Case(testDescription: "an error page", fields: ["ETag": tag], status: 404),
    ]

    private func origin(_ answer: Case, ending: LoopbackServer.Step? = nil) throws -> LoopbackServer {
        let gate = Gate()
        let steps: [LoopbackServer.Step] = [
            .body(ResumeOrigin.body[0..<5000]), ending ?? .waitFor(gate), .body(ResumeOrigin.body[5000..<10_000]),
        ]
        return try LoopbackServer { request in
            if answer.isElsewhere, request.path == "/" { return .redirect(to: "/there", status: 303) }
            return answer.fields.reduce(LoopbackServer.Response.pieces(steps)) { $0.header($1.key, $1.value) }
                .status(answer.status, contentRange: nil)
        }
    }

    @Test("Pausing a download that can't be resumed gives no resume data, and leaves nothing behind", arguments: cases)
    func pausing(_ answer: Case) async throws {
        let directory = try TemporaryDirectory()
        let server = try origin(answer)
        #expect(try await PausedDownload.pause(answer.request(to: server), at: 5000, in: directory) == nil)
        #expect(directory.content == [])
    }

    @Test("A download that fails and can't be resumed has no resume data, and leaves nothing behind", arguments: cases)
    func failing(_ answer: Case) async throws {
        let directory = try TemporaryDirectory()
        let server = try origin(answer, ending: .reset)
        let result = await URLSession.forDownloads(to: directory).download(answer.request(to: server))
        #expect(result.error?.code == .networkConnectionLost)
        #expect(result.error?.downloadTaskResumeData == nil)
        #expect(result.error?.userInfo[NSURLSessionDownloadTaskResumeData] == nil)
        #expect(directory.content == [])
    }

    @Test("A session that asks for a range with each request has no resume data")
    func sessionRange() async throws {
        let directory = try TemporaryDirectory()
        let server = try LoopbackServer { _ in
            LoopbackServer.Response.chunked([.body(ResumeOrigin.body[0..<5000]), .reset])
                .headers(["ETag": Self.tag, "Content-Range": "bytes 0-9999/20000"]).status(206, contentRange: nil)
        }
        let session = URLSession.forDownloads(to: directory) { $0.httpAdditionalHeaders = ["Range": "bytes=0-9999"] }
        let result = await session.download(URLRequest(url: server.url("/")))
        #expect(server.requests.map { $0.header("Range") } == ["bytes=0-9999"])
        #expect(result.error?.code == .networkConnectionLost && result.error?.downloadTaskResumeData == nil)
        #expect(directory.content == [])
    }

    @Test("Over a Unix socket there is no resume data, even with the best of servers", arguments: [true, false])
    func unixSocket(isPaused: Bool) async throws {
        let sockets = try TemporaryDirectory()
        let gate = Gate()
        defer { gate.open() }
        let socket = LoopbackServer.UnixSocket.path(sockets.url.appendingPathComponent("server").path)
        let server = try LoopbackServer(unixSocket: socket) { _ in
            LoopbackServer.Response.pieces([
                .body(ResumeOrigin.body[0..<5000]), isPaused ? .waitFor(gate) : .reset,
                .body(ResumeOrigin.body[5000..<10_000]),
            ]).headers(["ETag": Self.tag, "Accept-Ranges": "bytes"])
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        if isPaused {
            #expect(try await PausedDownload.pause(URLRequest(url: server.url("/")), at: 5000, in: directory) == nil)
        } else {
            let result = await URLSession.forDownloads(to: directory).download(URLRequest(url: server.url("/")))
            #expect(result.error?.code == .networkConnectionLost)
            #expect(result.error?.downloadTaskResumeData == nil)
        }
        #expect(directory.content == [])
    }

    @Test("A body that came compressed can't be resumed either", arguments: [true, false])
    func compressed(isPaused: Bool) async throws {
        // Stored blocks of deflate, so that every byte sent is a byte received.
        let block = GeneratedBody.bytes(seed: 1, length: 10_000)
        let length = [UInt8(truncatingIfNeeded: block.count), UInt8(truncatingIfNeeded: block.count >> 8)]
        let head = Data([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0] + length + length.map { ~$0 })
        let gate = Gate()
        let server = try LoopbackServer { _ in
            LoopbackServer.Response.pieces([
                .bytes(head + block), isPaused ? .waitFor(gate) : .reset, .bytes(head + block),
            ]).headers(["ETag": ResumeOrigin.etag, "Content-Encoding": "gzip"])
        }
        let directory = try TemporaryDirectory()
        if isPaused {
            let request = URLRequest(url: server.url("/"))
            #expect(try await PausedDownload.pause(request, at: 1, in: directory) == nil)
        } else {
            let result = await URLSession.forDownloads(to: directory).download(URLRequest(url: server.url("/")))
            #expect(result.error != nil)
            #expect(result.error?.downloadTaskResumeData == nil)
        }
        #expect(directory.content == [])
    }
}
