import CurlNetworking
import Foundation

extension NginxHTTP2 {
    /// A session that trusts the server and speaks HTTP/2 to all of its listeners that can, by prior knowledge if there is no TLS.
    package func session(
        delegate: (any URLSessionDelegate)? = nil,
        configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        URLSession.forTest(delegate: delegate) {
            $0.urlCache = nil
            $0.curl.httpVersion = .http2PriorKnowledge
            $0.curl.tls.additionalTrustRoots = [.file(site.authority)]
            configure($0)
        }
    }

    /// Which of the server's connections the answer came on; nil if it didn't come over HTTP/2.
    package static func connection(of response: URLResponse?) -> String? {
        guard let response = response as? HTTPURLResponse,
            response.value(forHTTPHeaderField: "X-Protocol") == "HTTP/2.0"
        else { return nil }
        return response.value(forHTTPHeaderField: "X-Connection")
    }
}
