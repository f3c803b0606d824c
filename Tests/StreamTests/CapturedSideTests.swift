import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Sides of captured connections", .timeLimit(.minutes(1)))
struct CapturedSideTests {
    /// Asks about its stream when it is released.
    private final class CuriousDelegate: NSObject, StreamDelegate {
        private let side: CapturedSide

        init(of side: CapturedSide) {
            self.side = side
        }

        deinit {
            _ = side.status
        }
    }

    @Test("A captured stream's delegate that is released at any moment may use the stream while it is")
    func releasedDelegate() async throws {
        let sockets = try SocketPair()
        let connection = try #require(CapturedConnection(sockets.near, tls: nil, surplus: Data()))
        let side = CapturedSide(connection, .write)
        nonisolated(unsafe) let stream = OutputStream(toMemory: ())
        side.open(stream)
        let done = Gate()
        onOtherThread {
            while !done.isOpen { _ = side.note(.count(1)) }
        }
        onOtherThread {
            for _ in 0..<20_000 { side.setDelegate(CuriousDelegate(of: side), of: stream) }
            done.open()
        }
        try await done.wait()
    }
}
