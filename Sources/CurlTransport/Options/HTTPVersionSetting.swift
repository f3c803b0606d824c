import CCurlNetworkingLibcurl

/// The HTTP versions that the connections to an origin may speak.
package struct HTTPVersionSetting: ConnectionSettings, Equatable {
    package enum Choice: Sendable, Equatable {
        case http1
        /// Without TLS, and without asking the server first.
        case http2PriorKnowledge
        case http3
    }

    package let choice: Choice

    package init(_ choice: Choice) {
        self.choice = choice
    }

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        switch choice {
        case .http1: try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        case .http2PriorKnowledge: try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
        case .http3: try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_3)
        }
    }
}
