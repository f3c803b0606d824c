import Testing

@testable import CurlTransport

@Suite("Whom a TLS handshake is with")
struct TLSSetupTests {
    @Test("Through a proxy that speaks TLS, it is the proxy's and the server's turn alternately")
    func alternating() {
        var setup = TLSSetup()
        setup.hasSecureProxy = true
        #expect([0, 200, 200, 200].map { setup.securesProxy(connectCode: $0) } == [true, false, true, false])
    }

    @Test("If the server doesn't speak it, each is the proxy's, whatever became of the one before")
    func plainServer() {
        var setup = TLSSetup()
        (setup.hasSecureProxy, setup.hasSecureServer) = (true, false)
        #expect([0, 200, 200, 200].map { setup.securesProxy(connectCode: $0) } == [true, true, true, true])
    }

    @Test("Without such a proxy, none is")
    func noProxy() {
        var setup = TLSSetup()
        #expect([0, 200].map { setup.securesProxy(connectCode: $0) } == [false, false])
    }
}
