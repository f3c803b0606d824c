import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Writing cookies", .timeLimit(.minutes(1)))
struct CookieWriteTests {
    /// Sets so many cookies on /set, and the one that is named on /set/name, which /remove/name removes; answers elsewhere with how many
    /// the request has.
    private static func server(setting count: Int = 0) throws -> LoopbackServer {
        try LoopbackServer { request in
            let parts = request.path.split(separator: "/")
            guard let verb = parts.first, verb == "set" || verb == "remove" else {
                return .text("\(request.header("Cookie")?.split(separator: ";").count ?? 0)")
            }
            let names = parts.count > 1 ? [String(parts[1])] : (0..<count).map { "n\($0)" }
            let age = verb == "set" ? 1000 : 0
            return names.reduce(.text("set")) { $0.header("Set-Cookie", "\($1)=1; Path=/; Max-Age=\(age)") }
        }
    }

    private struct Held {
        let storage: HTTPCookieStorage
        let cookie: HoldingCookie
        let gate = Gate()

        init(_ storage: HTTPCookieStorage?) throws {
            self.storage = try #require(storage)
            cookie = try #require(HoldingCookie.put(into: self.storage))
        }
    }

    private static func session(with storage: HTTPCookieStorage) -> URLSession {
        .forTest { $0.httpCookieStorage = storage }
    }

    @Test(
        "A response with 400 cookies delays neither its own task nor others, however long the storage takes",
        arguments: [false, true]
    )
    func manyCookies(hasFile: Bool) async throws {
        let server = try Self.server(setting: 400)
        defer { server.stop() }
        let file = FileCookieStorage()
        defer { file.remove() }
        let held = try Held(hasFile ? file.storage : URLSessionConfiguration.ephemeral.httpCookieStorage)
        defer { held.gate.open() }
        let (first, second) = (Self.session(with: held.storage), Self.session(with: held.storage))
        defer { first.invalidateAndCancel() }
        defer { second.invalidateAndCancel() }
        // The index has read the cookie.
        #expect(await first.load(server.url("/")).text == "0")
        held.cookie.hold(until: held.gate)

        #expect(await first.load(server.url("/set")).text == "set")
        #expect(await first.load(server.url("/")).text == "180")
        #expect(await second.load(server.url("/")).text == "180")
        let elsewhere = try #require(URL(string: "http://localhost:\(server.port)/"))
        #expect(await second.load(elsewhere).text == "0")
        #expect(await second.load(server.url("/set")).text == "set")

        held.gate.open()
        await first.flush()
        #expect(Set(held.storage.values.keys) == Set((220..<400).map { "n\($0)" }))
        #expect(await second.load(server.url("/")).text == "180")
    }

