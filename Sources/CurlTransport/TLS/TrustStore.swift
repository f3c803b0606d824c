import CCurlNetworkingLibcurl
import Glibc
import CurlNetworkingLocks

/// The authorities that connections to servers trust: parsed for the first connection, shared by all later ones, and read again once a file
/// has changed. libcurl also caches parsed certificates, but only one set, and anew for each session.
///
/// `@unchecked Sendable`: `content` never changes, and `loaded` is guarded.
package final class TrustStore: ConnectionSettings, @unchecked Sendable {
    package enum Source: Sendable, Hashable {
        /// The file or directory that libcurl was built with.
        case system
        /// One or more certificates in PEM, or a single one in DER.
        case file(String)
        /// Files named by the hash of their subject; see `openssl rehash`.
        case directory(String)
        /// In DER.
        case certificate([UInt8])
    }

    package struct Content: Sendable, Hashable {
        package var authorities: [Source]
        /// Files, PEM or DER. If there are any, every certificate of a chain except the root needs a list from its issuer.
        package var revocationLists: [String]
        /// Whether a chain may end with an intermediate certificate that is among the authorities.
        var acceptsIntermediates = true
        /// Whether libcurl verifies a server's stapled answer (OCSP) with them too.
        var verifiesStatus = false

        package init(authorities: [Source], revocationLists: [String] = []) {
            self.authorities = authorities
            self.revocationLists = revocationLists
        }

        /// Whether TLS libraries other than OpenSSL can be given the same.
        package var isPortable: Bool {
            var kinds: [Int] = []
            for source in authorities {
                switch source {
                case .file: kinds.append(0)
                case .directory: kinds.append(1)
                case .system, .certificate: return false
                }
            }
            guard revocationLists.isEmpty, Set(kinds).count == kinds.count else { return false }
            // libcurl would add the file or the directory that it was built with.
            guard CurlQuirks.current.restoresAuthorities else { return true }
            let information = clibcurl_version_info().pointee
            return (kinds.contains(0) || information.cainfo == nil) && (kinds.contains(1) || information.capath == nil)
        }
    }

    /// The system's authorities, for the whole process: some 150 certificates, which take tens of milliseconds to parse.
    package static let system = TrustStore(Content(authorities: [.system]))

    /// Whether `system` takes the place of libcurl's own reading of the same file.
    package static let replacesDefault = CurlLibrary.hasCAFile && TrustFunctions.loaded != nil

    /// Whether it stands in for libcurl's default.
    var isSystems: Bool { content.authorities == Self.system.content.authorities }

    package let content: Content
    private let loaded = Mutex<Loaded?>(nil)

    package init(_ content: Content) {
        self.content = content
    }

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        try easy.clearAuthorities(for: .server)
        guard TrustFunctions.loaded != nil else { return try applyPortably(to: easy, CURLOPT_CAINFO, CURLOPT_CAPATH) }
        // libcurl's cache holds one set of authorities, and is for those that it reads itself.
        try easy.setCACache(lasting: 0)
        try easy.trust(self, in: .server)
    }

    fileprivate func applyPortably(
        to easy: EasyHandle,
        _ fileOption: CURLoption,
        _ directoryOption: CURLoption
    ) throws(TransferFailure) {
        for source in content.authorities {
            switch source {
            case .file(let path): try easy.set(fileOption, path)
            case .directory(let path): try easy.set(directoryOption, path)
            // Refused when the session was created.
            case .system, .certificate: break
            }
        }
    }
}

extension TrustStore {
    /// Has a connection of `easy`, which is about to shake hands, trust this store's authorities. `context` is its own `SSL_CTX`. Within
    /// libcurl.
    /// https://curl.se/libcurl/c/CURLOPT_SSL_CTX_FUNCTION.html
    func use(in context: OpenSSL.Pointer, of easy: EasyHandle) -> CURLcode {
        guard TrustFunctions.loaded != nil else { return CURLE_NOT_BUILT_IN }
        guard let complaint = use(in: context) else { return CURLE_OK }
        easy.tls.complaint = complaint
        return CURLE_SSL_CACERT_BADFILE
    }

    /// Has connections of `context`, an `SSL_CTX`, trust this store's authorities. Returns what is wrong with the store, if anything.
    func use(in context: OpenSSL.Pointer) -> String? {
        guard let functions = TrustFunctions.loaded else { return "This takes a libcurl with OpenSSL." }
        let complaint = loaded.withLock { loaded -> Complaint? in
            let stamps = content.stamps
            if loaded?.stamps != stamps {
                do throws(Complaint) {
                    loaded = Loaded(stamps: stamps, store: try CertificateStore(content, functions))
                } catch {
                    // A file that is being replaced may be missing for a moment: its former content counts until it changes again.
                    guard loaded != nil else { return error }
                    loaded?.stamps = stamps
                }
            }
            guard let store = loaded?.store.pointer else { return nil }
            if content.verifiesStatus { functions.give(store, to: context) } else { functions.use(store, in: context) }
            return nil
        }
        functions.clearErrors()
        return complaint?.text
    }

    private struct Loaded {
        /// The files' stamps when they were last read, or couldn't be.
        var stamps: [FileStamp?]
        let store: CertificateStore
    }

