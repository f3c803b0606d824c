import Foundation

/// One nginx with one worker, for all contenders of a run.
struct Nginx {
    private let plainPort: UInt16
    private let tlsPort: UInt16
    /// Closes each connection after one response.
    private let closingPort: UInt16
    let program: Program

    /// Starts nginx on two free loopback ports and returns when it answers.
    init(serving site: Site) throws {
        plainPort = try Loopback.freePort()
        tlsPort = try Loopback.freePort()
        closingPort = try Loopback.freePort()
        let configuration = site.directory.appendingPathComponent("nginx.conf")
        try Self.configuration(site, plain: plainPort, tls: tlsPort, closing: closingPort)
            .write(to: configuration, atomically: true, encoding: .utf8)
        // Its workers outlive a master that is killed, so it has to be asked.
        let command = Command(
            ["nginx", "-p", site.directory.path, "-c", configuration.path],
            lastSignal: .terminate
        )
        program = try Program(command)
        let deadline = Date(timeIntervalSinceNow: 10)
        while !Loopback.answers(plainPort) || !Loopback.answers(tlsPort) {
            guard program.isRunning, Date() < deadline else {
                throw Complaint("nginx did not start (Debian: apt-get install nginx-light)\n\(program.errorText)")
            }
            usleep(20_000)
        }
    }

    func plain(_ path: String) -> String {
        "http://127.0.0.1:\(plainPort)\(path)"
    }

    func tls(_ path: String) -> String {
        "https://127.0.0.1:\(tlsPort)\(path)"
    }

    func closing(_ path: String) -> String {
        "https://127.0.0.1:\(closingPort)\(path)"
    }

    /// Uploads go through WebDAV's PUT, because it reads the whole body before it answers and leaves a file to check.
    private static func configuration(_ site: Site, plain: UInt16, tls: UInt16, closing: UInt16) -> String {
        let directory = site.directory.path
        return """
            daemon off;
            master_process on;
            worker_processes 1;
            \(geteuid() == 0 ? "user root;" : "")
            pid \(directory)/nginx.pid;
            error_log stderr error;
            events {
                worker_connections 16384;
                multi_accept on;
            }
            http {
                access_log off;
                default_type application/octet-stream;
                sendfile on;
                tcp_nodelay on;
                keepalive_requests 1000000000;
                keepalive_timeout 600s;
                client_max_body_size 0;
                client_body_buffer_size 1m;
                open_file_cache max=64 inactive=1h;
                open_file_cache_valid 1h;
                client_body_temp_path \(directory)/body;
                proxy_temp_path \(directory)/proxy;
                fastcgi_temp_path \(directory)/fastcgi;
                uwsgi_temp_path \(directory)/uwsgi;
                scgi_temp_path \(directory)/scgi;
                ssl_certificate \(site.certificate.path);
                ssl_certificate_key \(site.key.path);
                server {
                    listen 127.0.0.1:\(plain) backlog=4096;
                    listen 127.0.0.1:\(tls) ssl http2 backlog=4096;
                    root \(site.root.path);
                    location = \(Site.protocolPath) { return 200 $server_protocol; }
                    location /unlike/ {
                        alias \(site.root.path)/;
                        add_header X-Request-ID $request_id;
                    }
                    location /uncached/ {
                        alias \(site.root.path)/;
                        add_header X-Request-ID $request_id;
                        add_header Cache-Control no-store;
                    }
                    location /cookie/ {
                        alias \(site.root.path)/;
                        add_header Set-Cookie "last=$request_id; Path=/cookie";
                        add_header Cache-Control no-store;
                    }
                    location /cached/ {
                        alias \(site.root.path)/;
                        add_header Cache-Control "public, max-age=3600";
                    }
                    location /redirected/ { return 302 \(Site.unlikePath); }
                    location /slow/ { limit_rate 1k; }
                    location /upload/ { dav_methods PUT; }
                }
                server {
                    listen 127.0.0.1:\(closing) ssl backlog=4096;
                    root \(site.root.path);
                    keepalive_timeout 0;
                }
            }
            """
    }
}
