import CurlNetworking
import Foundation

/// `openssl s_server`, which demands a certificate of the tests' authority, and ends the handshake with an alert without
/// one.
package final class AlertingServer: Sendable {
    package let site: TLSSite
    package let url: URL
    private let process: ChildProcess

    /// - Parameter options: More arguments for s_server.
    package init(_ options: [String] = []) async throws {
        site = try TLSNginx.shared().site
        // s_server ignores the end of its input.
        let script = """
            "$@" </dev/null 2>/dev/null &
            server=$!
            (cat >/dev/null; kill $server) 2>/dev/null
            """
        process = try ChildProcess(
            ["sh", "-c", script, "sh", "openssl", "s_server", "-accept", "127.0.0.1:0", "-www"]
                + ["-cert", site.certificate(.good).path, "-key", site.key(.good).path]
                + ["-Verify", "1", "-verify_return_error", "-CAfile", site.authority.path] + options
        )
        url = try await process.urlOfOpenSSLServer()
    }

    /// A session that trusts the server.
    package func session(
        delegate: (any URLSessionDelegate)? = nil,
        _ configure: (inout CurlOptions) -> Void = { _ in }
    ) -> URLSession {
        .forTest(delegate: delegate) { configuration in
            configuration.curl.tls.trustRoots = [.file(site.authority)]
            configure(&configuration.curl)
        }
    }
}
