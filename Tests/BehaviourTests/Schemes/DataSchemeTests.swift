import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Loading data URLs", .timeLimit(.minutes(1)))
struct DataSchemeTests {
    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test("Async methods, handlers and downloads get the content")
    func content() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = try url("data:text/html;charset=utf-8;base64,PGI+aGk8L2I+")
        let (data, response) = try await session.data(from: url)
        #expect(data == Data("<b>hi</b>".utf8))
        #expect(response.url == url)
        #expect(response.mimeType == "text/html")
        #expect(response.textEncodingName == "utf-8")
        #expect(response.expectedContentLength == 9)
        #expect(!(response is HTTPURLResponse))
        #expect(await session.load(url).text == "<b>hi</b>")
        #expect(await session.download(URLRequest(url: url)).content == Data("<b>hi</b>".utf8))
    }

    @Test("A delegate hears of response, body and end")
    func story() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try url("data:,hello"))
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.story(of: task) == ["created", "response", "data", "completed"])
        #expect(delegate.body(of: task) == Data("hello".utf8))
        #expect(task.countOfBytesReceived == 5)
        #expect(task.countOfBytesExpectedToReceive == 5)
    }

    @Test("Without data there is an empty body")
    func empty() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: try url("data:,"))
        #expect(data.isEmpty)
        #expect(response.mimeType == "text/plain")
        #expect(response.textEncodingName == "US-ASCII")
    }

    @Test("A damaged one fails as a bad URL that says what is wrong", arguments: ["data:nothing", "data:;base64,%%%"])
    func damaged(text: String) async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let error = await session.load(try url(text)).error
        #expect(error?.code == .badURL)
        #expect(error?.failingURL?.scheme == "data")
        #expect(error?.localizedDescription.contains("data URL") == true)
    }

    @Test("Bytes can be read one by one")
    func bytes() async throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (bytes, _) = try await session.bytes(from: try url("data:,one%0Atwo"))
        var lines: [String] = []
        for try await line in bytes.lines { lines.append(line) }
        #expect(lines == ["one", "two"])
    }
}
