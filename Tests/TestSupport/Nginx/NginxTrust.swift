import Foundation
import Glibc

/// Makes a child process trust the certificate that nginx shows, without touching the machine's own trust store.
///
/// Unless the program or the environment says otherwise, libcurl verifies against the system's bundle, and that has to be tested
/// too. So the child runs in its own mount namespace, in which a bundle with one more certificate is mounted over the system's.
/// It ends with the child.
package struct NginxTrust: Sendable {
    private let prefix: [String]

    /// Whether this process may make such a namespace: as root, or if users may make their own.
    package static let isPossible: Bool = {
        let words = namespace + ["sh", "-c", "mount --bind /etc/hostname /etc/hostname"]
        return (try? Spawn.run(#"exec "$@""#, words)) == .exit(0)
    }()

    private static let namespace =
        ["unshare"] + (geteuid() == 0 ? ["--mount"] : ["--user", "--map-root-user", "--mount"])

    private static let systemBundles = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]

    package init(_ site: NginxSite) throws {
        guard let bundle = Self.systemBundles.first(where: FileManager.default.fileExists) else {
            throw ChildProcess.Failure(description: "The system has no bundle of certificates: install ca-certificates")
        }
        let extended = site.directory.appendingPathComponent("bundle-\(UUID().uuidString).pem")
        var certificates = try Data(contentsOf: URL(fileURLWithPath: bundle))
        certificates.append(try Data(contentsOf: site.authority))
        try certificates.write(to: extended)
        let script = #"mount --bind "$1" "$2" && shift 2 && exec "$@""#
        prefix = Self.namespace + ["sh", "-c", script, "sh", extended.path, bundle]
    }

    /// Starts the helper; its first word says what to do.
    package func startHelper(_ words: String..., environment: [String: String] = [:]) throws -> ChildProcess {
        try startHelper(words, environment: environment)
    }

    /// The same.
    package func startHelper(_ words: [String], environment: [String: String] = [:]) throws -> ChildProcess {
        try ChildProcess(prefix + [TestHelper.path()] + words, environment: environment)
    }
}
