import Foundation
import Glibc

/// A real HTTP/2 server for the tests: Debian's nginx again, which forwards requests below `/proxy/PORT/` to a `LoopbackServer`.
///
/// Its answers have the same `X-Connection` and `X-Protocol` as `Nginx`'s, and its certificate the same authority.
package final class NginxHTTP2: Sendable {
    package enum Listener: Int, Sendable, CaseIterable {
        /// HTTP/2 or HTTP/1.1, over TLS.
        case tls
        /// HTTP/1.1 over TLS.
        case tlsHTTP1
        /// HTTP/2 without TLS.
        case plain
        /// HTTP/2 over TLS, with no more than four requests on a connection at once.
        case fourStreams
        /// The same with one.
        case oneStream
        /// HTTP/2 over TLS, with no more than ten requests on a connection in total.
        case tenRequests
    }

    /// The one that all tests share. Throws if nginx or openssl is missing, or doesn't start.
    package static func shared() throws -> NginxHTTP2 { try sharedResult.get() }

    private static let sharedResult = Result { try NginxHTTP2() }

    package let site: NginxSite
    private let ports: [Int]
    private let process: ChildProcess

    private init() throws {
        site = try NginxSite()
        let sockets = try Listener.allCases.map { _ in try ListeningSocket.open(backlog: 4096, for: "nginx") }
        defer { for socket in sockets { close(socket.descriptor) } }
        ports = sockets.map(\.port)
        try Self.configuration(site, ports).write(to: site.configuration, atomically: true, encoding: .utf8)
        process = try Nginx.start(site, sockets.map(\.descriptor))
    }

    package func url(_ listener: Listener, _ path: String) -> URL {
        let scheme = listener == .plain ? "http" : "https"
        return URL(string: "\(scheme)://127.0.0.1:\(ports[listener.rawValue])\(path)") ?? URL(fileURLWithPath: path)
    }

    package func port(of listener: Listener) -> Int { ports[listener.rawValue] }

    private static func configuration(_ site: NginxSite, _ ports: [Int]) -> String {
        let common = """
            root \(site.root.path);
            add_header X-Connection $connection always;
            add_header X-Protocol $server_protocol always;
            add_header X-Target $request_uri always;
            location ~ ^/proxy/(\\d+)(/.*)$ {
                proxy_pass http://127.0.0.1:$1$2$is_args$args;
                proxy_buffering off;
                proxy_read_timeout 600s;
            }
            location /moved/ { rewrite ^/moved(/.*)$ $1 redirect; }
            location /upload/ { dav_methods PUT; }
            location /private/ {
                alias \(site.root.path)/;
                auth_basic "nginx's vault";
                auth_basic_user_file \(site.passwords.path);
            }
            location /kerberos/ {
                default_type text/plain;
                add_header X-Protocol $server_protocol always;
                add_header WWW-Authenticate Negotiate always;
                if ($http_authorization !~ "^Negotiate .") { return 401; }
                return 200 "open over $server_protocol";
            }
            """
        return """
            \(Nginx.preamble(site))
            http {
                \(Nginx.httpSettings(site))
                server { listen 127.0.0.1:\(ports[0]) ssl http2; http2_max_concurrent_streams 128; \(common) }
                server { listen 127.0.0.1:\(ports[1]) ssl; \(common) }
                server { listen 127.0.0.1:\(ports[2]) http2; http2_max_concurrent_streams 128; \(common) }
                server { listen 127.0.0.1:\(ports[3]) ssl http2; http2_max_concurrent_streams 4; \(common) }
                server { listen 127.0.0.1:\(ports[4]) ssl http2; http2_max_concurrent_streams 1; \(common) }
                server { listen 127.0.0.1:\(ports[5]) ssl http2; keepalive_requests 10; \(common) }
            }
            """
    }
}
