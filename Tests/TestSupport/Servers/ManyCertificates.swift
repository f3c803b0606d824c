import Foundation
import Glibc

/// nginx that shows each connection another of a hundred self-signed certificates.
package final class ManyCertificates: Sendable {
    package let url: URL
    private let process: ChildProcess

    package init() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("certificates-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        let socket = try ListeningSocket.open(backlog: 256, for: "nginx")
        defer { close(socket.descriptor) }
        guard let url = URL(string: "https://127.0.0.1:\(socket.port)/") else { throw URLError(.badURL) }
        self.url = url
        let configuration = directory.appendingPathComponent("nginx.conf")
        try Self.configuration(directory.path, port: socket.port)
            .write(to: configuration, atomically: true, encoding: .utf8)
        process = try ChildProcess(
            ["sh", "-c", Self.certificates + Nginx.script, "sh", directory.path]
                + [Nginx.program(), "-c", configuration.path],
            descriptors: [socket.descriptor],
            environment: ["NGINX": "3;"],
            mergesErrors: true
        )
    }

    /// In the directory that is the first argument.
    private static let certificates = """
        cd "$1" || exit 1
        openssl ecparam -name prime256v1 -genkey -noout -out key.pem
        for number in $(seq 0 99); do
            openssl req -x509 -days 2 -subj "/CN=$number" -key key.pem -out $number.pem 2>/dev/null
            test $number -gt 9 || ln -s $number.pem 0$number.pem
        done

        """

    private static func configuration(_ directory: String, port: Int) -> String {
        """
        daemon off;
        worker_processes 1;
        \(geteuid() == 0 ? "user root;" : "")
        pid \(directory)/nginx.pid;
        error_log \(directory)/error.log warn;
        events { worker_connections 1024; }
        http {
            access_log off;
            client_body_temp_path \(directory)/body;
            proxy_temp_path \(directory)/proxy;
            fastcgi_temp_path \(directory)/fastcgi;
            uwsgi_temp_path \(directory)/uwsgi;
            scgi_temp_path \(directory)/scgi;
            map $connection $certificate { "~(?<last>[0-9]?[0-9])$" $last; }
            server {
                listen 127.0.0.1:\(port) ssl;
                ssl_certificate \(directory)/$certificate.pem;
                ssl_certificate_key \(directory)/key.pem;
                location / { return 200 "fine"; }
            }
        }
        """
    }
}
