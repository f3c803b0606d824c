import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Header injection", .timeLimit(.minutes(1)))
struct HeaderInjectionTests {
    struct Field: CustomTestStringConvertible, Sendable {
        let name: String
        let value: String
        var testDescription: String { "\(name.debugDescription): \(value.debugDescription)" }
    }

    static let fields = [
        Field(name: "X-A", value: "b\r\nX-Injected: yes"), Field(name: "X-A", value: "b\nX-Injected: yes"),
        Field(name: "X-A", value: "b\rX-Injected: yes"), Field(name: "X-A", value: "b\0c"),
        Field(name: "X-A", value: "b\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"),
        Field(name: "X-A\r\nX-Injected", value: "yes"),
        Field(name: "X-A: b\r\nX-Injected", value: "yes"), Field(name: "X A", value: "b"),
        Field(name: "X-A:", value: "b"), Field(name: "X\0A", value: "b"), Field(name: "", value: "b"),
    ]

    /// Nothing has reached the server: not even a connection.
    private func expectRefusal(of request: URLRequest, _ session: URLSession, _ server: LoopbackServer) async {
        defer { session.invalidateAndCancel() }
        let result = await session.load(request)
        #expect(result.error?.code == .badURL)
        #expect(result.error?.failingURL == request.url)
        #expect(result.error?.localizedDescription.isEmpty == false)
        #expect(server.connectionCount == 0)
    }

    @Test("A request's header that would break out of its line fails the task, and nothing is sent", arguments: fields)
    func ofRequest(field: Field) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        var request = URLRequest(url: server.url("/"))
        request.setValue(field.value, forHTTPHeaderField: field.name)
        // What URLRequest itself refuses can't get here.
        guard request.allHTTPHeaderFields?[field.name] == field.value else { return }
        await expectRefusal(of: request, .forTest(), server)
    }

    @Test(
        "A configuration's header that would break out of its line fails the task, and nothing is sent",
        arguments: fields
    )
    func ofConfiguration(field: Field) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest { $0.httpAdditionalHeaders = [field.name: field.value] }
        await expectRefusal(of: URLRequest(url: server.url("/")), session, server)
    }

    @Test("The error about a header that is refused names the field and not its value, which may be a password")
    func secrecy() async throws {
        let session = URLSession.forTest { $0.httpAdditionalHeaders = ["Authorization": "Bearer topsecret\n"] }
        defer { session.invalidateAndCancel() }
        let result = await session.load(try #require(URL(string: "http://127.0.0.1:1/")))
        let error = try #require(result.error)
        #expect(error.code == .badURL)
        #expect(error.localizedDescription.contains("Authorization"))
        for text in [error.localizedDescription, "\(error)", "\(error.userInfo)"] {
            #expect(!text.contains("topsecret"))
        }
    }

    @Test(
        "A method that isn't a token fails the task, and nothing is sent",
        arguments: ["GET /evil HTTP/1.1\r\nX:", "GET IT", "GET\r\n", "G\0T", "GET\t", "(GET)"]
    )
    func method(method: String) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        var request = URLRequest(url: server.url("/"))
        request.httpMethod = method
        guard request.httpMethod == method else { return }
        await expectRefusal(of: request, .forTest(), server)
    }

    @Test("A user name or password with a NUL fails the task, and one with a line break is only encoded")
    func userInformation() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let evil = try #require(URL(string: "http://us%00er:pass@127.0.0.1:\(server.port)/"))
        await expectRefusal(of: URLRequest(url: evil), .forTest(), server)
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let odd = try #require(URL(string: "http://us%0D%0Aer:pass@127.0.0.1:\(server.port)/"))
        _ = try await session.data(from: odd)
        let expected = "Basic " + Data("us\r\ner:pass".utf8).base64EncodedString()
        #expect(server.requests[0].headers(named: "Authorization") == [expected])
    }
}
