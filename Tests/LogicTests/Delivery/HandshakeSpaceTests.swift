import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("A handshake's protection space")
struct HandshakeSpaceTests {
    @Test("Handshakes' protection spaces are equal if they have the same values")
    func equality() throws {
        let origins = try ["https://example.com/", "https://example.com:8443/"].map {
            try #require(Origin(Sample.url($0)))
        }
        let trust = ServerTrust(host: "example.com", chain: [[1, 2]], verification: 0, reason: "ok")
        let otherTrust = ServerTrust(host: "example.com", chain: [[1, 3]], verification: 0, reason: "ok")
        func spaces() -> [HandshakeSpace] {
            [
                HandshakeSpace(trust, at: origins[0]), HandshakeSpace(trust, at: origins[1]),
                HandshakeSpace(otherTrust, at: origins[0]), HandshakeSpace(authorities: [], at: origins[0]),
                HandshakeSpace(authorities: [Data([1])], at: origins[0]),
            ]
        }
        #expect(spaces() == spaces())
        #expect(Set(spaces() + spaces()).count == spaces().count)
    }
}