    @Test("A storage that never ends to write doesn't keep one cookie's task waiting")
    func oneCookie() async throws {
        let server = try Self.server(setting: 1)
        defer { server.stop() }
        let held = try Held(URLSessionConfiguration.ephemeral.httpCookieStorage)
        defer { held.gate.open() }
        let session = Self.session(with: held.storage)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "0")
        held.cookie.hold(until: held.gate)
        #expect(await session.load(server.url("/set")).text == "set")
        #expect(await session.load(server.url("/")).text == "1")
    }

    @Test(
        "A task that is cancelled while its cookies are being written completes at once, its transfer being over or not",
        arguments: [false, true]
    )
    func cancelled(isOver: Bool) async throws {
        let server = try LoopbackServer { request in
            let rest: [LoopbackServer.Step] = isOver ? [] : [.never, .bytes("end")]
            return request.path == "/"
                ? .text("hello") : .pieces([.bytes("begin")] + rest).header("Set-Cookie", "a=1; Max-Age=1000")
        }
        defer { server.stop() }
        let held = try Held(URLSessionConfiguration.ephemeral.httpCookieStorage)
        defer { held.gate.open() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) { $0.httpCookieStorage = held.storage }
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "hello")
        let task = session.dataTask(with: server.url("/set"))
        // At once: the task waits half a second at most.
        held.cookie.hold(until: held.gate) { [weak task] in task?.cancel() }
        task.resume()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
        #expect(delegate.story(of: task) == ["created", "completed"])
    }

    // MARK: - What a program finds

    /// As a program does it.
    private func setOldCookie(in file: FileCookieStorage) throws {
        let properties: [HTTPCookiePropertyKey: Any] = [
            .name: "old", .value: "1", .domain: "a.invalid", .path: "/", .expires: Date(timeIntervalSinceNow: 1000),
        ]
        file.storage.setCookie(try #require(HTTPCookie(properties: properties)))
    }

    /// Returns when it has been written.
    private func loadNewCookie(into file: FileCookieStorage) async throws {
        let rig = try Rig { _ in
            .text("hello").header("Set-Cookie", "new=2; Max-Age=1000")
        } configure: {
            $0.httpCookieStorage = file.storage
        }
        defer { rig.stop() }
        _ = try await rig.session.data(from: rig.url("/"))
        await rig.session.flush()
    }

    @Test("Copies of the file that a killed program has left are removed, but not those of one that may still write")
    func abandonedFiles() async throws {
        let file = FileCookieStorage()
        defer { file.remove() }
        try setOldCookie(in: file)
        let folder = try #require(file.file).deletingLastPathComponent()
        let (old, new) = (UUID().uuidString, UUID().uuidString)
        for (name, age) in [(old, 7200), (new, 0)] as [(String, TimeInterval)] {
            let path = folder.appendingPathComponent(".dat.nosync\(name)").path
            try Data("cookies".utf8).write(to: URL(fileURLWithPath: path))
            let date = Date(timeIntervalSinceNow: -age)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        }
        defer { try? FileManager.default.removeItem(at: folder.appendingPathComponent(".dat.nosync\(new)")) }
        try await loadNewCookie(into: file)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(!names.contains(".dat.nosync\(old)") && names.contains(".dat.nosync\(new)"))
    }

    @Test("The file is the user's alone, also where the stock module has made it", arguments: [false, true])
    func privateFile(isThere: Bool) async throws {
        let file = FileCookieStorage()
        defer { file.remove() }
        func mode() throws -> Int? {
            let attributes = try FileManager.default.attributesOfItem(atPath: #require(file.file).path)
            return (attributes[.posixPermissions] as? NSNumber)?.intValue
        }
        if isThere {
            try setOldCookie(in: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: #require(file.file).path)
        }
        try await loadNewCookie(into: file)
        #expect(try mode() == 0o600)
        #expect(file.storage.values == (isThere ? ["old": "1", "new": "2"] : ["new": "2"]))
        let stored = try String(decoding: Data(contentsOf: #require(file.file)), as: UTF8.self)
        #expect(stored.contains("new"))
    }

    @Test("When the program is started again, cookies go out in the same order, and are still HttpOnly")
    func restarted() async throws {
        let server = try LoopbackServer { request in
            guard request.path.hasPrefix("/set/") else { return .text(request.header("Cookie") ?? "none") }
            return request.path.dropFirst("/set/".count).reduce(.text("set")) {
                $0.header("Set-Cookie", "\($1)=\(request.query ?? ""); Path=/; Max-Age=1000; HttpOnly")
            }
        }
        defer { server.stop() }
        let file = FileCookieStorage()
        defer { file.remove() }
        let first = Self.session(with: file.storage)
        defer { first.invalidateAndCancel() }
        for path in ["/set/fbd?1", "/set/ace?2", "/set/bc?3"] { _ = await first.load(server.url(path)) }
        await first.flush()
        let again = try file.restarted()
        defer { again.remove() }
        let second = Self.session(with: again.storage)
        defer { second.invalidateAndCancel() }
        #expect(await second.load(server.url("/")).text == "f=1; b=3; d=1; a=2; c=3; e=2")
        let task = second.dataTask(with: server.url("/"))
        let cookies = try #require(await again.storage.cookies(for: task))
        #expect(cookies.map(\.name) == ["f", "b", "d", "a", "c", "e"])
        #expect(cookies.allSatisfy { $0.isHTTPOnly })
    }

    @Test("In a storage with a file, a response's cookies are found when its task completes")
    func visibleInFile() async throws {
        let server = try Self.server(setting: 5)
        defer { server.stop() }
        let file = FileCookieStorage()
        defer { file.remove() }
        let session = Self.session(with: file.storage)
        defer { session.invalidateAndCancel() }
        _ = await session.load(server.url("/set"))
        #expect(file.storage.values.count == 5)
        #expect(await session.load(server.url("/")).text == "5")
    }

    @Test(
        "A program's change of a storage shows with the next request",
        arguments: [(false, 3), (false, 100), (true, 3)]
    )
    func program(hasFile: Bool, count: Int) async throws {
        let server = try LoopbackServer { .text($0.header("Cookie") ?? "none") }
        defer { server.stop() }
        let file = FileCookieStorage()
        defer { file.remove() }
        let storage = try #require(hasFile ? file.storage : URLSessionConfiguration.ephemeral.httpCookieStorage)
        let session = Self.session(with: storage)
        defer { session.invalidateAndCancel() }
        let url = server.url("/")
        func cookie(_ name: String, _ value: String, domain: String = "127.0.0.1") throws -> HTTPCookie {
            try #require(HTTPCookie(properties: [.name: name, .value: value, .domain: domain, .path: "/"]))
        }
        for number in 1...count { try storage.setCookie(cookie("n\(number)", "1", domain: "example.com")) }
        #expect(await session.load(url).text == "none")
        for number in 1...5 {
            try storage.setCookie(cookie("a", "\(number)"))
            #expect(await session.load(url).text == "a=\(number)")
        }
        try storage.setCookies([cookie("b", "1")], for: url, mainDocumentURL: nil)
        #expect(await session.load(url).text == "a=5; b=1")
        try storage.deleteCookie(cookie("a", "whatever"))
        #expect(await session.load(url).text == "b=1")
        storage.removeCookies(since: .distantPast)
        #expect(await session.load(url).text == "none")
    }

    @Test("A cookie that the storage refuses is not sent either")
    func refused() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let held = try Held(URLSessionConfiguration.ephemeral.httpCookieStorage)
        defer { held.gate.open() }
        let session = Self.session(with: held.storage)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "0")
        let isWriting = Gate()
        held.cookie.hold(until: held.gate) { isWriting.open() }
        _ = await session.load(server.url("/set/a"))
        try await isWriting.wait()
        _ = await session.load(server.url("/set/b"))
        #expect(await session.load(server.url("/")).text == "2")
        // The first is being written; the second comes too late.
        held.storage.cookieAcceptPolicy = .never
        held.gate.open()
        await session.flush()
        #expect(held.storage.values == ["a": "1"])
        #expect(await session.load(server.url("/")).text == "1")
    }

    @Test("A cookie that a server removes, sets and removes again during a write is removed from the storage")
    func removedTwice() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let held = try Held(URLSessionConfiguration.ephemeral.httpCookieStorage)
        defer { held.gate.open() }
        let properties: [HTTPCookiePropertyKey: Any] = [.name: "a", .value: "old", .domain: "127.0.0.1", .path: "/"]
        try held.storage.setCookie(#require(HTTPCookie(properties: properties)))
        let session = Self.session(with: held.storage)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "1")
        held.cookie.hold(until: held.gate)
        for path in ["/set/b", "/remove/a", "/set/a", "/remove/a"] { _ = await session.load(server.url(path)) }
        held.gate.open()
        await session.flush()
        #expect(held.storage.values == ["b": "1"])
        #expect(await session.load(server.url("/")).text == "1")
    }

    // MARK: - flush and reset

    @Test("flush waits for the cookies of the responses before it, and requests don't wait for flush")
    func flush() async throws {
        let server = try Self.server(setting: 400)
        defer { server.stop() }
        let held = try Held(URLSessionConfiguration.ephemeral.httpCookieStorage)
        defer { held.gate.open() }
        let session = Self.session(with: held.storage)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "0")
        held.cookie.hold(until: held.gate)
        _ = await session.load(server.url("/set"))
        let order = Watched<[String]>([])
        session.flush { order.update { $0.append("flushed") } }
        // Its handler has the same queue, and comes after that of a flush that doesn't wait.
        #expect(await session.load(server.url("/")).text == "180")
        #expect(await session.load(server.url("/")).text == "180")
        order.update { $0.append("opened") }
        held.gate.open()
        try await order.wait { $0.count == 2 }
        #expect(order.value == ["opened", "flushed"])
        #expect(held.storage.values.count == 180)
    }

    @Test("reset removes cookies that are not written yet, and waits until the storage is empty")
    func reset() async throws {
        let server = try Self.server(setting: 400)
        defer { server.stop() }
        let file = FileCookieStorage()
        defer { file.remove() }
        let held = try Held(file.storage)
        defer { held.gate.open() }
        let session = Self.session(with: held.storage)
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url("/")).text == "0")
        held.cookie.hold(until: held.gate)
        _ = await session.load(server.url("/set"))
        async let reset: Void = session.reset()
        held.gate.open()
        await reset
        #expect(held.storage.cookies?.isEmpty ?? false)
        #expect(await session.load(server.url("/")).text == "0")
    }
}
