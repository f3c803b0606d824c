import Foundation
import Testing

@testable import CurlNetworking

@Suite("A task's response")
struct TaskResponseTests {
    @Test("A response's head is known at once, and all callers get the same object")
    func once() async throws {
        let url = try Sample.url("http://example.com/a")
        let response = TaskResponse(Sample.head(206, ["Content-Type": "text/plain", "X-A": "b"]), at: url)
        #expect(response.status == 206 && response.url == url)
        let objects = await withTaskGroup(of: URLResponse.self) { group in
            for _ in 0..<8 { group.addTask { response.object } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(objects.count == 8)
        let first = try #require(objects.first as? HTTPURLResponse)
        #expect(objects.allSatisfy { $0 === first })
        #expect(first.statusCode == 206 && first.url == url && first.mimeType == "text/plain")
        #expect(first.value(forHTTPHeaderField: "x-a") == "b")
    }

    @Test("A response that isn't HTTP's has no status")
    func plain() throws {
        let url = try Sample.url("file:///a")
        let object = URLResponse(url: url, mimeType: nil, expectedContentLength: 3, textEncodingName: nil)
        let response = TaskResponse(object)
        #expect(response.status == nil && response.url == url && response.object === object)
    }
}
