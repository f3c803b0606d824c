import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
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

    @Test("A coded body arrives decoded, and its length is unknown", arguments: ["gzip", "deflate"])
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

    @Test("The codings that can be decoded here are offered, once")
    func offered() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/"))
        let offers = rig.server.requests[0].headers(named: "Accept-Encoding")
        #expect(offers.count == 1)
        let codings = offers.first?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } ?? []
        #expect(codings == ["deflate", "gzip", "br", "zstd"])
    }

    @Test("The offer is the same where a program can have a say in it")
    func libcurlsOffer() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        // There the field is libcurl's own.
        for configure in [nil, { @Sendable (_: inout CurlTransfer, _: URLRequest) in }] {
            let session = URLSession.forTest { $0.curl.configureTransfer = configure }
            defer { session.invalidateAndCancel() }
            _ = try await session.data(from: server.url("/"))
        }
        let offers = server.requests.map { $0.headers(named: "Accept-Encoding") }
        #expect(offers.count == 2 && offers[0] == offers[1])
    }

    @Test("With a range nothing is offered, even where a program can have a say in it")
    func rangesOffer() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        for configure in [nil, { @Sendable (_: inout CurlTransfer, _: URLRequest) in }] {
            let session = URLSession.forTest { $0.curl.configureTransfer = configure }
            defer { session.invalidateAndCancel() }
            _ = try await session.data(for: URLRequest(server.url("/"), headers: ["Range": "bytes=1-2"]))
        }
        #expect(server.requests.map { $0.headers(named: "Accept-Encoding") } == [["identity"], ["identity"]])
    }

    @Test("The program can offer other codings")
    func ownOffer() async throws {
        let rig = try Rig { _ in .text("hello") }
        defer { rig.stop() }
        _ = try await rig.session.data(for: URLRequest(rig.url("/"), headers: ["Accept-Encoding": "identity"]))
        #expect(rig.server.requests[0].headers(named: "Accept-Encoding") == ["identity"])
    }

    @Test("A body that isn't what its coding says fails the task")
    func damaged() async throws {
        let rig = try Rig { _ in .text("this is not gzip at all").header("Content-Encoding", "gzip") }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).error?.code == .cannotDecodeRawData)
    }

    @Test("A coded body that is cut short fails the task")
    func truncated() async throws {
        let rig = try Rig { _ in
            let coded = Data(base64Encoded: Self.codings["gzip"] ?? "") ?? Data()
            return .data(coded.prefix(20)).header("Content-Encoding", "gzip").header("Content-Length", "\(coded.count)")
                .closing()
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).error?.code == .networkConnectionLost)
    }

    // MARK: - What comes

    private func load(
        _ response: LoopbackServer.Response,
        headers: [String: String] = [:],
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> HandlerResult {
        let rig = try Rig(handler: { _ in response }, configure: configure)
        defer { rig.stop() }
        return await rig.session.load(URLRequest(rig.url("/"), headers: headers))
    }

    private static let forms: [(fields: [String], body: Data)] = [
        (["gzip"], CodedBodies.gzip), (["X-GZIP"], CodedBodies.gzip), (["deflate"], CodedBodies.wrappedDeflate),
        (["deflate"], CodedBodies.bareDeflate), (["br"], CodedBodies.brotli), (["br"], CodedBodies.brotliOfSmallWindow),
        (["zstd"], CodedBodies.zstd), (["br, gzip"], storedGzip(CodedBodies.brotli)),
        (["zstd", " , GZip"], storedGzip(CodedBodies.zstd)), (["identity, gzip"], CodedBodies.gzip),
        (["gzip"], CodedBodies.gzip + Data("what follows is dropped".utf8)),
    ]

    @Test("Every coding is decoded, and several of them in their order", arguments: forms.indices)
    func codings(form: Int) async throws {
        var response = LoopbackServer.Response.data(Self.forms[form].body)
        for field in Self.forms[form].fields { response = response.header("Content-Encoding", field) }
        let result = try await load(response)
        #expect(result.data == CodedBodies.text, "\(String(describing: result.error))")
        #expect(result.response?.expectedContentLength == NSURLSessionTransferSizeUnknown)
        #expect(result.response?.value(forHTTPHeaderField: "Content-Length") == nil)
    }

    @Test(
        "An unknown coding leaves the body as it came",
        arguments: ["aws-chunked", "gzip, aws-chunked", "rot13", "identity"]
    )
    func unknown(coding: String) async throws {
        let result = try await load(.data(CodedBodies.gzip).header("Content-Encoding", coding))
        #expect(result.data == CodedBodies.gzip)
        #expect(result.response?.value(forHTTPHeaderField: "Content-Encoding") == coding)
        #expect(result.response?.expectedContentLength == Int64(CodedBodies.gzip.count))
    }

    @Test("A coding that wasn't asked for is decoded all the same")
    func unasked() async throws {
        let response = LoopbackServer.Response.data(CodedBodies.gzip).header("Content-Encoding", "gzip")
        #expect(try await load(response, headers: ["Accept-Encoding": "identity"]).data == CodedBodies.text)
    }

    @Test(
        "Nothing is decoded where the program has libcurl offer nothing, or decode nothing",
        arguments: [true, false]
    )
    func off(offersNothing: Bool) async throws {
        let response = LoopbackServer.Response.data(CodedBodies.gzip).header("Content-Encoding", "gzip")
        let result = try await load(response) {
            $0.curl.configureTransfer = { transfer, _ in
                if offersNothing {
                    try transfer.set("ACCEPT_ENCODING", nil)
                } else {
                    try transfer.set("HTTP_CONTENT_DECODING", false)
                }
            }
        }
        #expect(result.data == CodedBodies.gzip)
        let other = try await load(response) {
            $0.curl.configureTransfer = { transfer, _ in try transfer.set("ACCEPT_ENCODING", "gzip") }
        }
        #expect(other.data == CodedBodies.text)
    }

    @Test(
        "Responses without a body have nothing to decode",
        arguments: [("HEAD", 200), ("GET", 204), ("GET", 304), ("GET", 200)]
    )
    func bodiless(method: String, status: Int) async throws {
        let rig = try Rig { _ in .status(status).header("Content-Encoding", "br, gzip") }
        defer { rig.stop() }
        let result = await rig.session.load(URLRequest(rig.url("/"), method: method))
        #expect(result.error == nil && result.data == Data() && result.response?.statusCode == status)
    }

    @Test("A body that ends before its coding does fails, and the error names the coding")
    func incomplete() async throws {
        let result = try await load(.data(CodedBodies.zstd.dropLast(1)).header("Content-Encoding", "zstd"))
        #expect(result.error?.code == .cannotDecodeRawData)
        #expect(result.error?.localizedDescription.contains("zstd") == true)
        #expect(result.error?.phase == "receiving")
    }

    @Test("A part of a coded body need not be a whole")
    func part() async throws {
        let part = LoopbackServer.Response.data(CodedBodies.gzip.prefix(900), status: 206).headers([
            "Content-Encoding": "gzip", "Content-Range": "bytes 0-899/\(CodedBodies.gzip.count)",
        ])
        let result = try await load(part, headers: ["Range": "bytes=0-899"])
        let data = try #require(result.data)
        #expect(result.error == nil && !data.isEmpty && CodedBodies.text.starts(with: data))
    }

    @Test("A part from the middle of a coded body is delivered as it came")
    func middle() async throws {
        let (rest, length) = (CodedBodies.gzip.dropFirst(100), CodedBodies.gzip.count)
        let part = LoopbackServer.Response.data(rest, status: 206).headers([
            "Content-Encoding": "gzip", "Content-Range": "bytes 100-\(length - 1)/\(length)",
        ])
        let result = try await load(part, headers: ["Range": "bytes=100-", "Accept-Encoding": "gzip"])
        #expect(result.data == rest, "\(String(describing: result.error))")
        #expect(result.response?.value(forHTTPHeaderField: "Content-Encoding") == "gzip")
        #expect(result.response?.expectedContentLength == Int64(rest.count))
    }

    @Test("A body with more than a few codings fails the task")
    func tooMany() async throws {
        let codings = Array(repeating: "gzip", count: 6).joined(separator: ",")
        let result = try await load(.data(CodedBodies.gzip).header("Content-Encoding", codings))
        #expect(result.error?.code == .cannotDecodeContentData)
    }

    @Test(
        "A transfer coding that wasn't asked for fails the task before it decodes to anything",
        arguments: ["gzip, chunked", "rot13"]
    )
    func transferCoding(coding: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n"
        let result = try await load(.raw([.bytes(head), .bytes("1\r\na\r\n0\r\n\r\n"), .close]))
        #expect(result.error?.code == .cannotDecodeContentData)
    }

    @Test("A delegate gets what could be decoded, and then the error")
    func delegateAndError() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in
            .data(CodedBodies.gzip.dropLast(8)).header("Content-Encoding", "gzip")
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/"))
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .cannotDecodeRawData)
        #expect(delegate.body(of: task) == CodedBodies.text)
    }

    @Test("A coded response is stored with its decoded body")
    func cached() async throws {
        let rig = try Rig { _ in
            .data(CodedBodies.brotli).header("Content-Encoding", "br").header("Cache-Control", "max-age=100")
        } configure: {
            $0.urlCache = CurlURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        }
        defer { rig.stop() }
        for _ in 0..<2 {
            let (bytes, _) = try await rig.session.bytes(from: rig.url("/"))
            var body = Data()
            for try await chunk in bytes.chunks { body.append(chunk) }
            #expect(body == CodedBodies.text)
        }
        #expect(rig.server.requestCount == 1)
    }
}
