import Foundation
import Glibc

/// A real server for the tests: Debian's nginx, with one worker, on free loopback ports, for HTTP/1.1 and for HTTP/2 over TLS.
///
/// It ends with the test process, however that ends, and its directory is removed.
///
/// The answers' `X-Connection` and `X-Protocol` say which of nginx's connections they came on, and how; `X-Host` and `X-Client`
/// say what nginx saw of the client.
package final class Nginx: Sendable {
    /// The one that all tests share. Throws if nginx or openssl is missing, or doesn't start.
    package static func shared() throws -> Nginx { try sharedResult.get() }

    private static let sharedResult = Result { try Nginx() }

    package let site: NginxSite
    package let plainPort: Int
    package let tlsPort: Int
    private let process: ChildProcess

    private init() throws {
        site = try NginxSite()
        // nginx gets sockets that already listen: no port can be taken in between, and clients that connect early wait. It
        // crashes with such sockets if it has no master process.
        let plain = try ListeningSocket.open(backlog: 4096, for: "nginx")
        defer { close(plain.descriptor) }
        let tls = try ListeningSocket.open(backlog: 4096, for: "nginx")
        defer { close(tls.descriptor) }
        (plainPort, tlsPort) = (plain.port, tls.port)
        let socket = try ListeningSocket.openUnix(site.socket.path, backlog: 4096, for: "nginx")
        defer { close(socket) }
        let tlsSocket = try ListeningSocket.openUnix(site.tlsSocket.path, backlog: 4096, for: "nginx")
        defer { close(tlsSocket) }
        try Self.configuration(site, plain: plain.port, tls: tls.port)
            .write(to: site.configuration, atomically: true, encoding: .utf8)
        process = try Self.start(site, [plain.descriptor, tls.descriptor, socket, tlsSocket])
    }

    /// For the failure message if nginx didn't answer.
    package var complaints: String {
        (try? String(contentsOf: site.errorLog, encoding: .utf8)) ?? "nginx wrote no error log"
    }

    /// A URL over a Unix socket, without TLS.
    package func unix(_ path: String) -> URL { url("http", site.socket, path) }

    /// A URL over a Unix socket, with TLS.
    package func unixTLS(_ path: String) -> URL { url("https", site.tlsSocket, path) }

    private func url(_ scheme: String, _ socket: URL, _ path: String) -> URL {
        let host = socket.path.replacingOccurrences(of: "/", with: "%2F")
        return URL(string: "\(scheme)+unix://\(host)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// A URL without TLS.
    package func plain(_ path: String) -> URL { url("http", plainPort, path) }

    /// A URL with TLS.
    package func tls(_ path: String) -> URL { url("https", tlsPort, path) }

    private func url(_ scheme: String, _ port: Int, _ path: String) -> URL {
        URL(string: "\(scheme)://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    // MARK: - Starting

    /// Runs nginx with `site`'s configuration and these listening sockets, six at most: the shell below has no more descriptors.
    static func start(_ site: NginxSite, _ sockets: [Int32]) throws -> ChildProcess {
        try ChildProcess(
            ["sh", "-c", script, "sh", site.directory.path, program(), "-c", site.configuration.path],
            descriptors: sockets,
            environment: ["NGINX": sockets.indices.map { "\(3 + $0);" }.joined()],
            mergesErrors: true
        )
    }

    /// Runs nginx, and a watchdog that ends it and removes its directory when the tests have ended, in whatever way.
    static let script = """
        directory=$1; shift
        exec 9<&0
        (
            exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- >/dev/null 2>&1
            cat <&9 >/dev/null
            kill -TERM $$
            rm -rf "$directory"
        ) &
        exec 9<&- </dev/null
        exec "$@"
        """

    static func program() throws -> String {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for directory in ["/usr/sbin", "/usr/local/sbin"] + directories {
            let path = directory + "/nginx"
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw ChildProcess.Failure(description: "These tests need nginx: apt-get install nginx-light, or run make test")
    }

    /// What a configuration begins with.
    static func preamble(_ site: NginxSite) -> String {
        """
        daemon off;
        worker_processes 1;
        \(geteuid() == 0 ? "user root;" : "")
        pid \(site.directory.path)/nginx.pid;
        error_log \(site.errorLog.path) warn;
        events { worker_connections 4096; }
        """
    }

    /// What its `http` block begins with.
    static func httpSettings(_ site: NginxSite) -> String {
        let directory = site.directory.path
        return """
            access_log off;
            default_type application/octet-stream;
            sendfile on;
            keepalive_requests 1000000;
            keepalive_timeout 600s;
            client_max_body_size 0;
            client_body_temp_path \(directory)/body;
            proxy_temp_path \(directory)/proxy;
            fastcgi_temp_path \(directory)/fastcgi;
            uwsgi_temp_path \(directory)/uwsgi;
            scgi_temp_path \(directory)/scgi;
            ssl_certificate \(site.certificate.path);
            ssl_certificate_key \(site.key.path);
            """
    }

    private static func configuration(_ site: NginxSite, plain: Int, tls: Int) -> String {
        """
        \(preamble(site))
        http {
            \(httpSettings(site))
            http2_max_concurrent_streams 128;
            server {
                listen 127.0.0.1:\(plain);
                listen 127.0.0.1:\(tls) ssl http2;
                listen unix:\(site.socket.path);
                listen unix:\(site.tlsSocket.path) ssl http2;
                root \(site.root.path);
                add_header X-Connection $connection always;
                add_header X-Protocol $server_protocol always;
                add_header X-Host $http_host always;
                add_header X-Client "$remote_addr $remote_port" always;
                location /gzip/ {
                    alias \(site.root.path)/;
                    gzip on;
                    gzip_types *;
                    gzip_min_length 0;
                }
                location = /cookies {
                    add_header Set-Cookie "visited=1; Path=/; Expires=Thu, 31 Dec 2099 23:59:59 GMT; HttpOnly";
                    add_header Set-Cookie "foreign=1; Domain=example.com";
                    return 200 "$http_cookie";
                }
                location /private/ {
                    alias \(site.root.path)/;
                    auth_basic "nginx's vault";
                    auth_basic_user_file \(site.passwords.path);
                }
                location /moved/ { rewrite ^/moved(/.*)$ $1 redirect; }
                location /upload/ { dav_methods PUT; }
                # A port of this machine, and the path that it gets.
                location ~ ^/proxy/(\\d+)(/.*)$ { proxy_pass http://127.0.0.1:$1$2; }
                location ~ ^/websocket/(\\d+)(/.*)$ {
                    proxy_pass http://127.0.0.1:$1$2;
                    proxy_http_version 1.1;
                    proxy_set_header Upgrade $http_upgrade;
                    proxy_set_header Connection upgrade;
                }
                location /slow/ {
                    alias \(site.root.path)/;
                    limit_rate 500k;
                }
            }
        }
        """
    }
}
