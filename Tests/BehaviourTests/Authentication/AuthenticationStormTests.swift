import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Many challenges at once", .timeLimit(.minutes(1)))
struct AuthenticationStormTests {
    private static let count = 50

    /// Refuses requests when `count` have come that show the same: none of them can profit from another's answer.
    private static func server() throws -> LoopbackServer {
        let (bare, wrong) = (Rendezvous(count), Rendezvous(count))
        return try LoopbackServer { request in
            let shown = request.header("Authorization")
            if shown == Guard.token() { return .text("open") }
            let all = (shown == nil ? bare : wrong).arrive()
            return .text("closed", status: 401).header("WWW-Authenticate", "Basic realm=vault").after([.waitFor(all)])
        }
    }

    /// A gate that opens when so many have come to it.
    private final class Rendezvous: Sendable {
        private let gate = Gate()
        private let missing: Watched<Int>

        init(_ count: Int) {
            missing = Watched(count)
        }

        func arrive() -> Gate {
            let isLast = missing.update { missing in
                missing -= 1
                return missing == 0
            }
            if isLast { gate.open() }
            return gate
        }
    }

    private static func load(_ session: URLSession, _ server: LoopbackServer) async -> [Int?] {
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<count { group.addTask { await session.load(server.url("/")).response?.statusCode } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("Of tasks that are challenged at once one asks, and the others take its answer")
    func one() async throws {
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let rig = try Rig(Self.server(), delegate: delegate) { $0.httpMaximumConnectionsPerHost = Self.count }
        defer { rig.stop() }
        #expect(await Self.load(rig.session, rig.server).allSatisfy { $0 == 200 })
        #expect(delegate.challenges.value.count == 1)
        #expect(rig.server.requestCount == 2 * Self.count)
    }

    @Test("Until the delegate answers, requests that wait for a connection aren't refused, too")
    func queued() async throws {
        let server = try LoopbackServer { request in
            guard request.header("Authorization") != Guard.token() else { return .text("open") }
            return .text("", status: 401).header("WWW-Authenticate", "Basic realm=vault")
        }
        let other = try LoopbackServer { _ in .text("other") }
        defer { other.stop() }
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let rig = Rig(server, delegate: delegate) { $0.httpMaximumConnectionsPerHost = 1 }
        defer { rig.stop() }
        let tasks = (0..<3).map { _ in rig.session.dataTask(with: rig.url("/")) }
        for task in tasks { task.resume() }
        let challenge = try await delegate.challenge(number: 1)
        // Any further request would be sent meanwhile.
        for _ in 0..<2 { #expect(await rig.session.load(other.url("/")).text == "other") }
        challenge.answer(.useCredential, .right())
        for task in tasks { #expect(try await delegate.completion(of: task) == nil) }
        #expect(server.shown.filter { $0 == nil }.count == 1)
    }

    @Test("After a wrong answer to many tasks the delegate is asked once more, and not by each of them")
    func wrong() async throws {
        let delegate = DecidingDelegate(onChallenge: { asked in
            asked.answer(.useCredential, asked.challenge.previousFailureCount == 0 ? .wrong() : .right())
        })
        let rig = try Rig(Self.server(), delegate: delegate) { $0.httpMaximumConnectionsPerHost = Self.count }
        defer { rig.stop() }
        #expect(await Self.load(rig.session, rig.server).allSatisfy { $0 == 200 })
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 1])
        #expect(rig.server.requestCount == 3 * Self.count)
    }

    @Test("If the answer brings no credential, each waiting task asks in its turn")
    func none() async throws {
        let asking = Watched((now: 0, most: 0))
        let delegate = DecidingDelegate(onChallenge: { asked in
            asking.update { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            DispatchQueue.global().async {
                asking.update { $0.now -= 1 }
                asked.answer(.performDefaultHandling, nil)
            }
        })
        let rig = try Rig(Self.server(), delegate: delegate) { $0.httpMaximumConnectionsPerHost = Self.count }
        defer { rig.stop() }
        #expect(await Self.load(rig.session, rig.server).allSatisfy { $0 == 401 })
        #expect(delegate.challenges.value.count == Self.count)
        #expect(asking.value.most == 1)
    }

    @Test("Cancelling the task that asks lets another one ask")
    func cancelled() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let tasks = (0..<3).map { _ in session.dataTask(with: server.url("/")) }
        for task in tasks { task.resume() }
        let first = try await delegate.challenge(number: 1)
        let asking = try #require(tasks.first { $0.taskIdentifier == first.task })
        asking.cancel()
        #expect(try await delegate.completion(of: asking)?.code == .cancelled)
        let second = try await delegate.challenge(number: 2)
        #expect(second.task != first.task)
        second.answer(.useCredential, .right())
        for task in tasks where task !== asking { #expect(try await delegate.completion(of: task) == nil) }
        #expect(delegate.challenges.value.count == 2)
    }

    @Test("A task that waits for another's answer can be cancelled")
    func waiting() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let tasks = (0..<2).map { _ in session.dataTask(with: server.url("/")) }
        for task in tasks { task.resume() }
        let first = try await delegate.challenge(number: 1)
        let waiting = try #require(tasks.first { $0.taskIdentifier != first.task })
        try await server.waitForRequests(2)
        waiting.cancel()
        #expect(try await delegate.completion(of: waiting)?.code == .cancelled)
        first.answer(.useCredential, .right())
        let asking = try #require(tasks.first { $0 !== waiting })
        #expect(try await delegate.completion(of: asking) == nil)
        #expect(delegate.challenges.value.count == 1)
    }

    @Test("Tasks with different protection spaces don't wait for each other")
    func spaces() async throws {
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let rig = try Rig(delegate: delegate) { request in
            .status(401).header("WWW-Authenticate", "Basic realm=\(request.path.dropFirst())")
        }
        defer { rig.stop() }
        for realm in ["a", "b", "c"] { rig.session.dataTask(with: rig.url("/\(realm)")).resume() }
        _ = try await delegate.challenge(number: 3)
        #expect(Set(delegate.challenges.value.map(\.space.realm)) == ["a", "b", "c"])
    }
}
