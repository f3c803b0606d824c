import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer

/// Servers that let no client in without the right name and password, and say so in each of their answers.
enum Guard {
    static func token(_ user: String = "user", _ password: String = "secret") -> String {
        "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }

    /// Lets in who shows one of `tokens`.
    static func basic(
        _ challenge: String = #"Basic realm="vault""#,
        tokens: [String] = [token()]
    ) throws -> LoopbackServer {
        try LoopbackServer { request in
            guard let shown = request.header("Authorization"), tokens.contains(shown) else {
                return .text("closed", status: 401).header("WWW-Authenticate", challenge)
            }
            return .text("open \(request.method) \(request.path) \(request.text)")
        }
    }
}

extension URLCredential {
    static func right(_ persistence: Persistence = .forSession) -> URLCredential {
        URLCredential(user: "user", password: "secret", persistence: persistence)
    }

    static func wrong(_ number: Int = 0) -> URLCredential {
        URLCredential(user: "user", password: "wrong\(number)", persistence: .forSession)
    }
}

extension LoopbackServer {
    /// What each request showed, in order.
    var shown: [String?] { requests.map { $0.header("Authorization") } }

    func space(realm: String? = "vault", method: String? = NSURLAuthenticationMethodHTTPBasic) -> URLProtectionSpace {
        URLProtectionSpace(host: "127.0.0.1", port: port, protocol: "http", realm: realm, authenticationMethod: method)
    }
}
