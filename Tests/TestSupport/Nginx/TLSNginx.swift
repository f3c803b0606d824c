import CurlNetworking
import Foundation
import Glibc

/// nginx with a port for each kind of certificate, and some for other demands that a server can make of TLS. It ends with the test
/// process.
///
/// The body of every response says which version and cipher suite were used, and whose certificate the client showed.
package final class TLSNginx: Sendable {
    /// The one that all tests share. Throws if nginx or openssl is missing, or doesn't start.
    package static func shared() throws -> TLSNginx { try sharedResult.get() }

    private static let sharedResult = Result { try TLSNginx() }

    /// A port, by what it does.
    package enum Port: Hashable, Sendable {
        /// Shows this certificate.
        case showing(TLSSite.Certificate)
        /// Speaks at most TLS 1.2.
        case old
        /// Speaks TLS 1.1, as no server should.
        case ancient
        /// Speaks only TLS 1.3.
        case new
        /// Speaks HTTP/2 to clients that offer it.
        case http2
        /// Demands a certificate signed by `authority`; finishes the handshake even without one.
        case asking
        /// The same with TLS 1.2.
        case askingInOldWay
        /// The same, and its own certificate is bad.
        case askingUntrusted
    }

    package let site: TLSSite
    private let ports: [Port: Int]
    private let process: ChildProcess

    /// The descriptor that the starting script keeps for itself.
    private static let reserved = 9

    private static let allPorts =
        TLSSite.Certificate.allCases.map(Port.showing) + [
            .old, .ancient, .new, .http2, .asking, .askingInOldWay, .askingUntrusted,
        ]

    private init() throws {
        site = try TLSSite()
        var ports: [Port: Int] = [:]
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for port in Self.allPorts {
            let socket = try ListeningSocket.open(backlog: 256, for: "nginx")
            descriptors.append(socket.descriptor)
            ports[port] = socket.port
        }
        self.ports = ports
        let configuration = site.file("nginx.conf")
        try Self.configuration(site, ports).write(to: configuration, atomically: true, encoding: .utf8)
        let program = try Nginx.program()
        let numbers = descriptors.indices.map { 3 + $0 + ($0 < Self.reserved - 3 ? 0 : 1) }
        var inherited = descriptors
        inherited.insert(descriptors[0], at: Self.reserved - 3)
        process = try ChildProcess(
            ["sh", "-c", Nginx.script, "sh", site.directory.path, program, "-c", configuration.path],
            descriptors: inherited,
            environment: ["NGINX": numbers.map { "\($0);" }.joined()],
            mergesErrors: true
        )
    }

    package func url(_ port: Port, host: String = "127.0.0.1", _ path: String = "/") -> URL {
        URL(string: "https://\(host):\(ports[port] ?? 0)\(path)") ?? site.directory
    }

    /// How the host table names it.
    package func pattern(_ port: Port) -> String { "127.0.0.1:\(ports[port] ?? 0)" }

    /// How many requests have arrived for paths that begin with `path`. nginx logs each request when it is over, one at a time:
    /// after the answer to another one, all earlier ones are in the log.
    package func requests(to path: String) async throws -> Int {
        let session = URLSession.trusting(self)
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: url(.showing(.good), "/behind"))
        return try requestsSoFar(to: path)
    }

    /// How many of them are in the log.
    package func requestsSoFar(to path: String) throws -> Int {
        let log = try String(contentsOf: site.file("access.log"), encoding: .utf8)
        return log.split(separator: "\n").count { $0.hasPrefix(path) }
    }

    private static func configuration(_ site: TLSSite, _ ports: [Port: Int]) -> String {
        let directory = site.directory.path
        let servers = allPorts.map { port in
            """
            server {
                listen 127.0.0.1:\(ports[port] ?? 0) ssl\(port == .http2 ? " http2" : "");
                \(lines(for: port).joined(separator: "\n        "))
            }
            """
        }
        return """
            daemon off;
            worker_processes 1;
            \(geteuid() == 0 ? "user root;" : "")
            pid \(directory)/nginx.pid;
            error_log \(directory)/error.log warn;
            events { worker_connections 1024; }
            http {
                log_format path "$request_uri";
                access_log \(directory)/access.log path;
                client_body_temp_path \(directory)/body;
                proxy_temp_path \(directory)/proxy;
                fastcgi_temp_path \(directory)/fastcgi;
                uwsgi_temp_path \(directory)/uwsgi;
                scgi_temp_path \(directory)/scgi;
                ssl_protocols TLSv1.2 TLSv1.3;
                add_header X-Connection $connection always;
                # "r" for a session that was resumed.
                add_header X-Session $ssl_session_reused always;
                # Sent where the query has a value for it.
                add_header Strict-Transport-Security $arg_sts always;
                add_header Cache-Control $arg_cc always;
                add_header X-Cookie $http_cookie always;
                \(servers.joined(separator: "\n    "))
            }
            """
    }

    /// To a port of this machine.
    private static let webSockets = """
        location ~ ^/websocket/(\\d+)(/.*)$ {
            proxy_pass http://127.0.0.1:$1$2;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
        }
        """

    private static func lines(for port: Port) -> [String] {
        let demand = ["ssl_verify_client on;", "ssl_client_certificate authority.pem;"]
        let body = #""$ssl_protocol $ssl_cipher [$ssl_client_s_dn]""#
        let answer = "location / { return 200 \(body); }"
        let (certificate, others): (TLSSite.Certificate, [String]) =
            switch port {
            case .showing(let certificate): (certificate, [])
            case .old: (.good, ["ssl_protocols TLSv1.2;", "ssl_session_cache shared:old:1m;"])
            case .ancient: (.good, ["ssl_protocols TLSv1.1;", "ssl_ciphers DEFAULT@SECLEVEL=0;"])
            case .new: (.good, ["ssl_protocols TLSv1.3;"])
            case .http2: (.good, [])
            case .asking: (.good, demand)
            case .askingInOldWay: (.good, demand + ["ssl_protocols TLSv1.2;"])
            case .askingUntrusted: (.selfsigned, demand)
            }
        return ["ssl_certificate \(certificate.rawValue).pem;", "ssl_certificate_key \(certificate.rawValue).key;"]
            + others + [answer, webSockets]
    }
}

extension URLSession {
    /// A session that trusts the tests' authority, for one test.
    package static func trusting(
        _ nginx: TLSNginx,
        delegate: (any URLSessionDelegate)? = nil,
        _ configure: (inout CurlOptions) -> Void = { _ in }
    ) -> URLSession {
        forTest(delegate: delegate) { configuration in
            configuration.curl.tls.additionalTrustRoots = [.file(nginx.site.authority)]
            configure(&configuration.curl)
        }
    }
}
