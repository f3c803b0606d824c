import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes asks a catalogue", .timeLimit(.minutes(1)))
struct HalfTunesSearchServiceTests {
    @Test("A new query cancels the one before")
    func cancellation() async throws {
        let gate = Gate()
        let server = try CatalogueServer(delay: .init(term: "beethoven", gate: gate))
        defer { server.stop() }
        let service = SearchService(api: server.url)
        let first = Task { try await service.search("beethoven", limit: 9) }
        _ = try await server.loopback.requestHead(number: 1)
        #expect(try await service.search("bach", limit: 9).count == 4)
        let error = await #expect(throws: URLError.self) { try await first.value }
        #expect(error?.code == .cancelled)
    }

    @Test("A status that means failure fails the search")
    func status() async throws {
        let server = try LoopbackServer { _ in .status(403) }
        defer { server.stop() }
        await #expect(throws: SearchError.status(403)) {
            try await SearchService(api: server.url).search("bach", limit: 9)
        }
    }

    @Test("More songs than were asked for, and an answer that is far too long, are not taken")
    func excess() async throws {
        let song = #"{"artistName": "A", "trackName": "B"}"#
        let answer = #"{"results": [\#(song), \#(song), \#(song)]}"#
        let server = try LoopbackServer { request in
            .text(request.parameter("term") == "long" ? answer + String(repeating: " ", count: 9 << 20) : answer)
        }
        defer { server.stop() }
        let service = SearchService(api: server.url)
        #expect(try await service.search("bach", limit: 2).count == 2)
        await #expect(throws: SearchError.notUnderstood) { try await service.search("long", limit: 2) }
    }
}
