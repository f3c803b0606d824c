import Foundation

/// Makes a child trust the generated certificate without touching the machine's own trust store.
///
/// All contenders verify against libcurl's default CA bundle, and libcurl has no environment variable for another one.
/// So the child runs in a mount namespace of its own, in which a copy of the bundle with one more certificate lies over
/// the real one. The namespace ends with the child: nothing is left to undo, even after a SIGKILL.
struct Trust {
    /// The words to put before a command; empty when such a namespace is not possible.
    let prefix: [String]
    /// Why it is not possible.
    let obstacle: String?

    init(_ site: Site, _ tools: Tools) {
        do {
            guard let bundle = tools.caBundle else { throw Complaint("libcurl has no default CA bundle") }
            let extended = site.directory.appendingPathComponent("ca-bundle.pem")
            var certificates = try Data(contentsOf: URL(fileURLWithPath: bundle))
            certificates.append(try Data(contentsOf: site.certificate))
            try certificates.write(to: extended)
            let script = #"mount --bind "$1" "$2" && shift 2 && exec "$@""#
            let namespace = geteuid() == 0 ? ["--mount"] : ["--user", "--map-root-user", "--mount"]
            let prefix = ["unshare"] + namespace + ["sh", "-c", script, "sh", extended.path, bundle]
            let trial = try Command(prefix + ["true"]).run()
            guard trial.status == 0 else {
                let reason = trial.errors.split(separator: "\n").first.map(String.init) ?? "status \(trial.status)"
                throw Complaint("no mount namespace to trust the certificate in: \(reason)")
            }
            self.prefix = prefix
            obstacle = nil
        } catch {
            prefix = []
            obstacle = "\(error)"
        }
    }
}
