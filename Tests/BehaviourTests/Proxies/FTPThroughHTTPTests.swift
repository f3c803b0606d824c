import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("FTP through an HTTP proxy", .timeLimit(.minutes(1)))
struct FTPThroughHTTPTests {
    @Test("A proxy that wants a credential fails the task, and the delegate isn't asked for one that couldn't be sent")
    func challenge() async throws {
        let proxy = try ScriptedProxy.guarded()
        defer { proxy.stop() }
        let delegate = DecidingDelegate(onChallenge: {
            $0.answer(.useCredential, URLCredential(user: "user", password: "secret", persistence: .forSession))
        })
        let session = URLSession.through(proxy.settings(), delegate: delegate)
        defer { session.invalidateAndCancel() }
        let result = await session.load("ftp://files.test/file")
        #expect(result.response?.statusCode == 407)
        #expect(result.text == "closed")
        #expect(delegate.challenges.value.isEmpty)
        #expect(proxy.shown == [nil])
    }

    @Test("A proxy's redirect is an answer like any other, and isn't followed", arguments: [true, false])
    func redirect(hasDelegate: Bool) async throws {
        let proxy = try ScriptedProxy { _ in
            .text("elsewhere", status: 302).header("Location", "http://portal.test/")
        }
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings(), delegate: hasDelegate ? RecordingDelegate() : nil)
        defer { session.invalidateAndCancel() }
        let result = await session.load("ftp://files.test/file")
        #expect(result.error == nil)
        #expect(result.response?.statusCode == 302)
        #expect(result.text == "elsewhere")
        #expect(proxy.server.requestCount == 1)
    }

    @Test("A proxy that doesn't answer isn't waited for: it has the request, which isn't sent again")
    func silence() async throws {
        let proxy = try ScriptedProxy { _ in .never }
        defer { proxy.stop() }
        let session = URLSession.through(proxy.settings()) {
            $0.waitsForConnectivity = true
            $0.timeoutIntervalForRequest = 2
        }
        defer { session.invalidateAndCancel() }
        #expect(await session.load("ftp://files.test/file").error?.code == .timedOut)
        #expect(proxy.server.requestCount == 1)
    }
}
