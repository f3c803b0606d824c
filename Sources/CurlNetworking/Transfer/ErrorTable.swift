import Curl
import Foundation

/// The keys that this module adds to a `URLError`'s `userInfo`.
public enum CurlErrorKey {
    /// libcurl's `CURLcode`, an `Int`. <https://curl.se/libcurl/c/libcurl-errors.html>
    public static let code = "CurlNetworkingCURLcode"
    /// libcurl's own words about this failure, a `String`.
    public static let text = "CurlNetworkingErrorText"
    /// How far the transfer had come, a `String`: preparing, resolving, connecting, securing, sending or receiving.
    public static let phase = "CurlNetworkingPhase"
    /// Why the server's certificate isn't trusted, as OpenSSL numbers the reasons, an `Int`; see
    /// `URLError.certificateProblem`. <https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/>
    public static let verification = "CurlNetworkingVerification"
    /// The status with which a proxy has refused a tunnel, an `Int`.
    public static let proxyStatus = "CurlNetworkingProxyStatus"
}

/// The one place where libcurl's codes become URLError's.
enum ErrorTable {
    /// What a `CURLcode` means to a user of URLSession. The documentation's page on errors shows the same table, and a
    /// test compares the two.
    static let codes: [(curl: UInt32, code: URLError.Code)] = [
        (1, .cannotParseResponse),  // UNSUPPORTED_PROTOCOL: schemes are checked before, so it is an answer without HTTP
        (2, .unknown),  // FAILED_INIT
        (3, .badURL),  // URL_MALFORMAT
        (4, .unsupportedURL),  // NOT_BUILT_IN
        (5, .cannotFindHost),  // COULDNT_RESOLVE_PROXY
        (6, .cannotFindHost),  // COULDNT_RESOLVE_HOST
        (7, .cannotConnectToHost),  // COULDNT_CONNECT
        (8, .badServerResponse),  // WEIRD_SERVER_REPLY
        (9, .noPermissionsToReadFile),  // REMOTE_ACCESS_DENIED
        (10, .cannotConnectToHost),  // FTP_ACCEPT_FAILED
        (11, .badServerResponse),  // FTP_WEIRD_PASS_REPLY
        (12, .timedOut),  // FTP_ACCEPT_TIMEOUT
        (13, .badServerResponse),  // FTP_WEIRD_PASV_REPLY
        (14, .badServerResponse),  // FTP_WEIRD_227_FORMAT
        (15, .cannotFindHost),  // FTP_CANT_GET_HOST
        (16, .networkConnectionLost),  // HTTP2
        (17, .badServerResponse),  // FTP_COULDNT_SET_TYPE
        (18, .networkConnectionLost),  // PARTIAL_FILE
        (19, .cannotOpenFile),  // FTP_COULDNT_RETR_FILE
        (21, .badServerResponse),  // QUOTE_ERROR
        (22, .badServerResponse),  // HTTP_RETURNED_ERROR
        (23, .badServerResponse),  // WRITE_ERROR: never a file, since libcurl writes none
        (25, .cannotCreateFile),  // UPLOAD_FAILED
        (26, .cannotOpenFile),  // READ_ERROR
        (27, .unknown),  // OUT_OF_MEMORY
        (28, .timedOut),  // OPERATION_TIMEDOUT
        (30, .cannotConnectToHost),  // FTP_PORT_FAILED
        (31, .badServerResponse),  // FTP_COULDNT_USE_REST
        (33, .badServerResponse),  // RANGE_ERROR
        (34, .badServerResponse),  // HTTP_POST_ERROR
        (35, .secureConnectionFailed),  // SSL_CONNECT_ERROR
        (36, .badServerResponse),  // BAD_DOWNLOAD_RESUME
        (42, .cancelled),  // ABORTED_BY_CALLBACK
        (43, .unknown),  // BAD_FUNCTION_ARGUMENT
        (45, .cannotConnectToHost),  // INTERFACE_FAILED
        (47, .httpTooManyRedirects),  // TOO_MANY_REDIRECTS
        (48, .unknown),  // UNKNOWN_OPTION
        (52, .networkConnectionLost),  // GOT_NOTHING
        (53, .secureConnectionFailed),  // SSL_ENGINE_NOTFOUND
        (54, .secureConnectionFailed),  // SSL_ENGINE_SETFAILED
        (55, .networkConnectionLost),  // SEND_ERROR
        (56, .networkConnectionLost),  // RECV_ERROR
        (58, .clientCertificateRejected),  // SSL_CERTPROBLEM
        (59, .secureConnectionFailed),  // SSL_CIPHER
        (60, .serverCertificateUntrusted),  // PEER_FAILED_VERIFICATION
        (61, .cannotDecodeContentData),  // BAD_CONTENT_ENCODING
        (63, .dataLengthExceedsMaximum),  // FILESIZE_EXCEEDED
        (64, .secureConnectionFailed),  // USE_SSL_FAILED
        (65, .requestBodyStreamExhausted),  // SEND_FAIL_REWIND
        (66, .secureConnectionFailed),  // SSL_ENGINE_INITFAILED
        (67, .userAuthenticationRequired),  // LOGIN_DENIED
        (70, .cannotWriteToFile),  // REMOTE_DISK_FULL
        (73, .cannotCreateFile),  // REMOTE_FILE_EXISTS
        (77, .secureConnectionFailed),  // SSL_CACERT_BADFILE
        (78, .fileDoesNotExist),  // REMOTE_FILE_NOT_FOUND
        (80, .secureConnectionFailed),  // SSL_SHUTDOWN_FAILED
        (82, .secureConnectionFailed),  // SSL_CRL_BADFILE
        (83, .serverCertificateUntrusted),  // SSL_ISSUER_ERROR
        (84, .badServerResponse),  // FTP_PRET_FAILED
        (87, .badServerResponse),  // FTP_BAD_FILE_LIST
        (88, .badServerResponse),  // CHUNK_FAILED
        (89, .cannotConnectToHost),  // NO_CONNECTION_AVAILABLE
        (90, .serverCertificateUntrusted),  // SSL_PINNEDPUBKEYNOTMATCH
        (91, .serverCertificateUntrusted),  // SSL_INVALIDCERTSTATUS
        (92, .networkConnectionLost),  // HTTP2_STREAM
        (94, .userAuthenticationRequired),  // AUTH_ERROR
        (95, .networkConnectionLost),  // HTTP3
        (96, .cannotConnectToHost),  // QUIC_CONNECT_ERROR
        (97, .cannotConnectToHost),  // PROXY
        (98, .clientCertificateRequired),  // SSL_CLIENTCERT
        (99, .networkConnectionLost),  // UNRECOVERABLE_POLL
        (100, .badServerResponse),  // TOO_LARGE
        (101, .secureConnectionFailed),  // ECH_REQUIRED
    ]

