import Foundation

/// A real Kerberos realm for the tests: Debian's krb5-kdc on a free loopback port, with the user "alice" and the web server of "localhost",
/// and that web server. They end with the test process, however that ends.
package final class KerberosRealm: Sendable {
    /// The one that all tests share. Throws if a program is missing or doesn't start.
    package static func shared() throws -> KerberosRealm { try sharedResult.get() }

    private static let sharedResult = Result { try KerberosRealm() }

    private static let name = "KERBEROS.TEST"

    private let kdcPort: Int
    private let webPort: Int
    private let directory: TemporaryDirectory
    private let processes: [ChildProcess]

    private init() throws {
        let directory = try TemporaryDirectory()
        // What makes the database doesn't need the port.
        try Self.configure(directory, kdcPort: 88)
        try Self.run(Self.creation, in: directory)
        let environment = [
            "KRB5_CONFIG": Self.path("krb5.conf", directory), "KRB5_KDC_PROFILE": Self.path("kdc.conf", directory),
            "KRB5_KTNAME": Self.path("web.keytab", directory),
            "KRB5RCACHENAME": "file2:" + Self.path("replays", directory),
        ]
        let (kdcPorts, kdc) = try LoopbackProgram.start("krb5-kdc", in: directory, environment: environment) { ports in
            try Self.configure(directory, kdcPort: ports[0])
            return ["/usr/sbin/krb5kdc", "-n", "-r", Self.name]
        }
        try Self.run(Self.login, in: directory)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Python/kerberos_server.py")
        let (webPorts, web) = try LoopbackProgram.start("python3-gssapi", environment: environment) { ports in
            ["/usr/bin/python3", script.path, "\(ports[0])"]
        }
        (kdcPort, webPort) = (kdcPorts[0], webPorts[0])
        self.directory = directory
        processes = [kdc, web]
    }

    /// A URL of the web server: see `kerberos_server.py`.
    package func url(_ path: String) -> String { "http://localhost:\(webPort)\(path)" }

    /// What makes a program alice's, without a ticket for the web server so far.
    ///
    /// - Parameters:
    ///   - directory: The program's own, for its configuration and its tickets.
    ///   - kdcPorts: The ports of the realm's servers, one after the other; nil for the realm's own server.
    package func environment(
        in directory: TemporaryDirectory,
        kdcPorts: [Int]? = nil
    ) throws -> [String: String] {
        let tickets = Self.path("tickets", directory)
        try FileManager.default.copyItem(atPath: Self.path("tickets", self.directory), toPath: tickets)
        let configuration = try directory.file(
            "krb5.conf",
            Data(Self.configuration(kdcPorts: kdcPorts ?? [kdcPort]).utf8)
        )
        return ["KRB5_CONFIG": configuration.path, "KRB5CCNAME": "FILE:\(tickets)"]
    }

    // MARK: - Files

    private static func path(_ name: String, _ directory: TemporaryDirectory) -> String {
        directory.url.appendingPathComponent(name).path
    }

    private static func configure(_ directory: TemporaryDirectory, kdcPort: Int) throws {
        _ = try directory.file("krb5.conf", Data(configuration(kdcPorts: [kdcPort]).utf8))
        let text = """
            [kdcdefaults]
                kdc_listen = 127.0.0.1:\(kdcPort)
                kdc_tcp_listen = 127.0.0.1:\(kdcPort)
            [realms]
                \(name) = {
                    database_name = \(path("database", directory))
                    key_stash_file = \(path("stash", directory))
                    acl_file = \(path("acl", directory))
                }
            [logging]
                kdc = FILE:\(path("kdc.log", directory))

            """
        _ = try directory.file("kdc.conf", Data(text.utf8))
    }

    /// Asks no name server anything, and the realm's servers over TCP.
    private static func configuration(kdcPorts: [Int]) -> String {
        """
        [libdefaults]
            default_realm = \(name)
            dns_lookup_realm = false
            dns_lookup_kdc = false
            dns_canonicalize_hostname = false
            qualify_shortname = ""
            udp_preference_limit = 1
        [realms]
            \(name) = {
        \(kdcPorts.map { "        kdc = 127.0.0.1:\($0)" }.joined(separator: "\n"))
            }
        [domain_realm]
            localhost = \(name)

        """
    }

    // MARK: - Programs

    private static let creation = """
        kdb5_util create -s -r \(name) -P master
        kadmin.local -r \(name) addprinc -pw secret alice
        kadmin.local -r \(name) addprinc -randkey HTTP/localhost
        kadmin.local -r \(name) ktadd -k "$1/web.keytab" HTTP/localhost
        """

    private static let login = #"echo secret | kinit -c "FILE:$1/tickets" alice"#

    private static func run(_ commands: String, in directory: TemporaryDirectory) throws {
        let script = """
            set -e
            export KRB5_CONFIG="$1/krb5.conf" KRB5_KDC_PROFILE="$1/kdc.conf" PATH="$PATH:/usr/sbin"
            \(commands)
            """
        let log = path("log", directory)
        guard try Spawn.run(script, [directory.url.path], log: log) == .exit(0) else {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw ChildProcess.Failure(
                description: "These tests need krb5-kdc, krb5-admin-server and krb5-user: run make test. \(text)"
            )
        }
    }
}
