import CurlTransport
import Foundation

// Encodable counterparts of Foundation's types, with conversions both ways.

/// A `URLRequest`, without a body stream and the properties that protocol classes store in it.
struct RequestDescription: Codable, Sendable, Equatable {
    var url: URL
    var method: String
    var headers: [String: String]
    var body: Data?
    /// In seconds.
    var timeoutInterval: TimeInterval
    var handlesCookies: Bool
    var mainDocumentURL: URL?
    /// nil for the protocol's default.
    var cachePolicy: UInt?

    /// nil for a request without a URL.
    init?(_ request: URLRequest) {
        guard let url = request.url else { return nil }
        self.url = url
        method = request.httpMethod ?? "GET"
        headers = (request.allHTTPHeaderFields ?? [:]).filter { !RequestProperties.isField($0.key) }
        body = request.httpBody
        timeoutInterval = request.timeoutInterval
        handlesCookies = request.httpShouldHandleCookies
        mainDocumentURL = request.mainDocumentURL
        if request.cachePolicy != .useProtocolCachePolicy { cachePolicy = request.cachePolicy.rawValue }
    }

    var request: URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        // Includes fields that `setValue` would silently drop, and that the task then refuses.
        request.allHTTPHeaderFields = headers
        request.httpBody = body
        request.timeoutInterval = timeoutInterval
        request.httpShouldHandleCookies = handlesCookies
        request.mainDocumentURL = mainDocumentURL
        request.cachePolicy = cachePolicy.flatMap(URLRequest.CachePolicy.init) ?? .useProtocolCachePolicy
        return request
    }
}

/// An `HTTPURLResponse`, without its version of HTTP.
struct ResponseDescription: Codable, Sendable, Equatable {
    var url: URL
    var status: Int
    var fields: [String: String]
    /// The `Set-Cookie` fields, one by one; nil if there is none, or cookies aren't stored.
    var setCookies: [String]?

    /// nil for a response that isn't HTTP.
    init?(_ response: URLResponse?) {
        guard let response = response as? HTTPURLResponse, let url = response.url else { return nil }
        self.url = url
        status = response.statusCode
        fields = Self.texts(of: response.allHeaderFields)
    }

    /// Header fields as strings, whatever types Foundation uses for them. Of two with the same name, one is kept.
    private static func texts(of fields: [AnyHashable: Any]) -> [String: String] {
        Dictionary(
            fields.map { ($0.key.base as? String ?? "\($0.key)", $0.value as? String ?? "\($0.value)") },
            uniquingKeysWith: { first, _ in first }
        )
    }

    var response: HTTPURLResponse? {
        HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
    }
}

/// A `URLError`, with the parts of its `userInfo` that make sense in another process.
struct ErrorDescription: Codable, Sendable, Equatable {
    var code: Int
    var text: String?
    var url: URL?
    var curlCode: Int?
    var curlText: String?
    var phase: String?
    var verification: Int?
    var proxyStatus: Int?
    var proxyReason: Int?
    var peerTrust: ServerTrust?
    /// The path of the file that failed.
    var file: String?
    var systemErrno: Int?
    /// The underlying error if that is a `URLError`, too: at most one.
    var causes: [ErrorDescription]?
    /// Why a background task was cancelled.
    var reason: Int?