    private static let codeByCurlCode = Dictionary(uniqueKeysWithValues: codes.map { ($0.curl, $0.code) })

    static func code(for failure: TransferFailure) -> URLError.Code {
        if let code = tlsCode(for: failure) { return code }
        return switch (failure.code.rawValue, failure.systemErrno) {
        case (7, ENETUNREACH), (7, ENETDOWN): .notConnectedToInternet
        case (7, ETIMEDOUT): .timedOut
        case (97, _) where failure.proxy == .authentication: .userAuthenticationRequired
        case (97, _) where failure.proxy == .hostNotFound: .cannotFindHost
        case (97, _) where failure.proxy == .connectionLost: .networkConnectionLost
        case (56, _) where isAboutChunks(failure.text): .badServerResponse
        // What libcurl before 8 says of a field that is larger than it takes.
        case (27, _) where failure.phase == .receiving: .badServerResponse
        // What the same says of a response whose first field begins with a space.
        case (43, _) where failure.phase == .receiving: .badServerResponse
        default: codeByCurlCode[failure.code.rawValue] ?? .unknown
        }
    }

    /// libcurl has one code for a connection that breaks and for chunks that are none (RFC 9112 §7.1); its text tells.
    private static func isAboutChunks(_ text: String) -> Bool {
        text.contains("chunk")
    }

    /// What the certificates say, and alerts about them: they come in place of a handshake's end, or of the first answer (RFC 8446
    /// §4.4.2.4).
    private static func tlsCode(for failure: TransferFailure) -> URLError.Code? {
        let code = failure.code.rawValue
        switch code {
        case 60 where failure.verification > 0:
            return CertificateProblem(curlCode: code, verification: failure.verification, text: failure.text)?.errorCode
        case 35, 55, 56: return TLSAlert(in: failure.text)?.errorCode
        default: return nil
        }
    }
}

extension URLError {
    /// The error for a transfer to `url` that failed.
    init(_ failure: TransferFailure, url: URL?) {
        let systemError = failure.systemErrno == 0 ? nil : SystemError(code: failure.systemErrno)
        var details: [String: Any] = [
            CurlErrorKey.code: Int(failure.code.rawValue),
            CurlErrorKey.text: failure.text,
            CurlErrorKey.phase: failure.phase.rawValue,
        ]
        if failure.verification != 0 { details[CurlErrorKey.verification] = failure.verification }
        self.init(ErrorTable.code(for: failure), url, failure.text, systemError, details)
    }

    /// An error about `url` with a description, and the system's error below it where there is one.
    init(
        _ code: URLError.Code,
        _ url: URL?,
        _ description: String,
        _ systemError: SystemError? = nil,
        _ details: [String: Any] = [:]
    ) {
        var userInfo = details
        userInfo[NSLocalizedDescriptionKey] = description
        if let url {
            userInfo[NSURLErrorFailingURLErrorKey] = url
            userInfo[Self.failingURLStringKey] = url.absoluteString
        }
        if let systemError {
            userInfo[NSUnderlyingErrorKey] = NSError(domain: NSPOSIXErrorDomain, code: Int(systemError.code))
        }
        self.init(code, userInfo: userInfo)
    }

    /// The value of NSURLErrorFailingURLStringErrorKey, which is deprecated but read everywhere.
    private static let failingURLStringKey = "NSErrorFailingURLStringKey"

    /// A copy that also carries a download's resume data.
    func with(resumeData: Data) -> URLError {
        URLError(code, userInfo: userInfo.merging([NSURLSessionDownloadTaskResumeData: resumeData]) { $1 })
    }

    /// A copy that tells how far the transfer had come, unless it does already.
    func with(phase: TransferPhase) -> URLError {
        guard userInfo[CurlErrorKey.phase] == nil else { return self }
        return URLError(code, userInfo: userInfo.merging([CurlErrorKey.phase: phase.rawValue]) { $1 })
    }

    /// With the stock module's text, which programs and their tests compare with.
    static func cancelled(_ url: URL?) -> URLError {
        URLError(.cancelled, url, "cancelled")
    }

    /// With the stock module's text.
    static func tooManyRedirects(_ url: URL?) -> URLError {
        URLError(.httpTooManyRedirects, url, "too many HTTP redirects")
    }
}
