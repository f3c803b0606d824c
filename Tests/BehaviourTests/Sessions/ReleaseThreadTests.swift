import CurlNetworking
import CurlTransport
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Where the program's objects are released", .timeLimit(.minutes(1)))
struct ReleaseThreadTests {
    // The objects of a session, in which something leaves with them. @unchecked as their superclasses are; the properties never change.
    private final class LeavingCache: URLCache, @unchecked Sendable {
        private let leaving: Leaving

        init(_ leaving: Leaving) {
            self.leaving = leaving
            super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: nil)
        }
    }

    private final class LeavingCredentials: URLCredentialStorage, @unchecked Sendable {
        private let leaving: Leaving

        init(_ leaving: Leaving) {
            self.leaving = leaving
        }
    }

    private final class LeavingQueue: OperationQueue, @unchecked Sendable {
        private let leaving: Leaving

        init(_ leaving: Leaving) {
            self.leaving = leaving
        }
    }

    @Test(
        "A session's storages, queue, closures and header fields are not released on its loop",
        arguments: [true, false]
    )
    func session(isInvalidated: Bool) async throws {
        let server = try LoopbackServer { _ in .text("hello") }
        defer { server.stop() }
        let endings = Watched<[Bool]>([])
        let configurations = Watched<[Bool]>([])
        do {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = LeavingCache(Leaving(endings))
            configuration.urlCredentialStorage = LeavingCredentials(Leaving(endings))
            configuration.httpAdditionalHeaders = [Leaving(endings): "value"]
            configuration.curl.configureTransfer = { [leaving = Leaving(endings)] _, _ in
                let isOnLoop = EventLoop.isCurrent
                withExtendedLifetime(leaving) { configurations.update { $0.append(isOnLoop) } }
            }
            configuration.curl.trace = .init { [leaving = Leaving(endings)] _, _ in withExtendedLifetime(leaving) {} }
            let queue = LeavingQueue(Leaving(endings))
            queue.maxConcurrentOperationCount = 1
            let session = URLSession(configuration: configuration, delegate: nil, delegateQueue: queue)
            let (data, _) = try await session.data(from: server.url("/"))
            #expect(data == Data("hello".utf8))
            if isInvalidated { session.finishTasksAndInvalidate() }
        }
        try await endings.wait { $0.count == 6 }
        #expect(endings.value == Array(repeating: false, count: 6))
        #expect(configurations.value == [true])
        #expect(!EventLoop.isCurrent)
    }
}