    fileprivate struct Complaint: Error {
        let text: String
    }
}

/// The authorities that must vouch for a proxy with the scheme https, where it has none of its own.
package struct ProxyTrust: ConnectionSettings {
    package let store: TrustStore

    package init(_ store: TrustStore) {
        self.store = store
    }

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        try easy.clearAuthorities(for: .proxy)
        guard TrustFunctions.loaded != nil else {
            return try store.applyPortably(to: easy, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH)
        }
        try easy.trust(store, in: .proxy)
    }
}

/// The authorities that must vouch for the name server queried over HTTPS: it serves the whole session, whatever a host's own authorities
/// are. Needs OpenSSL.
package struct ResolverTrust: ConnectionSettings {
    private let store: TrustStore

    package init(_ store: TrustStore) {
        self.store = store
    }

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        if TrustFunctions.loaded != nil { try easy.trust(store, in: .resolver) }
    }
}

extension TrustStore.Source {
    /// Where libcurl looks for the system's authorities; nil if it was built without.
    fileprivate static var ofSystem: Self? {
        let information = clibcurl_version_info().pointee
        if CurlLibrary.hasCAFile, let file = information.cainfo { return .file(String(cString: file)) }
        return information.capath.map { .directory(String(cString: $0)) }
    }

    fileprivate var path: String? {
        switch self {
        case .system: Self.ofSystem?.path
        case .file(let path), .directory(let path): path
        case .certificate: nil
        }
    }
}

extension TrustStore.Content {
    /// One for each file or directory.
    fileprivate var stamps: [FileStamp?] { (authorities.compactMap(\.path) + revocationLists).map(FileStamp.init) }
}

/// A file's identity and version: another file in its place, or changed content, makes another stamp.
private struct FileStamp: Equatable {
    private let device, inode, size: UInt64
    private let modified, changed: [Int]

    /// nil if there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = UInt64(bitPattern: Int64(status.st_size))
        modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        changed = [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }
}

/// An OpenSSL certificate store.
///
/// `@unchecked Sendable`: it never changes once made, and OpenSSL counts its references thread-safely.
private final class CertificateStore: @unchecked Sendable {
    let pointer: OpenSSL.Pointer
    private let functions: TrustFunctions

    // X509_V_FLAG_PARTIAL_CHAIN: an intermediate certificate may serve as an authority. libcurl sets the same.
    private static let partialChain: UInt = 0x80000
    // X509_V_FLAG_CRL_CHECK and X509_V_FLAG_CRL_CHECK_ALL.
    private static let checkRevocation: UInt = 0x4 | 0x8
    private static let pem: Int32 = 1
    private static let der: Int32 = 2

    init(_ content: TrustStore.Content, _ functions: TrustFunctions) throws(TrustStore.Complaint) {
        guard let pointer = functions.newStore() else { throw TrustStore.Complaint(text: "There is no memory left.") }
        self.pointer = pointer
        self.functions = functions
        if !content.revocationLists.isEmpty {
            _ = functions.setFlags(pointer, Self.checkRevocation)
        } else if content.acceptsIntermediates {
            _ = functions.setFlags(pointer, Self.partialChain)
        }
        for source in content.authorities { try add(source) }
        for path in content.revocationLists { try addRevocationList(path) }
    }

    deinit {
        functions.freeStore(pointer)
    }

    private func add(_ source: TrustStore.Source) throws(TrustStore.Complaint) {
        switch source {
        case .system:
            if let source = TrustStore.Source.ofSystem { try add(source) }
        case .file(let path):
            try check(path)
            guard functions.loadLocations(pointer, path, nil) != 1, !addCertificate(CertificateFile.content(of: path))
            else {
                return
            }
            throw TrustStore.Complaint(text: "\(path): no certificates of authorities could be read.")
        case .directory(let path):
            guard access(path, R_OK | X_OK) != 0 || functions.loadLocations(pointer, nil, path) != 1 else { return }
            throw TrustStore.Complaint(text: "\(path): the directory of authorities can't be read.")
        case .certificate(let bytes):
            guard !addCertificate(bytes) else { return }
            throw TrustStore.Complaint(text: "A certificate in curl.tls isn't valid.")
        }
    }

    /// Throws if `path` is a FIFO or a device, which the event loop could wait for.
    private func check(_ path: String) throws(TrustStore.Complaint) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
        throw TrustStore.Complaint(text: "\(path): not a regular file.")
    }

    private func addCertificate(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            guard position != nil, let certificate = functions.decodeCertificate(nil, &position, bytes.count) else {
                return false
            }
            defer { functions.freeCertificate(certificate) }
            return functions.addCertificate(pointer, certificate) == 1
        }
    }

    private func addRevocationList(_ path: String) throws(TrustStore.Complaint) {
        try check(path)
        if let method = functions.fileLookup(), let lookup = functions.addLookup(pointer, method) {
            for format in [Self.pem, Self.der] where functions.loadRevocationList(lookup, path, format) > 0 { return }
        }
        throw TrustStore.Complaint(text: "\(path): no certificate revocation list could be read.")
    }
}
