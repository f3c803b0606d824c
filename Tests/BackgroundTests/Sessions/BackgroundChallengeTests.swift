import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    /// What the agent can't decide, the program's delegate does.
    @Suite("Challenges")
    struct Challenges {
        /// Downloads `url`, with `answer` to every challenge.
        private func download(
            _ url: URL,
            _ rig: BackgroundRig,
            _ configure: (URLSessionConfiguration) -> Void = { _ in },
            answer: @escaping AnsweringDelegate.Answer
        ) async throws -> AnsweringDelegate {
            let delegate = AnsweringDelegate(answer)
            let session = rig.session(delegate, configure)
            session.downloadTask(with: url).resume()
            try await delegate.result.wait { $0 != nil }
            session.invalidateAndCancel()
            try await delegate.isInvalid.wait { $0 }
            return delegate
        }

        @Test("An untrusted server is trusted if the delegate says so, and not if it doesn't")
        func trust() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let nginx = try TLSNginx.shared()
            let trusting = try await download(nginx.url(.showing(.selfsigned)), rig) { challenge in
                (.useCredential, challenge.protectionSpace.serverTrust.map(URLCredential.init(trust:)))
            }
            #expect(trusting.result.value == .success(200))
            #expect(trusting.methods == [NSURLAuthenticationMethodServerTrust])
            let refusing = try await download(nginx.url(.showing(.selfsigned)), rig) { _ in
                (.cancelAuthenticationChallenge, nil)
            }
            #expect(refusing.result.value == .failure(.cancelled))
            let indifferent = try await download(nginx.url(.showing(.selfsigned)), rig) { _ in
                (.performDefaultHandling, nil)
            }
            #expect(indifferent.result.value == .failure(.serverCertificateHasUnknownRoot))
        }

        @Test("A delegate's decision about a connection is for its own tasks only, as in other sessions")
        func ownDelegates() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let url = try TLSNginx.shared().url(.showing(.selfsigned))
            let isTrusted: AnsweringDelegate.Answer = { challenge in
                (.useCredential, challenge.protectionSpace.serverTrust.map(URLCredential.init(trust:)))
            }
            // Keeps the agent's session.
            let lasting = rig.download()
            try await rig.server.waitForRequests(1)
            let (trusting, rejecting) = (
                AnsweringDelegate(isTrusted), AnsweringDelegate { _ in (.cancelAuthenticationChallenge, nil) }
            )
            func result(_ delegate: AnsweringDelegate?) async throws -> URLError.Code? {
                let task = rig.session.downloadTask(with: url)
                task.delegate = delegate
                task.resume()
                guard let delegate else { return try await rig.delegate.completion(of: task)?.code }
                try await delegate.result.wait { $0 != nil }
                guard case .failure(let code) = delegate.result.update({ $0.take() }) else { return nil }
                return code
            }
            #expect(try await result(trusting) == nil)
            #expect(trusting.methods.count == 1)
            #expect(try await result(nil) == .serverCertificateHasUnknownRoot)
            #expect(try await result(rejecting) == .cancelled)
            #expect(rejecting.methods.count == 1)
            #expect(try await result(nil) == .serverCertificateHasUnknownRoot)
            #expect(try await result(trusting) == nil)
            #expect(trusting.methods.count == 1, "its decision is remembered")
            #expect(trusting.text.isEmpty == false)
            lasting.cancel()
        }

        @Test("A task that an earlier program has made isn't the business of that program's delegates any more")
        func restored() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            var submission = try TaskSubmission.download(URLRequest(url: rig.url("/")))
            submission.intent.decider = UUID()
            // What makes a session look for tasks.
            try FileManager.default.createDirectory(at: rig.sessions, withIntermediateDirectories: true)
            let task = rig.download()
            try await agent.greet(with: [
                .listing(TaskListing(submission: submission, progress: TaskProgress(key: submission.key))), .welcome,
            ])
            #expect(try await agent.intents(1).first?.decider == nil)
            task.cancel()
        }

        /// Decides nothing about connections.
        private final class Bystander: NSObject, URLSessionTaskDelegate {}

        @Test(
            "Once it is known that tasks' own delegates decide nothing, the session's decides, for tasks of before as well"
        )
        func bystanders() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let tasks = (1...2).map { _ in
                let task = rig.session.downloadTask(with: rig.url("/"))
                task.delegate = Bystander()
                task.resume()
                return task
            }
            try await agent.greet()
            let submissions = try await agent.submissions(2)
            #expect(submissions.allSatisfy { $0.intent.decider != nil })
            let trust = ServerTrust(host: "127.0.0.1", chain: [[1]], verification: 20, reason: "unknown")
            let url = try #require(URL(string: "https://127.0.0.1/"))
            let space = HandshakeSpace(trust, at: try #require(Origin(url)))
            let challenge = challenge(ChallengeSender { _ in }, in: space)
            agent.say([.question(1, key: submissions[0].key, ChallengeQuery(challenge))])
            #expect(try await agent.replies(1).first?.disposition == .performDefaultHandling)
            #expect(try await agent.intents(2).allSatisfy { $0.decider == nil })
            for task in tasks { task.cancel() }
        }

        @Test("A server that the session trusts is shown to a task's own delegate, which may refuse it")
        func pinning() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let nginx = try TLSNginx.shared()
            let delegate = RecordingDelegate()
            let session = rig.session(delegate) { $0.curl.tls.additionalTrustRoots = [.file(nginx.site.authority)] }
            session.downloadTask(with: rig.url("/")).resume()
            try await rig.server.waitForRequests(1)
            let plain = session.downloadTask(with: nginx.url(.showing(.good)))
            plain.resume()
            try await delegate.success(of: plain)
            let rejecting = AnsweringDelegate { _ in (.cancelAuthenticationChallenge, nil) }
            let pinned = session.downloadTask(with: nginx.url(.showing(.good)))
            pinned.delegate = rejecting
            pinned.resume()
            try await rejecting.result.wait { $0 != nil }
            #expect(rejecting.result.value == .failure(.cancelled))
            #expect(rejecting.methods == [NSURLAuthenticationMethodServerTrust])
            session.invalidateAndCancel()
        }

        @Test("reset has the agent forget passwords and decisions; flush doesn't")
        func reset() async throws {
            let rig = try BackgroundRig { request in
                if request.path == "/lasting" { return .never }
                if request.header("Authorization") == "Basic dTpw" { return .text("welcome") }
                return .status(401).header("WWW-Authenticate", "Basic realm=\"r\"")
            }
            defer { rig.end() }
            let url = try TLSNginx.shared().url(.showing(.selfsigned))
            let delegate = AnsweringDelegate { challenge in
                if let trust = challenge.protectionSpace.serverTrust {
                    return (.useCredential, URLCredential(trust: trust))
                }
                return (.useCredential, URLCredential(user: "u", password: "p", persistence: .forSession))
            }
            let session = rig.session(delegate)
            // Keeps the agent's session.
            session.downloadTask(with: rig.url("/lasting")).resume()
            try await rig.server.waitForRequests(1)
            func load(_ url: URL) async throws {
                session.downloadTask(with: url).resume()
                try await delegate.result.wait { $0 != nil }
                #expect(delegate.result.update { $0.take() } == .success(200))
            }
            func loadBoth() async throws -> Int {
                try await load(rig.url("/"))
                try await load(url)
                return delegate.methods.count
            }
            #expect(try await loadBoth() == 2)
            await session.flush()
            #expect(try await loadBoth() == 2)
            await session.reset()
            #expect(try await loadBoth() == 4)
            session.invalidateAndCancel()
        }

        @Test("A client's certificate comes from the delegate")
        func identity() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let nginx = try TLSNginx.shared()
            let delegate = try await download(
                nginx.url(.asking),
                rig,
                { $0.curl.tls.additionalTrustRoots = [.file(nginx.site.authority)] },
                answer: { challenge in
                    let isAsked =
                        challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodClientCertificate
                    guard isAsked else { return (.performDefaultHandling, nil) }
                    return (
                        .useCredential, URLCredential(identity: .pem(certificates: .file(nginx.site.clientWithKey)))
                    )
                }
            )
            #expect(delegate.result.value == .success(200))
            #expect(delegate.methods.contains(NSURLAuthenticationMethodClientCertificate))
            #expect(delegate.text.contains("a client"))
        }

        @Test("A wrong password is followed by another question, which says so")
        func password() async throws {
            let rig = try BackgroundRig { request in
                if request.header("Authorization") == "Basic dTpw" { return .text("welcome") }
                return .status(401).header("WWW-Authenticate", "Basic realm=\"r\"")
            }
            defer { rig.end() }
            let delegate = try await download(rig.url("/"), rig) { challenge in
                let password = challenge.previousFailureCount == 0 ? "wrong" : "p"
                return (.useCredential, URLCredential(user: "u", password: password, persistence: .forSession))
            }
            #expect(delegate.result.value == .success(200))
            #expect(delegate.methods == [String](repeating: NSURLAuthenticationMethodHTTPBasic, count: 2))
            #expect(delegate.text == "welcome")
        }

        @Test("A credential for one task answers that task's challenges in all of its attempts, and no other's")
        func credentialOfTask() async throws {
            let answers = Counter()
            let rig = try BackgroundRig { request in
                guard request.header("Authorization") == "Basic dTpw" else {
                    return .status(401).header("WWW-Authenticate", "Basic realm=\"r\"")
                }
                return answers.next() == 1
                    ? .pieces([.bytes("wel"), .close, .bytes("come")]) : .text("welcome")
            }
            defer { rig.end() }
            let delegate = AnsweringDelegate { _ in
                (.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
            }
            let session = rig.session(delegate)
            for _ in 0..<2 {
                delegate.result.update { $0 = nil }
                session.downloadTask(with: rig.url("/")).resume()
                try await delegate.result.wait { $0 != nil }
                #expect(delegate.result.value == .success(200))
                #expect(delegate.text == "welcome")
            }
            #expect(delegate.methods == [String](repeating: NSURLAuthenticationMethodHTTPBasic, count: 2))
            // Two attempts at the first task, and one at the second: each has to be challenged.
            let shown = rig.server.requests.map { $0.header("Authorization") }
            #expect(shown == [nil, "Basic dTpw", nil, "Basic dTpw", nil, "Basic dTpw"])
            session.invalidateAndCancel()
        }

        @Test("Digest is computed by the agent, with the delegate's password")
        func digest() async throws {
            let rig = try BackgroundRig { request in
                let answer = request.header("Authorization") ?? ""
                if answer.hasPrefix("Digest "), answer.contains("username=\"u\""), answer.contains("nonce=\"n\"") {
                    return .text("welcome")
                }
                return .status(401).header("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")
            }
            defer { rig.end() }
            let delegate = try await download(rig.url("/"), rig) { _ in
                (.useCredential, URLCredential(user: "u", password: "p", persistence: .forSession))
            }
            #expect(delegate.result.value == .success(200))
            #expect(delegate.methods == [NSURLAuthenticationMethodHTTPDigest])
            #expect(delegate.text == "welcome")
            #expect(!rig.server.requests.contains { $0.header("Authorization")?.contains("\"p\"") == true })
        }

        @Test("The program's credential storage answers if the delegate doesn't")
        func storage() async throws {
            let rig = try BackgroundRig { request in
                if request.header("Authorization") == "Basic dTpw" { return .text("welcome") }
                return .status(401).header("WWW-Authenticate", "Basic realm=\"r\"")
            }
            defer { rig.end() }
            let space = URLProtectionSpace(
                host: "127.0.0.1",
                port: rig.server.port,
                protocol: "http",
                realm: "r",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic
            )
            let storage = URLCredentialStorage.shared
            let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
            storage.setDefaultCredential(credential, for: space)
            defer { storage.remove(credential, for: space) }
            let delegate = try await download(
                rig.url("/"),
                rig,
                { $0.urlCredentialStorage = storage },
                answer: { _ in (.performDefaultHandling, nil) }
            )
            #expect(delegate.result.value == .success(200))
        }

        @Test("The program's credential storage may wait for its session's delegate, and for the end of another task")
        func waitingStorage() async throws {
            final class Storage: URLCredentialStorage, @unchecked Sendable {
                let (isAsked, mayAnswer) = (Gate(), Gate())
                override func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
                    isAsked.open()
                    mayAnswer.waitBlocking()
                    return URLCredential(user: "u", password: "p", persistence: .forSession)
                }
            }
            let storage = Storage()
            defer { storage.mayAnswer.open() }
            let rig = try BackgroundRig {
                $0.urlCredentialStorage = storage
            } handler: { request in
                if request.path == "/open" { return .text("hello") }
                if request.header("Authorization") == "Basic dTpw" { return .text("welcome") }
                return .status(401).header("WWW-Authenticate", "Basic realm=\"r\"")
            }
            defer { rig.end() }
            let guarded = rig.download("/guarded")
            try await storage.isAsked.wait()
            try await rig.delegate.success(of: rig.download("/open"))
            // The delegate's queue goes on, too.
            try await rig.delegate.success(of: rig.download("/open"))
            storage.mayAnswer.open()
            try await rig.delegate.success(of: guarded)
            #expect(rig.delegate.body(of: guarded) == Data("welcome".utf8))
            try await rig.finish()
        }

        @Test("A question that a killed program hasn't answered is put to the next one")
        func waiting() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let nginx = try TLSNginx.shared()
            let program = try await rig.readyProgram(holdsChallenges: true)
            program.say("download \(nginx.url(.showing(.unknown))) one")
            try await program.line(beginningWith: "challenge \(NSURLAuthenticationMethodServerTrust)")
            await program.crash()
            let delegate = AnsweringDelegate { challenge in
                (.useCredential, challenge.protectionSpace.serverTrust.map(URLCredential.init(trust:)))
            }
            let session = rig.session(delegate)
            try await delegate.result.wait { $0 != nil }
            #expect(delegate.result.value == .success(200))
            #expect(delegate.methods == [NSURLAuthenticationMethodServerTrust])
            session.invalidateAndCancel()
        }

        @Test("A question about a connection is put to no program once the task that has met it was cancelled")
        func cancelledMeanwhile() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let nginx = try TLSNginx.shared()
            try await rig.startAgent()
            let program = try await rig.readyProgram(holdsChallenges: true)
            program.say("download \(nginx.url(.showing(.unknown))) one")
            try await program.line(beginningWith: "challenge \(NSURLAuthenticationMethodServerTrust)")
            await program.crash()
            let quitting = try ChildProcess([BackgroundRig.agent.path, "--cancel-all", rig.folder.path])
            #expect(await quitting.ending() == .exit(0))
            try await rig.waitForLog { $0.contains("task 1: failed with -999") }

            let next = try BareProgram(rig)
            defer { next.close() }
            // The answer to this comes after all questions.
            next.say(rig.hello, .checkpoint(UUID(), 1))
            try await next.heard.wait { heard in
                heard.contains { if case .checkpoint = $0 { true } else { false } }
            }
            let names = next.heard.value.map(name)
            #expect(names == ["listing", "welcome", "checkpoint"])
        }

        private func name(_ message: AgentMessage) -> String {
            switch message {
            case .listing: "listing"
            case .welcome: "welcome"
            case .question: "question"
            case .checkpoint: "checkpoint"
            default: "another"
            }
        }

        @Test("A question about a connection is put to a task that isn't over")
        func tasksThatAreOver() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let queue = rig.session.delegateQueue
            queue.isSuspended = true
            for _ in 0..<8 { _ = rig.download() }
            try await agent.greet()
            let submissions = try await agent.submissions(8)
            let ends = submissions.dropLast().map { AgentMessage.failure(of: $0, .timedOut) }
            let challenge = challenge(ChallengeSender { _ in })
            agent.say(ends + [.question(1, key: nil, ChallengeQuery(challenge, isOfConnection: true))])
            queue.isSuspended = false
            #expect(try await agent.replies(1).map(\.disposition) == [.performDefaultHandling])
        }

        @Test("A question about a connection that is dropped with the task it was put to is put to another")
        func droppedQuestion() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            let queue = rig.session.delegateQueue
            queue.isSuspended = true
            let task = rig.download()
            try await agent.greet()
            let submission = try #require(try await agent.submissions(1).first)
            let challenge = challenge(ChallengeSender { _ in })
            // There is no other to put it to.
            agent.say([.question(1, key: nil, ChallengeQuery(challenge, isOfConnection: true))])
            agent.say([.failure(of: submission, .timedOut)])
            let engine = try #require(task.engine as? BackgroundEngine)
            while engine.shared.withLock({ $0.machine.stage != .finished }) { await Task.yield() }
            _ = rig.download()
            _ = try await agent.submissions(2)
            task.cancel()
            queue.isSuspended = false
            #expect(try await agent.replies(1).map(\.disposition) == [.performDefaultHandling])
        }

        /// Answers no question but the second.
        private final class Hesitant: NSObject, URLSessionTaskDelegate {
            private let questions = Counter()
            let isAsked = Watched(false)
            let ends = Watched(0)

            func urlSession(
                _ session: URLSession,
                didReceive challenge: URLAuthenticationChallenge,
                completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
            ) {
                if questions.next() == 2 { completionHandler(.cancelAuthenticationChallenge, nil) }
                isAsked.update { $0 = true }
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                ends.update { $0 += 1 }
            }
        }

        @Test(
            "A question left unanswered when its task ends is put to another task, and doesn't keep the delegate alive"
        )
        func unanswered() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            weak var remaining: Hesitant?
            do {
                let delegate = Hesitant()
                remaining = delegate
                let session = rig.session(delegate)
                for _ in 0..<2 { session.downloadTask(with: rig.url("/")).resume() }
                try await agent.greet()
                let submissions = try await agent.submissions(2)
                let query = ChallengeQuery(challenge(ChallengeSender { _ in }), isOfConnection: true)
                agent.say([.question(1, key: submissions[0].key, query)])
                try await delegate.isAsked.wait { $0 }
                agent.say([.failure(of: submissions[0], .timedOut)])
                try await delegate.ends.wait { $0 == 1 }
                agent.say([.question(2, key: submissions[1].key, query)])
                #expect(try await agent.replies(1).map(\.disposition) == [.cancel])
                session.invalidateAndCancel()
                agent.say([.failure(of: submissions[1], .cancelled)])
                try await delegate.ends.wait { $0 == 2 }
            }
            while remaining != nil { await Task.yield() }
        }

        @Test("A question that comes to a task that has completed meanwhile is answered by default")
        func completedTask() async throws {
            let delegate = RecordingDelegate()
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            defer { session.invalidateAndCancel() }
            let task = session.dataTask(with: try #require(URL(string: "data:,a")))
            task.resume()
            try await delegate.success(of: task)
            let answer = Watched<URLSession.AuthChallengeDisposition?>(nil)
            let sender = ChallengeSender { given in answer.update { $0 = given.disposition } }
            let question = ChallengeQuestion(challenge: challenge(sender), isOfConnection: true, sender: sender)
            session.delegateQueue.addOperation { question.put(about: task, in: session, to: session.core.delegates) }
            try await answer.wait { $0 != nil }
            #expect(answer.value == .performDefaultHandling)
        }

        private func challenge(
            _ sender: ChallengeSender,
            in space: URLProtectionSpace = URLProtectionSpace(
                host: "127.0.0.1",
                port: 443,
                protocol: "https",
                realm: nil,
                authenticationMethod: NSURLAuthenticationMethodNTLM
            )
        ) -> URLAuthenticationChallenge {
            URLAuthenticationChallenge(
                protectionSpace: space,
                proposedCredential: nil,
                previousFailureCount: 0,
                failureResponse: nil,
                error: nil,
                sender: sender
            )
        }

        @Test("An untrusted certificate fails the task of a program whose delegate has no method to decide about it")
        func undecided() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let nginx = try TLSNginx.shared()
            let program = try await rig.readyProgram()
            program.say("download \(nginx.url(.showing(.unknown))) one")
            let code = URLError.Code.serverCertificateHasUnknownRoot.rawValue
            try await program.line(beginningWith: "completed one \(code)")
            await program.crash()
        }
    }
}
