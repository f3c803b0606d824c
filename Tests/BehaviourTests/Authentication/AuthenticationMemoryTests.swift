import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Where credentials come from, and where they stay", .timeLimit(.minutes(1)))
struct AuthenticationMemoryTests {
    private static let answering: @Sendable (DecidingDelegate.Challenge) -> Void = {
        $0.answer(.useCredential, .right())
    }

    @Test("After one success, later requests to the protection space send the credential ahead")
    func ahead() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        // Everything at or below the last slash of the path (RFC 7617 §2.2), with or without a query.
        for path in ["/a/b", "/a/c", "/a/", "/a/b/c?x=y"] { _ = try await session.data(from: server.url(path)) }
        #expect(server.shown == [nil] + Array(repeating: Guard.token(), count: 4))
        // Elsewhere it isn't shown unasked, but it is tried before a delegate is asked again.
        for path in ["/", "/d", "/ab"] {
            let (_, response) = try await session.data(from: server.url(path))
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
        }
        #expect(server.shown.dropFirst(5) == [nil, Guard.token(), Guard.token(), Guard.token()])
        #expect(delegate.challenges.value.count == 1)
    }

    @Test("Another session, another realm and another origin know nothing of it")
    func borders() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let other = try Guard.basic(#"Basic realm="other""#)
        defer { other.stop() }
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url("/"))
        _ = try await session.data(from: other.url("/"))
        #expect(other.shown == [nil, Guard.token()])
        let second = URLSession.forTest()
        defer { second.invalidateAndCancel() }
        let result = await second.load(server.url("/"))
        #expect(result.response?.statusCode == 401)
        #expect(server.shown.last == .some(nil))
    }

    @Test(
        "A redirect out of the challenged path takes a task's own credential along only if that is asked for there too"
    )
    func redirectedElsewhere() async throws {
        let delegate = DecidingDelegate(onChallenge: {
            $0.answer(.useCredential, URLCredential(user: "user", password: "password", persistence: .none))
        })
        let rig = try Rig(delegate: delegate) { request in
            let isKnown = request.header("Authorization") != nil
            if request.path == "/bob/page" { return .text(isKnown ? "shown" : "not shown") }
            guard isKnown else { return .status(401).header("WWW-Authenticate", "Basic realm=a") }
            switch request.path {
            case "/alice/in": return .redirect(to: "/bob/page")
            case "/alice/on": return .redirect(to: "/carol")
            default: return .text("carol")
            }
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/alice/in")).text == "not shown")
        #expect(await rig.session.load(rig.url("/alice/on")).text == "carol")
        #expect(delegate.challenges.value.count == 2)
    }

    @Test("A redirect within the protection space takes the credential along, and one to another origin doesn't")
    func redirects() async throws {
        let other = try LoopbackServer { _ in .text("arrived") }
        defer { other.stop() }
        let away = other.url("/")
        let rig = try Rig(delegate: DecidingDelegate(onChallenge: Self.answering)) { request in
            guard request.header("Authorization") == Guard.token() else {
                return .status(401).header("WWW-Authenticate", "Basic realm=vault")
            }
            switch request.path {
            case "/near": return .redirect(to: "/here")
            case "/far": return .redirect(to: away)
            default: return .text("arrived")
            }
        }
        defer { rig.stop() }
        for path in ["/near", "/far"] { _ = try await rig.session.data(from: rig.url(path)) }
        #expect(rig.server.shown == [nil, Guard.token(), Guard.token(), Guard.token()])
        #expect(other.shown == [nil])
    }

    @Test("A credential that isn't to persist serves its task alone")
    func persistenceNone() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        let delegate = DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right(.none)) })
        let session = URLSession.forTest(delegate: delegate) { $0.urlCredentialStorage = storage }
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 { #expect(await session.load(server.url("/")).response?.statusCode == 200) }
        #expect(delegate.challenges.value.count == 2)
        #expect(server.shown == [nil, Guard.token(), nil, Guard.token()])
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("A credential whose task was cancelled is stored once another task's request has proven it good")
    func persistenceForAnother() async throws {
        let (asked, gate) = (Gate(), Gate())
        defer { gate.open() }
        let rig = try Rig(delegate: DecidingDelegate(onChallenge: { $0.answer(.useCredential, .right()) })) { request in
            guard request.header("Authorization") != nil else {
                return .status(401).header("WWW-Authenticate", "Basic realm=vault")
            }
            guard request.path == "/held" else { return .text("open") }
            asked.open()
            return .never
        } configure: {
            $0.urlCredentialStorage = URLCredentialStorage()
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/held"))
        task.resume()
        try await asked.wait()
        task.cancel()
        #expect(await rig.session.load(rig.url("/")).text == "open")
        // The storage is changed on another thread.
        let storage = try #require(rig.session.configuration.urlCredentialStorage)
        try await eventually { !storage.allCredentials.isEmpty }
        #expect(storage.defaultCredential(for: try #require(storage.allCredentials.keys.first))?.user == "user")
    }

    @Test(
        "A credential that is to persist is stored once it has proven good",
        arguments: [URLCredential.Persistence.forSession, .permanent]
    )
    func persistence(persistence: URLCredential.Persistence) async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let stored = Gate()
        final class Storage: URLCredentialStorage, @unchecked Sendable {
            let stored: Gate
            init(_ stored: Gate) { self.stored = stored }
            override func set(_ credential: URLCredential, for space: URLProtectionSpace) {
                super.set(credential, for: space)
                stored.open()
            }
        }
        let storage = Storage(stored)
        let delegate = DecidingDelegate(onChallenge: { asked in
            let isFirst = asked.challenge.previousFailureCount == 0
            asked.answer(.useCredential, isFirst ? .wrong() : .right(persistence))
        })
        let session = URLSession.forTest(delegate: delegate) { $0.urlCredentialStorage = storage }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).response?.statusCode == 200)
        try await stored.wait()
        let all = storage.allCredentials
        #expect(all.count == 1)
        #expect(all.first?.key.realm == "vault")
        #expect(all.first?.key.port == server.port)
        #expect(all.first?.value["user"] == .right(persistence))
    }

    @Test("The storage's default credential is used without a delegate, and found by what its space says")
    func storage() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        for proto in ["http", NSURLProtectionSpaceHTTP] {
            let storage = URLCredentialStorage()
            let space = URLProtectionSpace(
                host: "127.0.0.1",
                port: server.port,
                protocol: proto,
                realm: "vault",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic
            )
            storage.setDefaultCredential(.right(), for: space)
            storage.set(.right(), for: server.space(realm: "other"))
            let session = URLSession.forTest { $0.urlCredentialStorage = storage }
            defer { session.invalidateAndCancel() }
            for _ in 0..<2 { #expect(await session.load(server.url("/")).response?.statusCode == 200) }
        }
        #expect(server.shown == [nil, Guard.token(), Guard.token(), nil, Guard.token(), Guard.token()])
    }

    @Test("The storage's default credential is proposed to the delegate, and not again once it was refused")
    func proposed() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        for isRight in [true, false] {
            let storage = URLCredentialStorage()
            storage.setDefaultCredential(isRight ? .right() : .wrong(), for: server.space())
            let delegate = DecidingDelegate()
            let session = URLSession.forTest(delegate: delegate) { $0.urlCredentialStorage = storage }
            defer { session.invalidateAndCancel() }
            let result = await session.load(server.url("/"))
            #expect(result.response?.statusCode == (isRight ? 200 : 401))
            let proposals = delegate.challenges.value.map(\.challenge.proposedCredential)
            #expect(proposals == (isRight ? [.right()] : [.wrong(), nil]))
            #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == (isRight ? [0] : [0, 1]))
        }
    }

    @Test("A URL's own credential is sent ahead; refused, it isn't proposed")
    func urlCredential() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let right = try #require(URL(string: "http://user:secret@127.0.0.1:\(server.port)/"))
        #expect(await session.load(right).response?.statusCode == 200)
        #expect(server.shown == [Guard.token()])
        #expect(delegate.challenges.value.isEmpty)
        let wrong = try #require(URL(string: "http://user:wrong@127.0.0.1:\(server.port)/"))
        #expect(await session.load(wrong).response?.statusCode == 200)
        #expect(server.shown == [Guard.token(), Guard.token("user", "wrong"), Guard.token()])
        #expect(delegate.challenges.value.map(\.challenge.proposedCredential) == [nil])
        let bare = URLSession.forTest()
        defer { bare.invalidateAndCancel() }
        #expect(await bare.load(wrong).response?.statusCode == 401)
        #expect(server.requestCount == 4)
    }

    @Test("A request whose URL names a user isn't sent in another's name", arguments: [true, false])
    func otherUser(isInStorage: Bool) async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: { asked in
            guard asked.challenge.failureResponse?.url?.user() == nil else {
                return asked.answer(.performDefaultHandling, nil)
            }
            asked.answer(.useCredential, .right())
        })
        let session = URLSession.forTest(delegate: delegate) { configuration in
            if isInStorage { configuration.urlCredentialStorage?.setDefaultCredential(.right(), for: server.space()) }
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).response?.statusCode == 200)
        let other = try #require(URL(string: "http://other:secret@127.0.0.1:\(server.port)/"))
        #expect(await session.load(other).response?.statusCode == 401)
        #expect(server.shown == [nil, Guard.token(), Guard.token("other")])
        #expect(delegate.challenges.value.last?.challenge.proposedCredential == nil)
    }

    @Test(
        "A redirect to a URL that names another user isn't followed in the name that the delegate chose before",
        arguments: [URLCredential.Persistence.none, .forSession]
    )
    func redirectToOtherUser(persistence: URLCredential.Persistence) async throws {
        let delegate = DecidingDelegate(onChallenge: { asked in
            guard asked.challenge.failureResponse?.url?.user() == nil else {
                return asked.answer(.performDefaultHandling, nil)
            }
            asked.answer(.useCredential, .right(persistence))
        })
        let rig = try Rig(delegate: delegate) { request in
            guard request.header("Authorization") == Guard.token() else {
                return .status(401).header("WWW-Authenticate", "Basic realm=vault")
            }
            guard request.path == "/" else { return .text("open") }
            return .redirect(to: "http://other:secret@\(request.header("Host") ?? "")/other")
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).response?.statusCode == 401)
        #expect(rig.server.shown == [nil, Guard.token(), Guard.token("other")])
        #expect(delegate.challenges.value.count == 2)
    }

    @Test("A redirect to a URL that inherits a refused user takes along the credential that the delegate chose instead")
    func redirectWithRefusedUser() async throws {
        let rig = try Rig(delegate: DecidingDelegate(onChallenge: Self.answering)) { request in
            guard request.header("Authorization") == Guard.token() else {
                return .status(401).header("WWW-Authenticate", "Basic realm=vault")
            }
            return request.path == "/" ? .redirect(to: "/here") : .text("open")
        }
        defer { rig.stop() }
        let url = try #require(URL(string: "http://other:wrong@127.0.0.1:\(rig.server.port)/"))
        #expect(await rig.session.load(url).text == "open")
        #expect(rig.server.shown == [Guard.token("other", "wrong"), Guard.token(), Guard.token()])
    }

    @Test("A credential that has become wrong is forgotten, asked for anew, and replaced in the storage")
    func changed() async throws {
        final class Storage: URLCredentialStorage, @unchecked Sendable {
            let stored = Watched<[String?]>([])
            override func set(_ credential: URLCredential, for space: URLProtectionSpace) {
                super.set(credential, for: space)
                stored.update { $0.append(credential.password) }
            }
            override func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
                super.setDefaultCredential(credential, for: space)
                stored.update { $0.append(credential.password) }
            }
        }
        let storage = Storage()
        let isChanged = Watched(false)
        let delegate = DecidingDelegate(onChallenge: { asked in
            let new = URLCredential(user: "user", password: "new", persistence: .forSession)
            asked.answer(.useCredential, isChanged.value ? new : .right())
        })
        let rig = try Rig(delegate: delegate) { request in
            let token = isChanged.value ? Guard.token("user", "new") : Guard.token()
            return request.header("Authorization") == token
                ? .text("open") : .status(401).header("WWW-Authenticate", "Basic realm=vault")
        } configure: {
            $0.urlCredentialStorage = storage
        }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/"))
        try await storage.stored.wait { $0 == ["secret"] }
        isChanged.update { $0 = true }
        for _ in 0..<2 { #expect(await rig.session.load(rig.url("/")).text == "open") }
        let new = Guard.token("user", "new")
        #expect(rig.server.shown == [nil, Guard.token(), Guard.token(), new, new])
        // An answer that wasn't asked for doesn't count as a failure.
        #expect(delegate.challenges.value.map(\.challenge.previousFailureCount) == [0, 0])
        // The last is for the default, which another session uses without asking.
        try await storage.stored.wait { $0 == ["secret", "new", "new"] }
        let other = URLSession.forTest { $0.urlCredentialStorage = storage }
        defer { other.invalidateAndCancel() }
        #expect(await other.load(rig.url("/")).text == "open")
        #expect(rig.server.shown.dropFirst(5) == [nil, new])
    }

    @Test("A cached response to a request with a credential isn't used for a session without it")
    func cached() async throws {
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let rig = try Rig(delegate: DecidingDelegate(onChallenge: Self.answering)) { request in
            request.header("Authorization") == Guard.token()
                ? .text("open").header("Cache-Control", "public, max-age=1000")
                : .text("closed", status: 401).header("WWW-Authenticate", "Basic realm=vault")
        } configure: {
            $0.urlCache = cache
        }
        defer { rig.stop() }
        for _ in 0..<3 { #expect(await rig.session.load(rig.url("/")).text == "open") }
        #expect(rig.server.shown == [nil, Guard.token()])
        let stranger = URLSession.forTest { $0.urlCache = cache }
        defer { stranger.invalidateAndCancel() }
        #expect(await stranger.load(rig.url("/")).text == "closed")
        #expect(rig.server.requestCount == 3)
    }

    @Test("Resetting a session forgets what it knew")
    func reset() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        let delegate = DecidingDelegate(onChallenge: Self.answering)
        let session = URLSession.forTest(delegate: delegate) { $0.urlCredentialStorage = nil }
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: server.url("/"))
        await session.reset()
        _ = try await session.data(from: server.url("/"))
        #expect(server.shown == [nil, Guard.token(), nil, Guard.token()])
    }

    @Test("A request that finds a credential in the storage while the session is reset doesn't bring it back")
    func whileReset() async throws {
        let server = try Guard.basic()
        defer { server.stop() }
        final class Storage: URLCredentialStorage, @unchecked Sendable {
            let (removing, mayRemove) = (Gate(), Gate())
            override func remove(_ credential: URLCredential, for space: URLProtectionSpace) {
                removing.open()
                mayRemove.waitBlocking()
                super.remove(credential, for: space)
            }
        }
        let storage = Storage()
        defer { storage.mayRemove.open() }
        storage.setDefaultCredential(.right(), for: server.space())
        let session = URLSession.forTest { $0.urlCredentialStorage = storage }
        defer { session.invalidateAndCancel() }
        async let reset: Void = session.reset()
        try await storage.removing.wait()
        #expect(await session.load(server.url("/")).response?.statusCode == 200)
        storage.mayRemove.open()
        await reset
        #expect(await session.load(server.url("/")).response?.statusCode == 401)
        #expect(server.shown == [nil, Guard.token(), nil])
    }
}
