import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Redirects of tasks that wait for their host's connections", .timeLimit(.minutes(1)))
struct RedirectLimitTests {
    /// The stock module sets options on handles that libcurl had queued, and traps.
    @Test("Each of many redirects is followed, within its host and to another", arguments: [1, 2, 6])
    func many(limit: Int) async throws {
        let other = try LoopbackServer { .text("there \($0.path)") }
        defer { other.stop() }
        let target = other.url("/").absoluteString
        let rig = try Rig { request in
            let number = Int(request.path.dropFirst(3)) ?? 0
            return switch request.path.prefix(3) {
            case "/a/": .redirect(to: "/b/\(number)")
            case "/b/": number % 2 == 0 ? .text("here /\(number)") : .redirect(to: target + "\(number)")
            default: .text("what?", status: 404)
            }
        } configure: {
            $0.httpMaximumConnectionsPerHost = limit
            $0.urlCache = nil
        }
        defer { rig.stop() }
        let texts = await withTaskGroup(of: String?.self) { group in
            for number in 0..<60 { group.addTask { await rig.session.load(rig.url("/a/\(number)")).text } }
            return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(texts == Set((0..<60).map { $0 % 2 == 0 ? "here /\($0)" : "there /\($0)" }))
        #expect(rig.server.connectionCount <= limit)
    }

    @Test("A task that is suspended while it is redirected leaves its place to others, and follows when it is resumed")
    func suspended() async throws {
        let delegate = DecidingDelegate(onRedirect: { _ in })
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/a" ? .redirect(to: "/b") : .text(request.path)
        } configure: {
            $0.useOneConnection()
        }
        defer { rig.stop() }
        let task = rig.session.dataTask(with: rig.url("/a"))
        task.resume()
        let redirect = try await delegate.redirect(number: 1)
        task.suspend()
        redirect.answer(redirect.request)
        #expect(await rig.session.load(rig.url("/other")).text == "/other")
        #expect(task.state == .suspended)
        task.resume()
        try await delegate.success(of: task)
        #expect(delegate.body(of: task) == Data("/b".utf8))
    }
}
