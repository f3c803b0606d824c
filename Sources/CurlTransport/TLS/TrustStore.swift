import CCurlNetworkingLibcurl
import Glibc
import CurlNetworkingLocks

/// The authorities that connections to servers trust instead of the system's: parsed once, for the first connection, and shared by all
/// later ones. libcurl caches parsed certificates too, but only one set, which remains the default's.
///
/// `@unchecked Sendable`: `content` never changes, and `loaded` is guarded.
package final class TrustStore: ConnectionSettings, @unchecked Sendable {
    /// A source of certificates.
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

        package init(authorities: [Source], revocationLists: [String] = []) {
            self.authorities = authorities
            self.revocationLists = revocationLists
        }

        /// Whether other TLS libraries than OpenSSL can be given the same.
        package var isPortable: Bool {
            var kinds: [Int] = []
            for source in authorities {
                switch source {
                case .file: kinds.append(0)
                case .directory: kinds.append(1)
                case .system, .certificate: return false
                }
            }
            return revocationLists.isEmpty && Set(kinds).count == kinds.count
        }
    }

    package let content: Content
    private let loaded = Mutex<Loaded?>(nil)

    package init(_ content: Content) {
        self.content = content
    }

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        try easy.clear(CURLOPT_CAINFO)
        try easy.clear(CURLOPT_CAPATH)
        guard TrustFunctions.loaded != nil else { return try applyPortably(to: easy) }
        if CurlLibrary.hasCACache { try easy.set(CURLoption(UInt32(CLIBCURL_OPT_CA_CACHE_TIMEOUT)), 0) }
        try easy.addTLSHook(self)
    }

    private func applyPortably(to easy: EasyHandle) throws(TransferFailure) {
        for source in content.authorities {
            switch source {
            case .file(let path): try easy.set(CURLOPT_CAINFO, path)
            case .directory(let path): try easy.set(CURLOPT_CAPATH, path)
            // Refused when the session was created.
            case .system, .certificate: break
            }
        }
    }
}

extension TrustStore: TLSHook {
    /// Within libcurl.
    func configure(_ context: OpenSSL.Pointer, of easy: EasyHandle, with peer: TLSPeer) -> CURLcode {
        // Proxies and name servers have authorities of their own.
        peer == .server ? use(in: context, of: easy) : CURLE_OK
    }

    fileprivate func use(in context: OpenSSL.Pointer, of easy: EasyHandle) -> CURLcode {
        guard TrustFunctions.loaded != nil else { return CURLE_NOT_BUILT_IN }
        guard let complaint = use(in: context) else { return CURLE_OK }
        easy.tls.complaint = complaint
        return CURLE_SSL_CACERT_BADFILE
    }

    /// Has connections of `context`, an `SSL_CTX`, trust whom this store does. Returns what is wrong with it, if anything.
    func use(in context: OpenSSL.Pointer) -> String? {
        guard let functions = TrustFunctions.loaded else { return "This takes a libcurl with OpenSSL." }
        let result = loaded.withLock { loaded -> Result<Void, Complaint> in
            do throws(Complaint) {
                if loaded == nil { loaded = try Loaded(content, functions) }
                if let loaded { functions.useStore(context, loaded.pointer) }
                return .success(())
            } catch {
                // Not cached: the file may have been repaired by the next connection.
                return .failure(error)
            }
        }
        functions.clearErrors()
        guard case .failure(let complaint) = result else { return nil }
        return complaint.text
    }

    fileprivate struct Complaint: Error {
        let text: String
    }
}

/// Whom the name server that is queried over HTTPS must be vouched for by: it serves the whole session, whatever a host's own authorities
/// are. Needs OpenSSL.
package final class ResolverTrust: ConnectionSettings {
    private let store: TrustStore

    package init(_ store: TrustStore) {
        self.store = store
    }

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        if TrustFunctions.loaded != nil { try easy.addTLSHook(self) }
    }
}

extension ResolverTrust: TLSHook {
    /// Within libcurl.
    func configure(_ context: OpenSSL.Pointer, of easy: EasyHandle, with peer: TLSPeer) -> CURLcode {
        peer == .resolver ? store.use(in: context, of: easy) : CURLE_OK
    }
}

/// An OpenSSL certificate store.
///
/// `@unchecked Sendable`: it never changes once made, and OpenSSL counts its references thread-safely.
private final class Loaded: @unchecked Sendable {
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
        let isChecked = !content.revocationLists.isEmpty
        _ = functions.setFlags(pointer, isChecked ? Self.checkRevocation : Self.partialChain)
        for source in content.authorities { try add(source) }
        for path in content.revocationLists { try addRevocationList(path) }
    }

    deinit {
        functions.freeStore(pointer)
    }

    private func add(_ source: TrustStore.Source) throws(TrustStore.Complaint) {
        switch source {
        case .system: try addSystem()
        case .file(let path):
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

    private func addSystem() throws(TrustStore.Complaint) {
        let information = clibcurl_version_info().pointee
        if CurlLibrary.hasCAFile, let file = information.cainfo {
            try add(.file(String(cString: file)))
        } else if let directory = information.capath {
            try add(.directory(String(cString: directory)))
        }
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
        if let method = functions.fileLookup(), let lookup = functions.addLookup(pointer, method) {
            for format in [Self.pem, Self.der] where functions.loadRevocationList(lookup, path, format) > 0 { return }
        }
        throw TrustStore.Complaint(text: "\(path): no certificate revocation list could be read.")
    }
}
