import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Cookies and cache against nginx", .timeLimit(.minutes(1)))
struct NginxStateTests {
    /// A file of nginx's that has not changed for a day.
    private final class ServedFile {
        let url: URL
        private let file: URL
        private let modified: Date

        init(_ nginx: Nginx, in location: String = "/", _ content: String) throws {
            let name = UUID().uuidString
            file = nginx.site.root.appendingPathComponent(name)
            url = nginx.plain(location + name)
            modified = Date(timeIntervalSinceNow: -24 * 60 * 60)
            try write(content)
        }

        deinit {
            try? FileManager.default.removeItem(at: file)
        }

        /// nginx's tag is made of time and length alone: such a change goes unnoticed.
        func write(_ content: String, noticeably: Bool = false) throws {
            try Data(content.utf8).write(to: file)
            let date = noticeably ? modified + 60 : modified
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        }
    }

    @Test("Cookies come back, and foreign ones are not stored")
    func cookies() async throws {
        let nginx = try Nginx.shared()
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(nginx.plain("/cookies")).text == "")
        #expect(await session.load(nginx.plain("/cookies")).text == "visited=1")
        #expect(session.configuration.httpCookieStorage?.cookies?.map(\.name) == ["visited"])
    }

    @Test("A file that has not changed for a day is fresh for a while", arguments: ["/", "/gzip/"])
    func fresh(location: String) async throws {
        let file = try ServedFile(Nginx.shared(), in: location, "old content")
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let first = await session.load(file.url)
        try file.write("new content", noticeably: true)
        let second = await session.load(file.url)
        #expect(second.text == "old content")
        #expect(second.response?.value(forHTTPHeaderField: "Date") == first.response?.value(forHTTPHeaderField: "Date"))
        let reload = URLRequest(url: file.url, cachePolicy: .reloadIgnoringLocalCacheData)
        #expect(await session.load(reload).text == "new content")
    }

    @Test("nginx confirms what has not changed, and sends what has", arguments: ["/", "/gzip/"])
    func validation(location: String) async throws {
        let file = try ServedFile(Nginx.shared(), in: location, "old content")
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let request = URLRequest(url: file.url, cachePolicy: .reloadRevalidatingCacheData)
        #expect(await session.load(request).text == "old content")
        try file.write("NEW CONTENT")
        let confirmed = await session.load(request)
        #expect(confirmed.text == "old content")
        #expect(confirmed.response?.statusCode == 200)
        try file.write("new content", noticeably: true)
        #expect(await session.load(request).text == "new content")
    }
}
