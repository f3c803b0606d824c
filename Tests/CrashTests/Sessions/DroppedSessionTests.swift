import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Sessions that are dropped without being invalidated", .timeLimit(.minutes(1)))
struct DroppedSessionTests {
    @Test("A session can be dropped unused, with suspended, running or cancelled tasks")
    func dropped() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer { _ in .generated(length: 200_000, seed: 1) }
            let finished = Watched(0)
            @Sendable func drop(_ number: Int) {
                let session = URLSession.forTest()
                guard number % 5 > 0 else { return }
                let task = session.dataTask(with: server.url("/")) { _, _, _ in finished.update { $0 += 1 } }
                if number % 5 > 1 { task.resume() }
                if number % 5 == 3 { task.cancel() }
                if number % 5 == 4 { session.downloadTask(with: server.url("/")).resume() }
            }
            DispatchQueue.concurrentPerform(iterations: 500) { drop($0) }
            // All that were resumed.
            try await finished.wait { $0 >= 300 }
            try await server.waitUntilNoConnections()
            #expect(finished.value == 300)
            server.stop()
        }
    }

    @Test("A dropped session leaves nothing of itself behind, used or not")
    func released() async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        for isUsed in [true, false] {
            weak var core: SessionCore?
            func drop() async throws {
                let session = URLSession.forTest()
                core = session.core
                if isUsed { _ = try await session.data(from: server.url("/")) }
            }
            try await drop()
            try await eventually { core == nil }
        }
    }
}
