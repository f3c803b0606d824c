import Testing

@testable import CurlTransport

@Suite("Whom a TLS handshake is with")
struct TLSSetupTests {
    @Test("Through a proxy that speaks TLS, handshakes are with the proxy and the server alternately")
    func alternating() {
        var setup = TLSSetup()
        setup.hasSecureProxy = true
        #expect([0, 200, 200, 200].map { setup.securesProxy(connectCode: $0) } == [true, false, true, false])
    }

    @Test("If the server doesn't speak TLS, each handshake is with the proxy")
    func plainServer() {
        var setup = TLSSetup()
        (setup.hasSecureProxy, setup.hasSecureServer) = (true, false)
        #expect([0, 200, 200, 200].map { setup.securesProxy(connectCode: $0) } == [true, true, true, true])
    }

    @Test("Without a proxy that speaks TLS, no handshake is with it")
    func noProxy() {
        var setup = TLSSetup()
        #expect([0, 200].map { setup.securesProxy(connectCode: $0) } == [false, false])
    }
}
