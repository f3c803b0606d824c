import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Which delegate is asked about a challenge", .timeLimit(.minutes(1)))
struct AuthenticationWhoIsAskedTests {
    typealias Answer = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// Implements the session's method alone.
    private final class SessionLevel: NSObject, URLSessionTaskDelegate {
        let asked = Watched<[String]>([])

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            asked.update { $0.append(challenge.protectionSpace.authenticationMethod) }
            completionHandler(.rejectProtectionSpace, nil)
        }
    }

    /// Implements both methods.
    private final class BothLevels: NSObject, URLSessionTaskDelegate {
        let asked = Watched<[String]>([])

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            asked.update { $0.append("session") }
            completionHandler(.rejectProtectionSpace, nil)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping Answer
        ) {
            asked.update { $0.append("task") }
            completionHandler(.rejectProtectionSpace, nil)
        }
    }

    /// Implements the task's method in the async form.
    private final class AsyncForm: NSObject, URLSessionTaskDelegate {
        let asked = Watched(0)

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            await Task.yield()
            asked.update { $0 += 1 }
            return (.useCredential, .right())
        }
    }

    /// Implements the session's method in the async form.
    private final class AsyncSessionLevel: NSObject, URLSessionTaskDelegate {
        let asked = Watched(0)

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            asked.update { $0 += 1 }
            return (.cancelAuthenticationChallenge, nil)
        }
    }

    private final class Indifferent: NSObject, URLSessionTaskDelegate {}

    private static func load(
        _ challenge: String,
        session sessionDelegate: (any URLSessionDelegate)?,
        task taskDelegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> Int? {
        let server = try Guard.basic(challenge)
        defer { server.stop() }
        let session = URLSession.forTest(delegate: sessionDelegate)
        defer { session.invalidateAndCancel() }
        let (_, response) = try await session.data(from: server.url("/"), delegate: taskDelegate)
        return (response as? HTTPURLResponse)?.statusCode
    }

    @Test("A server's challenge goes to the task's method alone")
    func serverChallenge() async throws {
        let only = SessionLevel()
        #expect(try await Self.load(#"Basic realm="vault""#, session: only) == 401)
        #expect(only.asked.value.isEmpty)
        let both = BothLevels()
        #expect(try await Self.load(#"Basic realm="vault""#, session: both) == 401)
        #expect(both.asked.value == ["task"])
    }

    @Test("A connection's challenge goes to the session's method", arguments: ["NTLM", "Negotiate"])
    func connectionChallenge(scheme: String) async throws {
        let both = BothLevels()
        #expect(try await Self.load(scheme, session: both) == 401)
        #expect(both.asked.value == ["session"])
        let only = SessionLevel()
        #expect(try await Self.load(scheme, session: only) == 401)
        #expect(only.asked.value == ["NSURLAuthenticationMethod\(scheme)"])
    }

    @Test(
        "A connection's challenge goes to the task's method if the session's isn't implemented",
        arguments: ["NTLM", "Negotiate"]
    )
    func connectionChallengeWithoutMethod(scheme: String) async throws {
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.rejectProtectionSpace, nil) })
        let server = try Guard.basic(scheme)
        defer { server.stop() }
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load(server.url("/"))
        #expect(result.response?.statusCode == 401)
        #expect(delegate.challenges.value.count == 1)
        #expect(delegate.challenges.value[0].queue === session.delegateQueue)
    }

    @Test("The task's own delegate comes before the session's, which gets what that one doesn't implement")
    func ownDelegate() async throws {
        let sessions = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        let own = DecidingDelegate(onChallenge: { $0.answer(.rejectProtectionSpace, nil) })
        #expect(try await Self.load(#"Basic realm="vault""#, session: sessions, task: own) == 401)
        #expect(own.challenges.value.count == 1)
        #expect(sessions.challenges.value.isEmpty)
        #expect(try await Self.load(#"Basic realm="vault""#, session: sessions, task: Indifferent()) == 200)
        #expect(sessions.challenges.value.count == 1)
    }

    @Test("A task's own delegate answers challenges in a session without one")
    func alone() async throws {
        let own = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })
        #expect(try await Self.load(#"Basic realm="vault""#, session: nil, task: own) == 200)
    }

    @Test(
        "If neither delegate implements the methods, the 401 is the response without a question",
        arguments: ["NTLM", #"Basic realm="vault""#]
    )
    func nobody(challenge: String) async throws {
        #expect(try await Self.load(challenge, session: Indifferent(), task: Indifferent()) == 401)
    }

    @Test("Delegates may implement the async forms of the methods")
    func asyncForms() async throws {
        let form = AsyncForm()
        #expect(try await Self.load(#"Basic realm="vault""#, session: form) == 200)
        #expect(form.asked.value == 1)
        #expect(try await Self.load(#"Basic realm="vault""#, session: form, task: Indifferent()) == 200)
        #expect(form.asked.value == 2)
        let sessionForm = AsyncSessionLevel()
        await #expect { try await Self.load("NTLM", session: sessionForm) } throws: {
            ($0 as? URLError)?.code == .cancelled
        }
        #expect(sessionForm.asked.value == 1)
        // Its task's method is nobody's.
        #expect(try await Self.load(#"Basic realm="vault""#, session: sessionForm) == 401)
    }
}
