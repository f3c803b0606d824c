import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("The example of a multipart uploader", .timeLimit(.minutes(1)))
struct MultipartUploaderTests {
    @Test("The multipart uploader names a file that isn't there")
    func missingFile() async throws {
        let uploader = try ExampleProgram.start(
            "multipart-uploader",
            "http://127.0.0.1:1/",
            "file=@/nowhere/file",
            mergesErrors: true
        )
        #expect(await uploader.line()?.hasPrefix("/nowhere/file: ") == true)
        #expect(await uploader.ending() == .exit(1))
    }

    @Test("The multipart uploader sends fields and files as one form, and again if it has to")
    func upload() async throws {
        let server = try LoopbackServer { request in
            request.ordinal == 1 ? .redirect(to: "/there", status: 307) : .text("thanks")
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let small = try directory.file("a \"small\" one", Data("content".utf8))
        let large = try directory.file("large", length: 300_000, seed: 3)
        let link = directory.url.appendingPathComponent("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: large)
        let uploader = try ExampleProgram.start(
            "multipart-uploader",
            server.url("/here").absoluteString,
            "note=x=y",
            "one=@\(small.path)",
            "two=@\(link.path)"
        )
        #expect(await uploader.remainingLines() == ["thanks"])
        #expect(await uploader.ending() == .exit(0))
        let requests = server.requests
        #expect(requests.map(\.path) == ["/here", "/there"])
        for request in requests {
            let type = request.header("Content-Type") ?? ""
            let boundary = try #require(type.components(separatedBy: "boundary=").last)
            #expect(type == "multipart/form-data; boundary=\(boundary)")
            var expected = Data(
                """
                --\(boundary)\r\nContent-Disposition: form-data; name="note"\r\n\r\nx=y\r\n\
                --\(boundary)\r\nContent-Disposition: form-data; name="one"; filename="a %22small%22 one"\r\n\
                Content-Type: application/octet-stream\r\n\r\ncontent\r\n\
                --\(boundary)\r\nContent-Disposition: form-data; name="two"; filename="link"\r\n\
                Content-Type: application/octet-stream\r\n\r\n
                """.utf8
            )
            expected += GeneratedBody.bytes(seed: 3, length: 300_000)
            expected += Data("\r\n--\(boundary)--\r\n".utf8)
            #expect(request.body == expected)
            #expect(request.header("Content-Length") == "\(expected.count)")
        }
    }

    @Test("The multipart uploader tells how far it is, and never has a whole file in memory")
    func memory() async throws {
        let gate = Gate()
        let server = try LoopbackServer { _ in .text("").after([.waitFor(gate)]) }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let length: Int64 = 600 << 20
        let file = try directory.sparseFile(length: length)
        let uploader = try ExampleProgram.start(
            "multipart-uploader",
            server.url.absoluteString,
            "file=@\(file.path)",
            mergesErrors: true
        )
        try await server.waitForRequests(1)
        #expect(ProcessUsage(of: uploader.pid).peak < 350 << 20)
        gate.open()
        let percents = await uploader.remainingLines().compactMap { $0.hasSuffix(" %") ? Int($0.dropLast(2)) : nil }
        #expect(percents == percents.sorted() && percents.last == 100)
        #expect(percents.count > 2)
        #expect(await uploader.ending() == .exit(0))
        #expect(server.bodyBytesReceived > length)
    }

    @Test("The multipart uploader says what the server says, and which file isn't there")
    func failures() async throws {
        let server = try LoopbackServer { _ in .text("too much", status: 413) }
        defer { server.stop() }
        let refused = try ExampleProgram.start(
            "multipart-uploader",
            server.url.absoluteString,
            "a=b",
            mergesErrors: true
        )
        #expect(await refused.remainingLines().last == "the server refused: 413 too much")
        #expect(await refused.ending() == .exit(1))
        let lost = try ExampleProgram.start(
            "multipart-uploader",
            server.url.absoluteString,
            "a=@/no/such",
            mergesErrors: true
        )
        #expect(await lost.remainingLines().count == 1)
        #expect(await lost.ending() == .exit(1))
        #expect(server.requestCount == 1)
    }

    @Test("The multipart uploader ends with Ctrl-C")
    func interruption() async throws {
        let server = try LoopbackServer(answering: .atHead) { _ in .raw([.stopReading, .never]) }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.file("large", length: 10 << 20, seed: 1)
        let uploader = try ExampleProgram.start(
            "multipart-uploader",
            server.url.absoluteString,
            "file=@\(file.path)",
            mergesErrors: true
        )
        _ = try await server.requestHead(number: 1)
        uploader.kill(SIGINT)
        #expect(await uploader.remainingLines().last == "interrupted")
        #expect(await uploader.ending() == .exit(130))
    }
}