    init(_ error: URLError) {
        let info = error.userInfo
        code = error.code.rawValue
        text = info[NSLocalizedDescriptionKey] as? String
        url = info[NSURLErrorFailingURLErrorKey] as? URL
        curlCode = info[CurlErrorKey.code] as? Int
        curlText = info[CurlErrorKey.text] as? String
        phase = info[CurlErrorKey.phase] as? String
        verification = info[CurlErrorKey.verification] as? Int
        proxyStatus = info[CurlErrorKey.proxyStatus] as? Int
        proxyReason = info[CurlErrorKey.proxyReason] as? Int
        peerTrust = error.failureURLPeerTrust
        file = info[NSFilePathErrorKey] as? String
        systemErrno = (error.systemError?.code).map { Int($0) }
        causes = (info[NSUnderlyingErrorKey] as? URLError).map { [ErrorDescription($0)] }
        reason = info[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int
    }

    var error: URLError {
        var info: [String: Any] = [:]
        info[NSLocalizedDescriptionKey] = text
        info[NSURLErrorFailingURLErrorKey] = url
        info["NSErrorFailingURLStringKey"] = url?.absoluteString
        info[CurlErrorKey.code] = curlCode
        info[CurlErrorKey.text] = curlText
        info[CurlErrorKey.phase] = phase
        info[CurlErrorKey.verification] = verification
        info[CurlErrorKey.proxyStatus] = proxyStatus
        info[CurlErrorKey.proxyReason] = proxyReason
        info[NSURLErrorFailingURLPeerTrustErrorKey] = peerTrust
        info[NSFilePathErrorKey] = file
        let systemError = systemErrno.map { NSError(domain: NSPOSIXErrorDomain, code: $0) }
        info[NSUnderlyingErrorKey] = systemError ?? causes?.first?.error
        info[NSURLErrorBackgroundTaskCancelledReasonKey] = reason
        return URLError(URLError.Code(rawValue: code) ?? .unknown, userInfo: info)
    }
}

/// A cookie of the program's storage, for an agent, which has no access to that.
struct CookieDescription: Codable, Sendable, Equatable {
    var name: String
    var value: String
    var domain: String
    var path: String
    var isSecure: Bool
    var isHTTPOnly: Bool
    var expires: Date?
    /// nil for all ports.
    var ports: [Int]?

    init(_ stored: StoredCookie) {
        let cookie = stored.cookie
        name = cookie.name
        value = cookie.value
        domain = cookie.domain
        path = cookie.path
        isSecure = stored.isSecure
        isHTTPOnly = cookie.isHTTPOnly
        expires = stored.expires
        ports = stored.ports.isEmpty ? nil : stored.ports
    }

    /// nil if it can't be a cookie.
    var stored: StoredCookie? {
        var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .domain: domain, .path: path]
        if isSecure { properties[.secure] = "TRUE" }
        if isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
        properties[.expires] = expires
        // The stock cookie can't have both a list of ports and a date.
        return HTTPCookie(properties: properties).map { StoredCookie($0, ports: ports) }
    }
}

/// The identity of an upload's file, to check that it is still the one that the program meant.
struct UploadFile: Codable, Sendable, Equatable {
    var path: String
    var device: UInt64
    var inode: UInt64
    /// In bytes.
    var length: Int64
    var modifiedSeconds: Int64
    var modifiedNanoseconds: Int64

    /// Throws if there is no such file, or it isn't a regular one.
    ///
    /// - Parameter url: A file URL.
    init(_ url: URL) throws(FileFault) {
        var status = stat()
        path = url.standardizedFileURL.path
        guard stat(path, &status) == 0 else { throw .unreadable(.current) }
        if let fault = FileFault(status) { throw fault }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        length = Int64(status.st_size)
        modifiedSeconds = Int64(status.st_mtim.tv_sec)
        modifiedNanoseconds = Int64(status.st_mtim.tv_nsec)
    }

    var url: URL { URL(fileURLWithPath: path, isDirectory: false) }

    /// Why it can't be sent to `destination` any more; nil if it is unchanged.
    func problem(for destination: URL) -> URLError? {
        let (code, cause): (URLError.Code, SystemError?)
        do throws(FileFault) {
            var found = try UploadFile(url)
            // The system may number its file systems differently after a restart.
            found.device = device
            if found == self { return nil }
            (code, cause) = (.cannotOpenFile, nil)
        } catch {
            (code, cause) = (error.code, error.systemError)
        }
        let change = code == .fileDoesNotExist ? "removed" : "changed"
        let text = "The file to upload has been \(change) since the task was made."
        return URLError(code, url: destination, text, cause: cause, details: [NSFilePathErrorKey: path])
    }
}

extension UploadedFile {
    /// The file as it was when its background task was made.
    init(_ file: UploadFile) {
        self.init(
            path: file.path,
            length: file.length,
            modifiedSeconds: file.modifiedSeconds,
            modifiedNanoseconds: file.modifiedNanoseconds
        )
    }
}
