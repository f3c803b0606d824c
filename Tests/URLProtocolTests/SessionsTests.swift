import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import CurlURLProtocol

@Suite("Our sessions below stock sessions", .timeLimit(.minutes(1)))
struct SessionsTests {
    @Test("A load that has its session when the configuration changes still loads with it")
    func changedMeanwhile() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer { _ in .text("hello") }
            let stock = FoundationNetworking.URLSession(configuration: .ephemeral)
            let sessions = Sessions()
            let session = sessions.session(below: stock)
            sessions.configuration = .ephemeral
            let (data, _) = try await session.data(from: server.url("/"))
            #expect(data == Data("hello".utf8))
            #expect(sessions.session(below: stock) !== session)
            server.stop()
        }
    }

    /// A program's own, which looks at the configuration for other sessions whenever it is asked for its own.
    private final class CuriousSession: FoundationNetworking.URLSession, @unchecked Sendable {
        // @unchecked: never changes.
        private let sessions: Sessions

        init(_ sessions: Sessions) {
            self.sessions = sessions
            super.init(configuration: .ephemeral)
        }

        override var configuration: FoundationNetworking.URLSessionConfiguration {
            _ = sessions.configuration
            return super.configuration
        }
    }

    @Test("The program's code may use the sessions while one is being made")
    func programCode() {
        let sessions = Sessions()
        let stock = CuriousSession(sessions)
        let session = sessions.session(below: stock)
        #expect(sessions.session(below: stock) === session)
    }

    @Test("A change of the configuration ends the sessions that have no tasks")
    func ended() throws {
        let stock = FoundationNetworking.URLSession(configuration: .ephemeral)
        let sessions = Sessions()
        weak let session = sessions.session(below: stock)
        #expect(session != nil)
        sessions.configuration = .ephemeral
        #expect(session == nil)
    }
}
