import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("What a task's own delegate decides about TLS", .timeLimit(.minutes(1)))
struct TLSOwnDecisionTests {
    private static func accepting() -> DecidingDelegate {
        DecidingDelegate(onChallenge: { asked in
            asked.answer(.useCredential, asked.space.serverTrust.map { URLCredential(trust: $0) })
        })
    }

    private static func refusing() -> DecidingDelegate {
        DecidingDelegate(onChallenge: { $0.answer(.cancelAuthenticationChallenge, nil) })
    }

    private static let cancelled = URLError.Code.cancelled.rawValue

    /// The response's status, or the error's code.
    private static func status(_ url: URL, in session: URLSession, _ delegate: DecidingDelegate?) async -> Int {
        do {
            let (_, response) = try await session.data(from: url, delegate: delegate)
            return (response as? HTTPURLResponse)?.statusCode ?? 0
        } catch {
            return (error as? URLError)?.code.rawValue ?? 0
        }
    }

    @Test("A delegate's decision holds for its own tasks: another one is asked, also about connections that stand")
    func refused() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx)
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.showing(.selfsigned))
        let (first, second) = (Self.accepting(), Self.refusing())
        for _ in 0..<2 {
            #expect(await Self.status(url, in: session, first) == 200)
            #expect(await Self.status(url, in: session, second) == Self.cancelled)
        }
        #expect(first.challenges.value.count == 1)
        #expect(second.challenges.value.count == 2)
    }

    @Test("An answer that comes when the task has another delegate, or none, doesn't count", arguments: [false, true])
    func replaced(hasOther: Bool) async throws {
        let session = URLSession.trusting(try TLSNginx.shared())
        defer { session.invalidateAndCancel() }
        let url = try TLSNginx.shared().url(.showing(.selfsigned))
        let first = DecidingDelegate(onChallenge: { _ in })
        let other = hasOther ? Self.refusing() : nil
        let task = session.dataTask(with: url)
        task.delegate = first
        task.resume()
        try await first.challenges.wait { !$0.isEmpty }
        task.delegate = other
        let asked = try #require(first.challenges.value.first)
        asked.answer(.useCredential, asked.space.serverTrust.map { URLCredential(trust: $0) })
        let expected = hasOther ? Self.cancelled : URLError.Code.serverCertificateHasUnknownRoot.rawValue
        #expect(await Self.status(url, in: session, nil) == URLError.Code.serverCertificateHasUnknownRoot.rawValue)
        #expect(await Self.status(url, in: session, other) == expected)
        while task.state != .completed { await Task.yield() }
        #expect((task.error as? URLError)?.code.rawValue == expected)
    }

    @Test("The tasks of one delegate keep their connection, and it is asked once")
    func kept() async throws {
        let nginx = try Nginx.shared()
        let session = URLSession.forTest { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let delegate = Self.accepting()
        var connections: Set<String> = []
        for _ in 0..<5 {
            let (data, response) = try await session.data(from: nginx.tls(NginxSite.smallPath), delegate: delegate)
            #expect(data == Data(NginxSite.smallText.utf8))
            connections.insert((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Connection") ?? "none")
        }
        #expect(connections.count == 1)
        #expect(delegate.challenges.value.count == 1)
    }

    @Test("Over HTTP/2 no task uses a connection that another's delegate has let in, however many run at once")
    func multiplexed() async throws {
        let nginx = try Nginx.shared()
        let session = URLSession.forTest { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let url = nginx.tls(NginxSite.smallPath)
        let (first, second) = (Self.accepting(), Self.refusing())
        await withTaskGroup(of: (Bool, Int).self) { group in
            for number in 0..<40 {
                let accepts = number.isMultiple(of: 2)
                group.addTask { (accepts, await Self.status(url, in: session, accepts ? first : second)) }
            }
            for await (accepts, result) in group {
                if accepts { #expect(result == 200) } else { #expect(result == Self.cancelled) }
            }
        }
        #expect(second.challenges.value.count == 20)
    }

    @Test("A server that the session's delegate has let in is refused for a task whose own delegate refuses it")
    func afterSession() async throws {
        let nginx = try TLSNginx.shared()
        let sessions = Self.accepting()
        let session = URLSession.trusting(nginx, delegate: sessions)
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.showing(.selfsigned))
        #expect(await Self.status(url, in: session, nil) == 200)
        let own = Self.refusing()
        #expect(await Self.status(url, in: session, own) == Self.cancelled)
        #expect(own.challenges.value.count == 1)
        #expect(await Self.status(url, in: session, nil) == 200)
        #expect(sessions.challenges.value.count == 1)
    }

    /// Without a method for challenges.
    private final class Plain: NSObject, URLSessionTaskDelegate {}

    @Test("All tasks share the decision of a session's delegate that answers for all of them")
    func shared() async throws {
        let nginx = try TLSNginx.shared()
        let url = nginx.url(.showing(.selfsigned))
        let method = TLSTrustChallengeTests.accepting()
        let session = URLSession.trusting(nginx, delegate: method)
        defer { session.invalidateAndCancel() }
        // Who answers for such delegates is known after the first time.
        for _ in 0..<2 { #expect(await Self.status(url, in: session, Self.refusing()) == 200) }
        let asked = method.trusts.count
        for _ in 0..<5 { #expect(await Self.status(url, in: session, Self.refusing()) == 200) }
        #expect(await Self.status(url, in: session, nil) == 200)
        #expect(method.trusts.count == asked && asked <= 2)

        let taskMethod = Self.accepting()
        let other = URLSession.trusting(nginx, delegate: taskMethod)
        defer { other.invalidateAndCancel() }
        for _ in 0..<5 {
            let (_, response) = try await other.data(from: url, delegate: Plain())
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
        }
        #expect(taskMethod.challenges.value.count <= 2)
    }

    /// Has the session's method, and is no other test's.
    private final class Deciding: NSObject, URLSessionDelegate {
        let asked = Watched(0)

        func urlSession(
            _ session: URLSession,
            didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            asked.update { $0 += 1 }
            return (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
    }

    /// Has the task's method. A type for each kind.
    private final class Refusing<Kind>: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            (.cancelAuthenticationChallenge, nil)
        }
    }

    @Test("A session's delegate that has answered by its own method isn't asked again for tasks' delegates of any type")
    func manyTypes() async throws {
        let nginx = try TLSNginx.shared()
        let delegate = Deciding()
        let session = URLSession.trusting(nginx, delegate: delegate)
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.showing(.selfsigned))
        for own in [nil, Refusing<Int>(), Refusing<String>(), Plain()] as [(any URLSessionTaskDelegate)?] {
            let (_, response) = try await session.data(from: url, delegate: own)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
        }
        #expect(delegate.asked.value == 1)
    }

    @Test("A certificate that one delegate shows is shown for no other's task")
    func identity() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx)
        defer { session.invalidateAndCancel() }
        let identity = TLSIdentity.pem(certificates: .file(nginx.site.client), privateKey: .file(nginx.site.clientKey))
        func delegate(showing identity: TLSIdentity?) -> DecidingDelegate {
            DecidingDelegate(onChallenge: { asked in
                if let trust = asked.space.serverTrust {
                    asked.answer(.useCredential, URLCredential(trust: trust))
                } else if let identity {
                    asked.answer(.useCredential, URLCredential(identity: identity))
                } else {
                    asked.answer(.performDefaultHandling, nil)
                }
            })
        }
        let url = nginx.url(.asking)
        let (with, without) = (delegate(showing: identity), delegate(showing: nil))
        for _ in 0..<2 {
            #expect(await Self.status(url, in: session, with) == 200)
            #expect(await Self.status(url, in: session, without) == 400)
        }
    }

    @Test("Of many delegates at once, each is asked once, and none of their tasks fails", arguments: [false, true])
    func manyAtOnce(multiplexes: Bool) async throws {
        let session = URLSession.forTest { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let url =
            if multiplexes {
                try Nginx.shared().tls(NginxSite.smallPath)
            } else {
                try TLSNginx.shared().url(.showing(.selfsigned))
            }
        let delegates = (0..<40).map { _ in Self.accepting() }
        await withTaskGroup(of: Int.self) { group in
            for delegate in delegates { group.addTask { await Self.status(url, in: session, delegate) } }
            for await result in group { #expect(result == 200) }
        }
        #expect(delegates.map(\.challenges.value.count) == delegates.map { _ in 1 })
    }

    @Test("Of many delegates in turn, each is asked")
    func many() async throws {
        let nginx = try TLSNginx.shared()
        let session = URLSession.trusting(nginx)
        defer { session.invalidateAndCancel() }
        let url = nginx.url(.showing(.selfsigned))
        for number in 0..<40 {
            let delegate = number.isMultiple(of: 3) ? Self.refusing() : Self.accepting()
            let result = await Self.status(url, in: session, delegate)
            if number.isMultiple(of: 3) { #expect(result == Self.cancelled) } else { #expect(result == 200) }
            #expect(delegate.challenges.value.count == 1)
        }
    }
}
