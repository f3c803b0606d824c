import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("A range beyond the end (416)", .timeLimit(.minutes(1)))
struct ResumeNotSatisfiableTests {
    typealias Response = LoopbackServer.Response

    static let held = ResumeOrigin.heldAt
    static let whole = ResumeOrigin.bytes.prefix(Int(held))

    /// The first answer has no length, and stops when all of the body, but not its end, has been sent.
    private static func unknownLengthOrigin(
        next: @escaping @Sendable (LoopbackServer.Request) -> Response
    ) throws -> ResumeOrigin {
        try ResumeOrigin(first: ["ETag": ResumeOrigin.etag], isChunked: true, next: next)
    }

    @Test("A 416 that names the length of the partial file finishes the download", arguments: [true, false])
    func complete(repeatsValidator: Bool) async throws {
        let origin = try Self.unknownLengthOrigin { request in
            let response = Response.text("No more").status(416, contentRange: "bytes */150000")
            return repeatsValidator ? response.header("ETag", ResumeOrigin.etag) : response
        }
        let paused = try await PausedDownload(from: origin)
        let resumed = try await paused.resume()
        #expect(resumed.error == nil)
        #expect(resumed.body == Self.whole)
        #expect(resumed.story == ["created", "resumed", "finished downloading", "completed"])
        #expect(resumed.events.contains(.resumed(offset: Self.held, expected: Self.held)))
        #expect(resumed.task.countOfBytesReceived == Self.held)
        #expect((resumed.task.response as? HTTPURLResponse).map { (200..<300).contains($0.statusCode) } == true)
        #expect(paused.directory.content == [])
    }

    static let misfits: [(String, KeyValuePairs<String, String>)] = [
        ("another length", ["Content-Range": "bytes */149999"]),
        ("a longer length", ["Content-Range": "bytes */150001"]),
        ("no length", ["Content-Range": "bytes */*"]),
        ("no Content-Range", [:]),
        ("another entity tag", ["Content-Range": "bytes */150000", "ETag": "\"version-2\""]),
    ]

    @Test("A 416 that names anything else starts the download over", arguments: misfits.indices)
    func misfit(index: Int) async throws {
        let origin = try Self.unknownLengthOrigin { request in
            guard request.ordinal == 2 else { return .resource(ResumeOrigin.changedBody, for: request) }
            return Self.misfits[index].1.reduce(Response.text("No").status(416, contentRange: nil)) {
                $0.header($1.key, $1.value)
            }
        }
        let paused = try await PausedDownload(from: origin)
        let resumed = try await paused.resume()
        #expect(resumed.error == nil, "\(Self.misfits[index].0)")
        #expect(resumed.body == ResumeOrigin.changedBytes)
        #expect(!resumed.hasContinued)
        #expect(origin.server.requestCount == 3)
        #expect(origin.server.requests.last?.header("Range") == nil)
        #expect(paused.directory.content == [])
    }

    @Test("A 416 that contradicts the known length starts the download over")
    func contradiction() async throws {
        let origin = try ResumeOrigin { request in
            guard request.ordinal == 2 else { return .resource(ResumeOrigin.changedBody, for: request) }
            return Response.status(416).header("Content-Range", "bytes */150000")
        }
        let resumed = try await PausedDownload(from: origin).resume()
        #expect(resumed.body == ResumeOrigin.changedBytes)
    }

    @Test("A 416 to a request without a range is an answer like any other")
    func twice() async throws {
        let origin = try ResumeOrigin { _ in .text("No", status: 416) }
        let resumed = try await PausedDownload(from: origin).resume()
        #expect(resumed.error == nil)
        #expect((resumed.task.response as? HTTPURLResponse)?.statusCode == 416)
        #expect(resumed.body == Data("No".utf8))
        #expect(origin.server.requestCount == 3)
    }
}
