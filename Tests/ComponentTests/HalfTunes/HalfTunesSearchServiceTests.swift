import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import Testing

@testable import halftunes

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

    @Test("A status that means failure is one")
    func status() async throws {
        let server = try LoopbackServer { _ in .status(403) }
        defer { server.stop() }
        await #expect(throws: SearchError.status(403)) {
            try await SearchService(api: server.url).search("bach", limit: 9)
        }
    }
}
