import CurlTransport
import Foundation

/// Maps libcurl's codes to `URLError` codes.
enum ErrorTable {
    /// The `URLError` code for each `CURLcode`. The documentation's page on errors has the same table; a test compares the two.
    static let codes: [(curl: CurlCode, code: URLError.Code)] = [
        (.unsupportedProtocol, .cannotParseResponse),  // schemes are checked earlier: it is a response other than HTTP
        (.failedInit, .unknown),
        (.urlMalformat, .badURL),
        (.notBuiltIn, .unsupportedURL),
        (.couldntResolveProxy, .cannotFindHost),
        (.couldntResolveHost, .cannotFindHost),
        (.couldntConnect, .cannotConnectToHost),
        (.weirdServerReply, .badServerResponse),
        (.remoteAccessDenied, .noPermissionsToReadFile),
        (.ftpAcceptFailed, .cannotConnectToHost),
        (.ftpWeirdPassReply, .badServerResponse),
        (.ftpAcceptTimeout, .timedOut),
        (.ftpWeirdPASVReply, .badServerResponse),
        (.ftpWeird227Format, .badServerResponse),
        (.ftpCantGetHost, .cannotFindHost),
        (.http2, .networkConnectionLost),
        (.ftpCouldntSetType, .badServerResponse),
        (.partialFile, .networkConnectionLost),
        (.ftpCouldntRetrFile, .cannotOpenFile),
        (.quoteError, .badServerResponse),
        (.httpReturnedError, .badServerResponse),
        (.writeError, .badServerResponse),  // never a file, since libcurl writes none
        (.uploadFailed, .cannotCreateFile),
        (.readError, .cannotOpenFile),
        (.outOfMemory, .unknown),
        (.operationTimedOut, .timedOut),
        (.ftpPortFailed, .cannotConnectToHost),
        (.ftpCouldntUseRest, .badServerResponse),
        (.rangeError, .badServerResponse),
        (.httpPostError, .badServerResponse),
        (.sslConnectError, .secureConnectionFailed),
        (.badDownloadResume, .badServerResponse),
        (.abortedByCallback, .cancelled),
        (.badFunctionArgument, .unknown),
        (.interfaceFailed, .cannotConnectToHost),
        (.tooManyRedirects, .httpTooManyRedirects),
        (.unknownOption, .unknown),
        (.gotNothing, .networkConnectionLost),
        (.sslEngineNotFound, .secureConnectionFailed),
        (.sslEngineSetFailed, .secureConnectionFailed),
        (.sendError, .networkConnectionLost),
        (.recvError, .networkConnectionLost),
        (.sslCertProblem, .clientCertificateRejected),
        (.sslCipher, .secureConnectionFailed),
        (.peerFailedVerification, .serverCertificateUntrusted),
        (.badContentEncoding, .cannotDecodeContentData),
        (.filesizeExceeded, .dataLengthExceedsMaximum),
        (.useSSLFailed, .secureConnectionFailed),
        (.sendFailRewind, .requestBodyStreamExhausted),
        (.sslEngineInitFailed, .secureConnectionFailed),
        (.loginDenied, .userAuthenticationRequired),
        (.remoteDiskFull, .cannotWriteToFile),
        (.remoteFileExists, .cannotCreateFile),
        (.sslCACertBadFile, .secureConnectionFailed),
        (.remoteFileNotFound, .fileDoesNotExist),
        (.sslShutdownFailed, .secureConnectionFailed),
        (.sslCRLBadFile, .secureConnectionFailed),
        (.sslIssuerError, .serverCertificateUntrusted),
        (.ftpPretFailed, .badServerResponse),
        (.ftpBadFileList, .badServerResponse),
        (.chunkFailed, .badServerResponse),
        (.noConnectionAvailable, .cannotConnectToHost),
        (.sslPinnedPubKeyNotMatch, .serverCertificateUntrusted),
        (.sslInvalidCertStatus, .serverCertificateUntrusted),
        (.http2Stream, .networkConnectionLost),
        (.authError, .userAuthenticationRequired),
        (.http3, .networkConnectionLost),
        (.quicConnectError, .cannotConnectToHost),
        (.proxy, .cannotConnectToHost),
        (.sslClientCert, .clientCertificateRequired),
        (.unrecoverablePoll, .networkConnectionLost),
        (.tooLarge, .badServerResponse),
        (.echRequired, .secureConnectionFailed),
    ]

