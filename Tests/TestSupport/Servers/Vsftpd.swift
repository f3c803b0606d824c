import Foundation

/// A real FTP server for the tests: Debian's vsftpd on a free loopback port, for everyone, with a directory to write to.
///
/// It runs as the tests' own user, root or not, and ends with the test process, however that ends.
package final class Vsftpd: Sendable {
    /// The one that all tests share, and the one that speaks TLS from the first byte (`ftps`), with nginx's certificate. They throw
    /// if vsftpd is missing or doesn't start.
    package static func shared() throws -> Vsftpd { try sharedResult.get() }
    package static func overTLS() throws -> Vsftpd { try overTLSResult.get() }

    private static let sharedResult = Result { try Vsftpd(identity: nil) }
    private static let overTLSResult = Result { try Vsftpd(identity: Nginx.shared().site) }

    private static let path = "/usr/sbin/vsftpd"

    package let port: Int
    private let scheme: String
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    private init(identity: NginxSite?) throws {
        directory = try TemporaryDirectory()
        scheme = identity == nil ? "ftp" : "ftps"
        let (root, empty) = (
            directory.url.appendingPathComponent("root"), directory.url.appendingPathComponent("empty")
        )
        for folder in [root, empty, root.appendingPathComponent("upload")] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        }
        // vsftpd doesn't allow a root that users can write to.
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: root.path)
        let file = directory.url.appendingPathComponent("vsftpd.conf")
        let (ports, process) = try LoopbackProgram.start("vsftpd", in: directory) { ports in
            try Self.configuration(ports[0], root, empty, identity)
                .write(to: file, atomically: true, encoding: .utf8)
            return [Self.path, file.path]
        }
        (port, self.process) = (ports[0], process)
    }

    /// Where a file's content is.
    package var root: URL { directory.url.appendingPathComponent("root") }

    /// What was stored as `/upload/<name>`, or can be fetched from there.
    package func file(_ name: String) -> URL { root.appendingPathComponent("upload").appendingPathComponent(name) }

    /// Writes a file for `url("/upload/<name>")`.
    package func publish(_ name: String, _ content: Data) throws {
        try content.write(to: file(name))
    }

    package func url(_ path: String) -> URL {
        URL(string: "\(scheme)://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    private static func configuration(_ port: Int, _ root: URL, _ empty: URL, _ identity: NginxSite?) -> String {
        let plain = """
            listen=YES
            listen_address=127.0.0.1
            listen_port=\(port)
            background=NO
            run_as_launching_user=YES
            seccomp_sandbox=NO
            anonymous_enable=YES
            local_enable=NO
            write_enable=YES
            anon_upload_enable=YES
            anon_umask=022
            anon_world_readable_only=NO
            anon_root=\(root.path)
            secure_chroot_dir=\(empty.path)
            xferlog_enable=NO
            connect_from_port_20=NO

            """
        guard let identity else { return plain }
        return plain + """
            ssl_enable=YES
            implicit_ssl=YES
            allow_anon_ssl=YES
            force_anon_logins_ssl=YES
            force_anon_data_ssl=YES
            rsa_cert_file=\(identity.certificate.path)
            rsa_private_key_file=\(identity.key.path)

            """
    }
}
