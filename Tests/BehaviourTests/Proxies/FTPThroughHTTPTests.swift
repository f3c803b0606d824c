import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("FTP through an HTTP proxy", .timeLimit(.minutes(1)))
struct FTPThroughHTTPTests {
    @Test("A proxy that wants a credential is refused: nobody is asked for one that couldn't be sent")
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
}
