import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Challenges of a program's own protocol class", .timeLimit(.minutes(1)))
struct ProtocolChallengeTests {
    /// Takes the answer in a class's name, and goes on with it as its load's answer.
    private final class Sender: NSObject, URLAuthenticationChallengeSender, @unchecked Sendable {
        // @unchecked: never changes.
        private let load: MockProtocol
        let answers: Watched<[String]>

        init(_ load: MockProtocol, _ answers: Watched<[String]>) {
            self.load = load
            self.answers = answers
        }

        private func take(_ answer: String) {
            answers.update { $0.append(answer) }
            load.answer(answer)
        }

        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
            take("\(credential.user ?? ""):\(credential.password ?? "")")
        }

        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { take("none") }
        func cancel(_ challenge: URLAuthenticationChallenge) { take("cancel") }
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) { take("default") }
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) { take("reject") }
    }

    private static func challenge(
        _ load: MockProtocol,
        method: String = NSURLAuthenticationMethodHTTPBasic,
        _ answers: Watched<[String]>
    ) -> URLAuthenticationChallenge {
        let space = URLProtectionSpace(
            host: "mock",
            port: 80,
            protocol: "http",
            realm: "here",
            authenticationMethod: method
        )
        return URLAuthenticationChallenge(
            protectionSpace: space,
            proposedCredential: nil,
            previousFailureCount: 2,
            failureResponse: load.response(401),
            error: nil,
            sender: Sender(load, answers)
        )
    }

    private static func network(
        method: String = NSURLAuthenticationMethodHTTPBasic,
        _ answers: Watched<[String]>,
        takesBack: Bool = false
    ) -> MockNetwork {
        MockNetwork { load in
            let challenge = Self.challenge(load, method: method, answers)
            load.client?.urlProtocol(load, didReceive: challenge)
            if takesBack {
                load.client?.urlProtocol(load, didCancel: challenge)
                load.answer("without")
            }
        }
    }

    private static let credential = URLCredential(user: "user", password: "secret", persistence: .none)

    @Test(
        "The task's delegate answers a class's challenge, and the challenge's sender gets the answer",
        arguments: [
            (.useCredential, true, "user:secret"), (.useCredential, false, "none"),
            (.performDefaultHandling, false, "default"), (.rejectProtectionSpace, false, "reject"),
        ] as [(URLSession.AuthChallengeDisposition, Bool, String)]
    )
    func answers(disposition: URLSession.AuthChallengeDisposition, hasCredential: Bool, expected: String) async throws {
        let answers = Watched<[String]>([])
        let network = Self.network(answers)
        let delegate = DecidingDelegate(onChallenge: { challenge in
            challenge.answer(disposition, hasCredential ? Self.credential : nil)
            challenge.answer(.cancelAuthenticationChallenge, nil)
        })
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url())
        task.resume()
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data(expected.utf8))
        #expect(answers.value == [expected])
        let asked = try await delegate.challenge(number: 1)
        #expect(asked.queue === session.delegateQueue)
        #expect(asked.space.realm == "here")
        #expect(asked.challenge.previousFailureCount == 2)
        #expect(asked.status == 401)
        #expect(asked.task == task.taskIdentifier)
    }

    @Test("A class's challenge can be answered through its sender as well")
    func olderWay() async throws {
        let answers = Watched<[String]>([])
        let network = Self.network(answers)
        let delegate = DecidingDelegate(onChallenge: { challenge in
            challenge.challenge.sender?.use(Self.credential, for: challenge.challenge)
        })
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let (data, _) = try await session.data(from: network.url())
        #expect(data == Data("user:secret".utf8))
    }

    @Test("Cancelling a class's challenge cancels the task, and the sender hears of it")
    func cancelled() async throws {
        let answers = Watched<[String]>([])
        let network = Self.network(answers)
        let session = network.session(
            delegate: DecidingDelegate(onChallenge: { $0.answer(.cancelAuthenticationChallenge, nil) })
        )
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).error?.code == .cancelled)
        try await answers.wait { $0 == ["cancel"] }
        try await network.stops.wait { $0 == 1 }
    }

    @Test("A class's challenge gets the default handling if there is no delegate")
    func nobody() async throws {
        let network = Self.network(Watched([]))
        let session = network.session()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).text == "default")
    }

    @Test(
        "A class's challenge about a connection goes to the session's method, and any other to the task's",
        arguments: [
            (NSURLAuthenticationMethodHTTPDigest, "task:"), (NSURLAuthenticationMethodNTLM, "session:"),
            ("NSURLAuthenticationMethodServerTrust", "session:"),
        ]
    )
    func precedence(method: String, expected: String) async throws {
        final class Both: NSObject, URLSessionTaskDelegate {
            func urlSession(
                _ session: URLSession,
                didReceive challenge: URLAuthenticationChallenge,
                completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
            ) {
                completionHandler(.useCredential, URLCredential(user: "session", password: "", persistence: .none))
            }

            func urlSession(
                _ session: URLSession,
                task: URLSessionTask,
                didReceive challenge: URLAuthenticationChallenge,
                completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
            ) {
                completionHandler(.useCredential, URLCredential(user: "task", password: "", persistence: .none))
            }
        }
        let network = Self.network(method: method, Watched([]))
        let session = network.session(delegate: Both())
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).text == expected)
    }

    @Test("A challenge that the class takes back needs no answer, and gets none")
    func takenBack() async throws {
        let answers = Watched<[String]>([])
        let network = Self.network(answers, takesBack: true)
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(network.url()).text == "without")
        // Whether it was asked before it was taken back is chance; the answer is late either way.
        for challenge in delegate.challenges.value { challenge.answer(.useCredential, Self.credential) }
        try await network.stops.wait { $0 == 1 }
        #expect(answers.value.isEmpty)
    }

    @Test("A challenge that the class takes back while the task is suspended isn't put to the delegate")
    func takenBackWhileSuspended() async throws {
        let loads = Watched<MockProtocol?>(nil)
        let network = MockNetwork { load in loads.update { $0 = load } }
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.cancelAuthenticationChallenge, nil) })
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url())
        task.resume()
        try await loads.wait { $0 != nil }
        let load = try #require(loads.value)
        task.suspend()
        await session.flush()
        let challenge = Self.challenge(load, Watched([]))
        load.client?.urlProtocol(load, didReceive: challenge)
        load.client?.urlProtocol(load, didCancel: challenge)
        await session.flush()
        task.resume()
        await session.flush()
        load.answer("without")
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("without".utf8))
        #expect(delegate.challenges.value.isEmpty)
    }

    @Test("A class that doesn't wait for the answer to its challenge isn't held up, and gets none after the end")
    func notWaitedFor() async throws {
        let answers = Watched<[String]>([])
        let loads = Watched<MockProtocol?>(nil)
        let network = MockNetwork { load in
            loads.update { $0 = load }
            load.client?.urlProtocol(load, didReceive: Self.challenge(load, answers))
        }
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let session = network.session(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url())
        task.resume()
        let challenge = try await delegate.challenge(number: 1)
        try #require(loads.value).answer("without")
        #expect(try await delegate.completion(of: task) == nil)
        #expect(delegate.body(of: task) == Data("without".utf8))
        challenge.answer(.useCredential, Self.credential)
        try await network.stops.wait { $0 == 1 }
        #expect(answers.value.isEmpty)
    }

    @Test("The idle time-out stands still until the answer, and the task can be cancelled")
    func waiting() async throws {
        let network = Self.network(Watched([]))
        let delegate = DecidingDelegate(onChallenge: { _ in })
        let session = network.session(delegate: delegate) { $0.timeoutIntervalForRequest = 2 }
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: network.url())
        task.resume()
        let challenge = try await delegate.challenge(number: 1)
        // Another, which is begun later, times out meanwhile.
        let silent = MockNetwork { _ in }
        #expect(await session.load(silent.url()).error?.code == .timedOut)
        #expect(task.state == .running)
        challenge.answer(.useCredential, Self.credential)
        #expect(try await delegate.completion(of: task) == nil)

        let cancelled = session.dataTask(with: network.url())
        cancelled.resume()
        _ = try await delegate.challenge(number: 2)
        cancelled.cancel()
        #expect(try await delegate.completion(of: cancelled)?.code == .cancelled)
    }
}
