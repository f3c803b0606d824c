import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A resuming request asks for the rest of the same thing, and for nothing else", .timeLimit(.minutes(1)))
struct ResumeRequestTests {
    typealias Fields = KeyValuePairs<String, String>

    /// Pauses, resumes, and returns the resuming request.
    private func resumingRequest(
        after first: Fields,
        request: (URL) -> URLRequest = { URLRequest(url: $0) }
    ) async throws -> LoopbackServer.Request {
        let origin = try ResumeOrigin(first: first)
        let paused = try await PausedDownload(from: origin, request(origin.url))
        let resumed = try await paused.resume()
        #expect(resumed.error == nil)
        return try await origin.server.request(number: 2)
    }

    @Test("A strong entity tag goes into If-Range")
    func entityTag() async throws {
        let request = try await resumingRequest(after: ["ETag": ResumeOrigin.etag])
        #expect(request.headers(named: "Range") == ["bytes=150000-"])
        #expect(request.headers(named: "If-Range") == [ResumeOrigin.etag])
        #expect(request.method == "GET")
        #expect(request.target == "/file")
    }

    @Test("Last-Modified goes into If-Range where there is no entity tag")
    func lastModified() async throws {
        let request = try await resumingRequest(after: ["Last-Modified": ResumeOrigin.lastModified])
        #expect(request.headers(named: "Range") == ["bytes=150000-"])
        #expect(request.headers(named: "If-Range") == [ResumeOrigin.lastModified])
    }

    @Test("An entity tag is preferred to Last-Modified")
    func both() async throws {
        let first: Fields = ["Last-Modified": ResumeOrigin.lastModified, "ETag": ResumeOrigin.etag]
        let request = try await resumingRequest(after: first)
        #expect(request.headers(named: "If-Range") == [ResumeOrigin.etag])
    }

    @Test("No content coding is accepted: a range of a coded body would not fit")
    func coding() async throws {
        let request = try await resumingRequest(after: ["ETag": ResumeOrigin.etag])
        #expect(request.headers(named: "Accept-Encoding") == ["identity"])
    }

    @Test("The request's own header fields are sent again")
    func headers() async throws {
        let request = try await resumingRequest(after: ["ETag": ResumeOrigin.etag]) { url in
            URLRequest(url, headers: ["X-Track": "17", "Accept": "audio/wav"])
        }
        #expect(request.header("X-Track") == "17")
        #expect(request.header("Accept") == "audio/wav")
    }

    @Test("A resuming request handles cookies if the download's own did, and not otherwise", arguments: [true, false])
    func cookies(isHandling: Bool) async throws {
        let origin = try ResumeOrigin()
        let paused = try await PausedDownload(from: origin, Self.request(origin.url, handlingCookies: isHandling))
        let session = URLSession.forDownloads(to: paused.directory)
        defer { session.invalidateAndCancel() }
        let cookie = HTTPCookie(properties: [.name: "stored", .value: "1", .domain: "127.0.0.1", .path: "/"])
        try session.configuration.httpCookieStorage?.setCookie(#require(cookie))
        let (file, _) = try await session.download(resumeFrom: paused.resumeData)
        #expect(try Data(contentsOf: file) == ResumeOrigin.bytes)
        #expect(try await origin.server.request(number: 2).header("Cookie") == (isHandling ? "stored=1" : nil))
    }

    private static func request(_ url: URL, handlingCookies: Bool) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpShouldHandleCookies = handlingCookies
        return request
    }

    @Test("A resuming request has the download's main document and the properties of protocol classes")
    func properties() async throws {
        let origin = try ResumeOrigin()
        let mutable = NSMutableURLRequest(url: origin.url)
        URLProtocol.setProperty("seen", forKey: "mark", in: mutable)
        mutable.mainDocumentURL = URL(string: "http://main.example/page")
        let paused = try await PausedDownload(from: origin, mutable as URLRequest)
        let session = URLSession.forDownloads(to: paused.directory)
        defer { session.invalidateAndCancel() }
        let request = try #require(session.downloadTask(withResumeData: paused.resumeData).originalRequest)
        #expect(URLProtocol.property(forKey: "mark", in: request) as? String == "seen")
        #expect(request.mainDocumentURL?.absoluteString == "http://main.example/page")
    }

    @Test("A resumed download follows its redirect again, with the range")
    func redirect() async throws {
        let server = try LoopbackServer { request in
            switch (request.path, request.ordinal) {
            case ("/start", _):
                .redirect(to: "/end?\(request.ordinal)")
            case (_, 2):
                LoopbackServer.Response.pieces([
                    .body(ResumeOrigin.body[0..<1000]), .reset, .body(ResumeOrigin.body[1000..<ResumeOrigin.length]),
                ]).header("ETag", ResumeOrigin.etag)
            default:
                .resource(ResumeOrigin.body, for: request, etag: ResumeOrigin.etag)
            }
        }
        let directory = try TemporaryDirectory()
        let session = URLSession.forDownloads(to: directory)
        let error = await session.download(URLRequest(url: server.url("/start"))).error
        let resumed = try await ResumedDownload(#require(error?.downloadTaskResumeData), in: directory)
        #expect(resumed.body == ResumeOrigin.bytes)
        #expect(resumed.hasContinued)
        #expect(resumed.task.originalRequest?.url == server.url("/start"))
        let paths = server.requests.map(\.target)
        #expect(paths == ["/start", "/end?1", "/start", "/end?3"])
        #expect(server.requests[3].header("Range") == "bytes=1000-")
        #expect(server.requests[3].header("If-Range") == ResumeOrigin.etag)
    }
}
