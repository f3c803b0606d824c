import CurlNetworking
import Foundation

/// A real HTTP proxy for the tests: Debian's squid (the one with TLS) on free loopback ports, each of which wants a different
/// kind of credentials. It caches nothing, asks no name server, and ends with the test process, however that ends.
package final class Squid: Sendable {
    package enum Door: CaseIterable, Sendable {
        /// For everyone.
        case open
        /// For everyone, over TLS with nginx's certificate.
        case tls
        /// For "user" with the password "secret". The NTLM helper that comes with squid takes any password.
        case basic, digest, ntlm
    }

    /// The one that all tests share. Throws if squid is missing or doesn't start.
    package static func shared() throws -> Squid { try sharedResult.get() }

    private static let sharedResult = Result { try Squid() }

    /// The host that no door lets anyone through to.
    package static let forbiddenHost = "forbidden.invalid"

    private let ports: [Door: Int]
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    private init() throws {
        let directory = try TemporaryDirectory()
        let passwords = try directory.file("passwords", Data("user:\(Self.passwordHash)\n".utf8))
        let digests = try directory.file("digests", Data("user:squid:\(Self.digestHash)\n".utf8))
        let identity = try Nginx.shared().site
        let file = directory.url.appendingPathComponent("squid.conf")
        let (ports, process) = try LoopbackProgram.start("squid-openssl", in: directory, ports: Door.allCases.count) {
            ports in
            let doors = Dictionary(uniqueKeysWithValues: zip(Door.allCases, ports))
            try Self.configuration(doors, identity, passwords: passwords.path, digests: digests.path)
                .write(to: file, atomically: true, encoding: .utf8)
            // Its shared memory is named after it.
            return ["/usr/sbin/squid", "-N", "-n", "tests\(UInt64.random(in: 0 ... .max))", "-f", file.path]
        }
        self.ports = Dictionary(uniqueKeysWithValues: zip(Door.allCases, ports))
        self.directory = directory
        self.process = process
    }

    package func port(_ door: Door) -> Int { ports[door] ?? 0 }

    /// The proxy behind a door, with the right credentials if it wants some.
    package func server(_ door: Door, password: String? = "secret") throws -> CurlOptions.ProxyServer {
        var server = CurlOptions.ProxyServer(door == .tls ? .https : .http, host: "127.0.0.1", port: port(door))
        if door == .tls { server.certificateAuthorities = try Nginx.shared().site.authority }
        if [.basic, .digest, .ntlm].contains(door), let password {
            (server.user, server.password) = ("user", password)
        }
        return server
    }

    /// "secret", as `openssl passwd -apr1` has it.
    private static let passwordHash = "$apr1$c.wM3TeD$gW1lZ50Z8071nGHsFgeN8."
    /// The MD5 of "user:squid:secret" (RFC 7616 §3.4.2).
    private static let digestHash = "087be69120e6dd4a4bb70114b105d307"

    private static func configuration(
        _ ports: [Door: Int],
        _ identity: NginxSite,
        passwords: String,
        digests: String
    ) -> String {
        let helpers = "/usr/lib/squid"
        func door(_ door: Door, _ options: String = "") -> String {
            let kind = door == .tls ? "https_port" : "http_port"
            return "\(kind) 127.0.0.1:\(ports[door] ?? 0) name=\(door) \(options)"
        }
        return """
            \(door(.open))
            \(door(.tls, "tls-cert=\(identity.certificate.path) tls-key=\(identity.key.path)"))
            \(door(.basic))
            \(door(.digest))
            \(door(.ntlm))
            auth_param basic program \(helpers)/basic_ncsa_auth \(passwords)
            auth_param basic realm squid
            auth_param basic children 1 startup=1
            auth_param digest program \(helpers)/digest_file_auth -c \(digests)
            auth_param digest realm squid
            auth_param digest children 1 startup=1
            auth_param ntlm program \(helpers)/ntlm_fake_auth
            auth_param ntlm children 4 startup=1
            acl open myportname open tls
            acl basic myportname basic
            acl digest myportname digest
            acl ntlm myportname ntlm
            auth_schemes basic basic
            auth_schemes digest digest
            auth_schemes ntlm ntlm
            acl known proxy_auth REQUIRED
            acl forbidden dstdomain \(forbiddenHost)
            http_access deny forbidden
            http_access allow open
            http_access allow known
            http_access deny all
            cache deny all
            cache_mem 0 MB
            pid_filename none
            access_log none
            cache_log /dev/null
            coredump_dir none
            cache_effective_user proxy
            shutdown_lifetime 0 seconds
            pinger_enable off
            icp_port 0
            htcp_port 0
            dns_nameservers 127.0.0.1
            max_filedescriptors 1024
            visible_hostname localhost

            """
    }
}
