import Foundation
import Testing

@testable import CurlNetworking

@Suite("Questions of an agent")
struct ChallengeQueryTests {
    @Test(
        "A question is about the requests to the server that asks, however their URLs spell it",
        arguments: [
            ("example.com", "https://EXAMPLE.com:443/a", true), ("example.com", "https://EXAMPLE.com:8443/a", false),
            ("example.com", "https://www.example.com/", false),
            ("localhost", "https://%6Cocalhost/", true), ("127.0.0.1", "https://127.1/", true),
            ("::1", "https://[0::1]/", true), ("127.0.0.1", "ftps://127.1:443/", true), ("127.0.0.1", "data:,x", false),
        ]
    )
    func hosts(host: String, url: String, expected: Bool) throws {
        let space = URLProtectionSpace(
            host: host,
            port: 443,
            protocol: "https",
            realm: nil,
            authenticationMethod: NSURLAuthenticationMethodDefault
        )
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space,
            proposedCredential: nil,
            previousFailureCount: 0,
            failureResponse: nil,
            error: nil,
            sender: ChallengeSender { _ in }
        )
        let query = ChallengeQuery(challenge, isOfConnection: true)
        #expect(try query.isAbout(Sample.request(url)) == expected)
        #expect(!query.isAbout(nil))
    }
}
