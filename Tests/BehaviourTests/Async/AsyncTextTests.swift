import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Text out of AsyncBytes", .timeLimit(.minutes(1)))
struct AsyncTextTests {
    /// A server that sends `text` byte by byte, so that no boundary is spared.
    private func server(_ text: Data) throws -> LoopbackServer {
        let steps = text.map { LoopbackServer.Step.bytes(Data([$0])) }
        return try LoopbackServer { _ in .chunked(steps) }
    }

    @Test("Lines end with every line end that Apple's do, and empty ones are left out")
    func lines() async throws {
        let text = "one\ntwo\r\nthree\rfour\u{0B}five\u{0C}six\u{85}seven\u{2028}eight\u{2029}\n\nnine \n\r\n last"
        let server = try server(Data(text.utf8))
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        var lines: [String] = []
        for try await line in try await session.bytes(from: server.url("/")).0.lines { lines.append(line) }
        #expect(lines == ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine ", " last"])
    }

    @Test("Server-sent events arrive line by line, each as soon as it's complete")
    func events() async throws {
        let gate = Gate()
        let rig = try Rig { _ in
            .chunked(
                [.bytes("data: {\"token\":\"Grüße\"}\n\n"), .waitFor(gate), .bytes("data: [DONE]\n\n")],
                contentType: "text/event-stream"
            )
        }
        defer { rig.stop() }
        var lines = try await rig.session.bytes(from: rig.url("/")).0.lines.makeAsyncIterator()
        #expect(try await lines.next() == "data: {\"token\":\"Grüße\"}")
        gate.open()
        #expect(try await lines.next() == "data: [DONE]")
        #expect(try await lines.next() == nil)
    }

    @Test("Characters are whole, however many bytes and scalars they have")
    func characters() async throws {
        let text = "aé\u{65}\u{301}👩‍👩‍👧‍👦🇩🇪\r\nz"
        let server = try server(Data(text.utf8))
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        var characters: [Character] = []
        for try await character in try await session.bytes(from: server.url("/")).0.characters {
            characters.append(character)
        }
        #expect(characters == Array(text))
    }

    @Test("Scalars are decoded, and what isn't UTF-8 becomes U+FFFD")
    func scalars() async throws {
        let bytes = Data("aß€😀".utf8) + Data([0xFF, 0x41, 0xE2, 0x82, 0x42, 0xC0, 0x80, 0xED, 0xA0, 0x80, 0xF0, 0x9F])
        let server = try server(bytes)
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        var scalars = String.UnicodeScalarView()
        for try await scalar in try await session.bytes(from: server.url("/")).0.unicodeScalars {
            scalars.append(scalar)
        }
        #expect(String(scalars) == String(decoding: bytes, as: UTF8.self))
    }

    @Test("An error ends the lines that came before it")
    func failure() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\none\ntw"
        let rig = try Rig { _ in .raw([.bytes(answer), .close]) }
        defer { rig.stop() }
        var lines = try await rig.session.bytes(from: rig.url("/")).0.lines.makeAsyncIterator()
        #expect(try await lines.next() == "one")
        let error = await #expect(throws: URLError.self) { while try await lines.next() != nil {} }
        #expect(error?.code == .networkConnectionLost)
    }
}
