import CurlTransport
import Foundation

/// Whose certificates are trusted, as TLS options and the environment name them when a session is created. Later changes of the
/// environment and of the program's data don't count, nor does it matter then which folders exist. Files are read for connections, by the
/// `TrustStore`.
enum TrustPlan: Sendable {
    /// The authorities that libcurl was built with.
    case system
    /// Other ones. The mark is equal for equal authorities, in every process.
    case own(TrustStore, mark: String)

    /// One for each set of authorities, by its mark; shared by hosts and sessions.
    private static let stores = WeakTable<String, TrustStore>()

    init(_ options: CurlOptions.TLSOptions, _ environment: [String: String]) {
        guard let content = options.trustContent(environment: environment) else {
            self = .system
            return
        }
        let mark = content.mark
        self = .own(Self.stores.object(for: mark) { TrustStore(content) }, mark: mark)
    }

    /// nil for the system's authorities.
    var store: TrustStore? { if case .own(let store, _) = self { store } else { nil } }

    /// nil for the system's authorities.
    var mark: String? { if case .own(_, let mark) = self { mark } else { nil } }

    /// The variables of the process's current environment that name authorities.
    static func environment() -> [String: String] {
        var variables: [String: String] = [:]
        for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] { variables[name] = SecureEnvironment[name] }
        return variables
    }
}

extension TrustStore.Content {
    /// A digest that is equal for equal content, in every process. Swift takes some paths of different files for equal.
    fileprivate var mark: String {
        let sources = authorities.map { source in
            switch source {
            case .system: "system"
            case .file(let path): "file \(path)"
            case .directory(let path): "directory \(path)"
            case .certificate(let bytes): "certificate \(SHA256.digest(of: bytes))"
            }
        }
        let text = (sources + revocationLists.map { "list \($0)" }).joined(separator: "\n")
        return SHA256.digest(of: text.utf8)
    }
}

extension CurlOptions.TLSOptions {
    /// The authorities to trust; nil for the system's. Parses the program's data, and looks for the environment's folders.
    func trustContent(environment: [String: String]) -> TrustStore.Content? {
        var authorities: [TrustStore.Source]
        if let trustRoots {
            authorities = trustRoots.flatMap(\.forCurl)
        } else {
            authorities = Self.authorities(in: environment)
            guard !authorities.isEmpty || !additionalTrustRoots.isEmpty || !revocationLists.isEmpty else { return nil }
            if authorities.isEmpty { authorities = [.system] }
        }
        authorities += additionalTrustRoots.flatMap(\.forCurl)
        return TrustStore.Content(authorities: authorities, revocationLists: revocationLists.map(\.path))
    }

    /// https://docs.openssl.org/3.0/man7/openssl-env/
    private static func authorities(in environment: [String: String]) -> [TrustStore.Source] {
        let file = environment["SSL_CERT_FILE"] ?? ""
        let directories = (environment["SSL_CERT_DIR"] ?? "").split(separator: ":").map(String.init)
        // As in OpenSSL, missing directories are skipped, unless all are missing.
        let existing = directories.filter { access($0, F_OK) == 0 }
        return (file.isEmpty ? [] : [.file(file)])
            + (existing.isEmpty ? directories : existing).map { .directory($0) }
    }
}

extension CurlOptions.TLSOptions.CertificateSource {
    fileprivate var forCurl: [TrustStore.Source] {
        switch self {
        case .file(let url): [.file(url.path)]
        case .directory(let url): [.directory(url.path)]
        case .data(let data): PEM.certificates(in: data).map { .certificate(Array($0)) }
        }
    }
}
