import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Headers of the configuration and of the request", .timeLimit(.minutes(1)))
struct AdditionalHeadersTests {
    private func request(
        _ headers: [String: String] = [:],
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> LoopbackServer.Request {
        let rig = try Rig(handler: { _ in .text("hello") }, configure: configure)
        defer { rig.stop() }
        _ = try await rig.session.data(for: URLRequest(rig.url("/"), headers: headers))
        return rig.server.requests[0]
    }

    @Test("The configuration's headers are sent with every request")
    func additional() async throws {
        let request = try await request { $0.httpAdditionalHeaders = ["X-Session": "value", "User-Agent": "Tests/1"] }
        #expect(request.headers(named: "X-Session") == ["value"])
        #expect(request.headers(named: "User-Agent") == ["Tests/1"])
    }

    @Test("The request's own headers replace the configuration's, whatever the case of their names")
    func requestWins() async throws {
        let request = try await request(["x-SESSION": "request's"]) {
            $0.httpAdditionalHeaders = ["X-Session": "session's", "X-Other": "session's"]
        }
        #expect(request.headers(named: "X-Session") == ["request's"])
        #expect(request.headers(named: "X-Other") == ["session's"])
    }

    @Test("Values need not be strings")
    func otherValues() async throws {
        let request = try await request { $0.httpAdditionalHeaders = ["X-Number": 42] }
        #expect(request.headers(named: "X-Number") == ["42"])
    }

    @Test("Host, User-Agent, Accept, Accept-Language and Accept-Encoding are sent by default, once")
    func defaults() async throws {
        let request = try await request()
        for name in ["Host", "User-Agent", "Accept", "Accept-Language", "Accept-Encoding"] {
            #expect(request.headers(named: name).count == 1, "\(name)")
            #expect(request.header(name)?.isEmpty == false, "\(name)")
        }
    }

    @Test("The program's values replace the default ones", arguments: ["Host", "User-Agent", "Accept"])
    func replaced(name: String) async throws {
        let request = try await request([name: "mine"])
        #expect(request.headers(named: name) == ["mine"])
    }

    @Test("An empty value is sent as one", arguments: ["", " "])
    func emptyValue(value: String) async throws {
        let request = try await request(["X-Empty": value])
        #expect(request.headers(named: "X-Empty") == [""])
    }

    @Test("Values go over the wire as UTF-8, with blanks, colons and commas intact")
    func values() async throws {
        let value = "a: b, c; d=\"e\" ü €"
        let request = try await request(["X-Value": value])
        #expect(request.header("X-Value") == value)
    }
}
