import Foundation
import Testing

@testable import CurlNetworking

/// What is known is known to the process: each test has types of its own.
@Suite("Which of two delegates answers challenges about connections")
struct ChallengeAnswerersTests {
    private typealias Pair = ChallengeAnswerers.Pair

    @Test("A session's delegate with the session's method answers, whatever the type of the task's")
    func sessionMethod() {
        final class Session: NSObject, URLSessionDelegate {}
        final class First: NSObject, URLSessionDelegate {}
        final class Second: NSObject, URLSessionDelegate {}
        let (first, second) = (Pair(session: Session(), task: First()), Pair(session: Session(), task: Second()))
        #expect(ChallengeAnswerers.answerer(of: first) == nil)
        ChallengeAnswerers.note(.session, of: first)
        #expect(ChallengeAnswerers.answerer(of: first) == .session)
        #expect(ChallengeAnswerers.answerer(of: second) == .session)
        #expect(ChallengeAnswerers.answerer(of: Pair(session: Session(), task: nil)) == .session)
        #expect(ChallengeAnswerers.answerer(of: Pair(session: nil, task: First())) == nil)
        #expect(ChallengeAnswerers.answerer(of: Pair(session: First(), task: Second())) == nil)
    }

    @Test("A session's delegate that answers by the task's method comes after a task's own of unknown type")
    func taskMethod() {
        final class Session: NSObject, URLSessionDelegate {}
        final class Own: NSObject, URLSessionDelegate {}
        MissingMethods.note(.sessionChallenge, of: Session())
        ChallengeAnswerers.note(.session, of: Pair(session: Session(), task: nil))
        #expect(ChallengeAnswerers.answerer(of: Pair(session: Session(), task: nil)) == .session)
        #expect(ChallengeAnswerers.answerer(of: Pair(session: Session(), task: Own())) == nil)
        ChallengeAnswerers.note(.task, of: Pair(session: Session(), task: Own()))
        #expect(ChallengeAnswerers.answerer(of: Pair(session: Session(), task: Own())) == .task)
    }
}
