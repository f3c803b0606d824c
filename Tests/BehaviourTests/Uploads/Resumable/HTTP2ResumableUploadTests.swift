import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Resumable uploads over HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2ResumableUploadTests {
    private typealias Server = ScriptedHTTP2Server

    /// What the server says that it has, in bytes: less than a stream's first window.
    private static let offset = 20_000

    /// A final response without a body.
    private static func end(_ status: Int, complete: Bool, offset: Int? = nil) -> Server.Step {
        let offset = offset.map { [(name: "upload-offset", value: "\($0)")] } ?? []
        let fields = [
            (name: ":status", value: "\(status)"), (name: "upload-draft-interop-version", value: "6"),
            (name: "upload-complete", value: complete ? "?1" : "?0"),
        ]
        return .headers(Server.trailers(fields + offset), ends: true)
    }

    @Test("A server that sends 104s without end over HTTP/2 is stopped")
    func endless() async throws {
        let offer = Server.Step.headers(
            Server.trailers([
                (name: ":status", value: "104"), (name: "upload-draft-interop-version", value: "6"),
                (name: "location", value: "/uploads/1"), (name: "x", value: String(repeating: "x", count: 1000)),
            ]),
            ends: false
        )
        let never = Gate()
        defer { never.open() }
        let server = try Server { _ in Array(repeating: offer, count: 1000) + [.waitFor(never)] }
        defer { server.stop() }
        let delegate = UploadDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.curl.httpVersion = .http2PriorKnowledge }
        defer { session.invalidateAndCancel() }
        session.uploadTask(with: URLRequest(server.url("/files"), method: "POST"), from: Data("a".utf8)).resume()
        let error = try #require(try await delegate.completion())
        #expect([.badServerResponse, .networkConnectionLost].contains(error.code))
    }

    @Test("A 104 is heard, and the rest is sent on another connection", arguments: [UploadRig.Kind.data, .stream])
    func resumes(kind: UploadRig.Kind) async throws {
        let delegate = UploadDelegate(UploadRig.content)
        let breaks = Gate()
        defer { breaks.open() }
        let server = try Server { request in
            switch request.number {
            case 1:
                let offer = [
                    (name: ":status", value: "104"), (name: "upload-draft-interop-version", value: "6"),
                    (name: "location", value: "/uploads/1"),
                ]
                return [.headers(Server.trailers(offer), ends: false), .waitFor(breaks), .hangUp]
            case 2: return [Self.end(204, complete: false, offset: Self.offset)]
            default: return [.waitForBody, Self.end(200, complete: true)]
            }
        }
        defer { server.stop() }
        let session = URLSession.forTest(delegate: delegate) { $0.curl.httpVersion = .http2PriorKnowledge }
        defer { session.invalidateAndCancel() }
        let request = URLRequest(server.url("/files"), method: "POST")
        let task =
            kind == .data
            ? session.uploadTask(with: request, from: UploadRig.content)
            : session.uploadTask(withStreamedRequest: request)
        task.resume()
        try await delegate.offered.wait()
        try await server.state.wait { $0.bodies[1]?.count ?? 0 >= Self.offset }
        breaks.open()
        #expect(try await delegate.completion() == nil)
        #expect(delegate.record.value.informational == [104])
        let state = server.state.value
        #expect(state.requests.count == 3)
        #expect(state.bodies[3] == UploadRig.content.dropFirst(Self.offset))
        #expect(delegate.record.value.streams == (kind == .stream ? [0, Int64(Self.offset)] : []))
    }
}