    private static let codeByCurlCode = Dictionary(uniqueKeysWithValues: codes.map { ($0.curl, $0.code) })

    static func code(for failure: TransferFailure, quirks: CurlQuirks = .current) -> URLError.Code {
        if let code = tlsCode(for: failure) { return code }
        return switch (failure.code, failure.systemErrno) {
        // libcurl lost the connection on which it had sent the request, and got no other on which to resend it.
        case (.couldntConnect, _) where hasBegun(failure), (.couldntResolveHost, _) where hasBegun(failure):
            .networkConnectionLost
        case (.couldntConnect, ENETUNREACH), (.couldntConnect, ENETDOWN): .notConnectedToInternet
        case (.couldntConnect, ETIMEDOUT): .timedOut
        case (.proxy, _) where failure.proxy == .authentication: .userAuthenticationRequired
        case (.proxy, _) where failure.proxy == .hostNotFound: .cannotFindHost
        case (.proxy, _) where failure.proxy == .connectionLost: .networkConnectionLost
        case (.recvError, _) where blamesServer(failure.text) || failure.isOfLargeHTTP2Head: .badServerResponse
        case _ where isOfUnkeptField(failure) || isOfLargeLine(failure, quirks): .badServerResponse
        default: codeByCurlCode[failure.code] ?? .unknown
        }
    }

    /// What went wrong: libcurl's text, unless that blames the wrong side.
    static func description(of failure: TransferFailure, quirks: CurlQuirks = .current) -> String {
        if failure.isOfExpiredClient { return "The server says that the client's certificate has expired." }
        if isOfUnkeptField(failure) {
            return "The response isn't valid: a space comes before its first field's name, or a carriage return before "
                + "a colon, or its trailers aren't fields."
        }
        if isOfLargeLine(failure, quirks) {
            return "A line of the response's head or trailers is too long for libcurl."
        }
        return failure.text
    }

    /// Also libcurl's code for a field that it can't keep: the first of a response if it begins with a space (before libcurl 8), one with
    /// a carriage return before its colon, and, in the trailers after chunks, a line without a colon.
    private static func isOfUnkeptField(_ failure: TransferFailure) -> Bool {
        failure.code == .badFunctionArgument && failure.phase == .receiving
    }

    /// libcurl speaks of a lack of memory if a line of a head has more than 100 KiB (see `CurlQuirks.blamesMemoryForLongLines`), or, with
    /// different codes, one of the trailers after chunks more than 4 KiB. ENOMEM is a real one, whatever had been received.
    private static func isOfLargeLine(_ failure: TransferFailure, _ quirks: CurlQuirks) -> Bool {
        guard failure.phase == .receiving, failure.systemErrno != ENOMEM else { return false }
        return quirks.blamesMemoryForLongLines && failure.code == .outOfMemory
            || failure.text.hasPrefix("Out of memory in chunk")
    }

    private static func hasBegun(_ failure: TransferFailure) -> Bool {
        failure.phase == .sending || failure.phase == .receiving
    }

    /// libcurl has one code for lost connections, invalid chunks (RFC 9112 §7.1) and overlong lines of a proxy's response. Its text
    /// distinguishes them.
    private static func blamesServer(_ text: String) -> Bool {
        text.contains("chunk") || text.contains("CONNECT response too large")
    }

    /// The code for untrusted certificates, and for alerts about the client's: with TLS 1.3 these arrive after the handshake, instead of a
    /// response (RFC 8446 §4.4.2.4).
    private static func tlsCode(for failure: TransferFailure) -> URLError.Code? {
        switch failure.code {
        case .peerFailedVerification where failure.verification > 0:
            return CertificateProblem(failure.code, verification: failure.verification, text: failure.text)?.errorCode
        // PARTIAL_FILE is how requests without a response yet see the end of an HTTP/2 connection.
        case .sslConnectError, .sendError, .recvError, .partialFile: return TLSAlert(in: failure.text)?.errorCode
        default: return nil
        }
    }
}

extension URLError {
    /// The error for a failed transfer to `url`.
    init(_ failure: TransferFailure, url: URL?) {
        let systemError = failure.systemErrno == 0 ? nil : SystemError(code: failure.systemErrno)
        var details: [String: Any] = [
            CurlErrorKey.code: Int(failure.code.rawValue),
            CurlErrorKey.text: failure.text,
            CurlErrorKey.phase: failure.phase.rawValue,
        ]
        let verification = failure.openSSLVerification
        if verification != 0 { details[CurlErrorKey.verification] = verification }
        details[CurlErrorKey.proxyReason] = failure.proxyReason
        self.init(
            ErrorTable.code(for: failure),
            url: url,
            ErrorTable.description(of: failure),
            cause: systemError,
            details: details
        )
    }

