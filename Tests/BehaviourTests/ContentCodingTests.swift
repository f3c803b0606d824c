import CurlNetworking
import Foundation
import LoopbackServer
import TestSupport
import Testing

@Suite("Content codings", .timeLimit(.minutes(1)))
struct ContentCodingTests {
    static let text = String(repeating: "hello, hello, hello! ", count: 200)
    static let codings = [
        "gzip": "H4sIAAAAAAACA+3IoQ0AIAwAwVWoZy2Siibd39WCY4BTn788Vb1XXonnIIQQQgghhBBCCD9xABE3BrJoEAAA",
        "deflate": "eJztyKENACAMAMFVqGctkoom3d/VgmOAU5+/PFW9V16J5yCEEEIIIYQQQgg/cQC+wYi0",
    ]

    private func server(_ coding: String) throws -> LoopbackServer {
        let coded = try #require(Data(base64Encoded: Self.codings[coding] ?? ""))
        return try LoopbackServer { _ in
            .data(coded, contentType: "text/plain").header("Content-Encoding", coding)
        }
    }

    @Test("What the server has coded arrives decoded, its length unknown", arguments: ["gzip", "deflate"])
    func decoded(coding: String) async throws {
        let server = try server(coding)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: server.url("/"))
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data(Self.text.utf8))
        #expect(task.response?.expectedContentLength == NSURLSessionTransferSizeUnknown)
        #expect(task.countOfBytesExpectedToReceive == NSURLSessionTransferSizeUnknown)
        #expect(task.countOfBytesReceived == Int64(Self.text.utf8.count))
    }

    @Test("Every way to load decodes")
    func everyWay() async throws {
        let server = try server("gzip")
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let expected = Data(Self.text.utf8)
        #expect(await session.load(server.url("/")).data == expected)
        #expect(try await session.data(from: server.url("/")).0 == expected)
        let (file, _) = try await session.download(from: server.url("/"))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == expected)
        var bytes = Data()
        for try await chunk in try await session.bytes(from: server.url("/")).0.chunks { bytes.append(chunk) }
        #expect(bytes == expected)
    }

    @Test("The codings that this libcurl can decode are offered, once")
    func offered() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url("/"))
        let offers = server.requests[0].headers(named: "Accept-Encoding")
        #expect(offers.count == 1)
        let codings = offers.first?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } ?? []
        #expect(codings.contains("gzip") && codings.contains("deflate"))
    }

    @Test("The offer is the one that libcurl would make by itself")
    func libcurlsOffer() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        // Where a program can have a say in the option, the field is libcurl's own.
        for configure in [nil, { @Sendable (_: inout CurlTransfer, _: URLRequest) in }] {
            let session = URLSession.forTest { $0.curl.configureTransfer = configure }
            defer { session.invalidateAndCancel() }
            _ = try await session.data(from: server.url("/"))
        }
        let offers = server.requests.map { $0.headers(named: "Accept-Encoding") }
        #expect(offers.count == 2 && offers[0] == offers[1])
    }

    @Test("The program can offer others")
    func ownOffer() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        _ = try await session.data(for: URLRequest(server.url("/"), headers: ["Accept-Encoding": "identity"]))
        #expect(server.requests[0].headers(named: "Accept-Encoding") == ["identity"])
    }

    @Test("A body that isn't what its coding says fails the task")
    func damaged() async throws {
        let server = try LoopbackServer { _ in .text("this is not gzip at all").header("Content-Encoding", "gzip") }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).error?.code == .cannotDecodeRawData)
    }

    @Test("A coded body that is cut short fails the task")
    func truncated() async throws {
        let server = try LoopbackServer { _ in
            let coded = Data(base64Encoded: Self.codings["gzip"] ?? "") ?? Data()
            return .data(coded.prefix(20)).header("Content-Encoding", "gzip").header("Content-Length", "\(coded.count)")
                .closing()
        }
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).error?.code == .networkConnectionLost)
    }
}