    /// Whether a proxy has refused to connect to the host, and would again: an HTTP proxy's troubles (408, 429, 5xx) may pass.
    var isRefusedByProxy: Bool {
        guard let status = userInfo[CurlErrorKey.proxyStatus] as? Int else { return isRefusedBySOCKSProxy }
        return (400..<500).contains(status) && status != 408 && status != 429
    }

    var isRefusedBySOCKSProxy: Bool {
        (userInfo[CurlErrorKey.proxyReason] as? Int).map { ProxyFailure($0) } == .refused
    }

    /// An error about `url` with a description and, if there is one, the underlying system error. `details` are more of its `userInfo`.
    init(
        _ code: URLError.Code,
        url: URL?,
        _ description: String,
        cause systemError: SystemError? = nil,
        details: [String: Any] = [:]
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

    /// The underlying system error, if there is one.
    var systemError: SystemError? {
        guard let cause = userInfo[NSUnderlyingErrorKey] as? NSError, cause.domain == NSPOSIXErrorDomain else {
            return nil
        }
        return Int32(exactly: cause.code).map { SystemError(code: $0) }
    }

    /// The value of NSURLErrorFailingURLStringErrorKey, which is deprecated but widely used.
    private static let failingURLStringKey = "NSErrorFailingURLStringKey"

    /// A copy with `change` applied to its failing URL, if it names one.
    func changingURL(_ change: (URL) -> URL) -> URLError {
        guard let url = userInfo[NSURLErrorFailingURLErrorKey] as? URL else { return self }
        let other = change(url)
        guard other != url else { return self }
        let names: [String: Any] = [
            NSURLErrorFailingURLErrorKey: other, Self.failingURLStringKey: other.absoluteString,
        ]
        return URLError(code, userInfo: userInfo.merging(names) { $1 })
    }

    /// A copy that is about a request to `url`, unless it already names one.
    func with(url: URL?) -> URLError {
        guard let url, userInfo[NSURLErrorFailingURLErrorKey] == nil else { return self }
        let names: [String: Any] = [NSURLErrorFailingURLErrorKey: url, Self.failingURLStringKey: url.absoluteString]
        return URLError(code, userInfo: userInfo.merging(names) { own, _ in own })
    }

    /// Turns an error about a file into one about a request to `url` that names the file.
    func forRequest(to url: URL?) -> URLError {
        guard let url, let file = failingURL else { return self }
        let info = changingURL { _ in url }.userInfo.merging([NSFilePathErrorKey: file.path]) { $1 }
        return URLError(code, userInfo: info)
    }

    /// A copy that also carries a download's resume data.
    func with(resumeData: Data) -> URLError {
        URLError(code, userInfo: userInfo.merging([NSURLSessionDownloadTaskResumeData: resumeData]) { $1 })
    }

    /// A copy that also carries an upload's resume data.
    func with(uploadResumeData: Data) -> URLError {
        URLError(code, userInfo: userInfo.merging([NSURLSessionUploadTaskResumeData: uploadResumeData]) { $1 })
    }

    /// A copy that also carries the resume data of another error, if that has any.
    func with(resumeDataOf other: URLError?) -> URLError {
        let keys = [NSURLSessionDownloadTaskResumeData, NSURLSessionUploadTaskResumeData]
        let resumeData = other?.userInfo.filter { keys.contains($0.key) } ?? [:]
        return URLError(code, userInfo: userInfo.merging(resumeData) { $1 })
    }

    /// A copy with the transfer's phase, unless it has one already.
    func with(phase: TransferPhase) -> URLError {
        guard userInfo[CurlErrorKey.phase] == nil else { return self }
        return URLError(code, userInfo: userInfo.merging([CurlErrorKey.phase: phase.rawValue]) { $1 })
    }

    /// With the stock module's text, which programs and their tests compare.
    static func cancelled(_ url: URL?) -> URLError {
        URLError(.cancelled, url: url, "cancelled")
    }

    /// With the stock module's text.
    static func tooManyRedirects(_ url: URL?) -> URLError {
        URLError(.httpTooManyRedirects, url: url, "too many HTTP redirects")
    }
}
