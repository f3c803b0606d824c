/// What Apple's URLSession family has beyond the stock module's, and has a meaning on Linux. From Apple's reference.
enum AppleAdditions {
    /// Paths and declarations.
    static let present: [(String, String)] =
        session + configuration + tasks + delegates + storages + errors

    private static let session: [(String, String)] = [
        (
            "URLSession.data(for:)",
            "public func data(for request: URLRequest) async throws -> (Data, URLResponse)"
        ),
        (
            "URLSession.data(from:)",
            "public func data(from url: URL) async throws -> (Data, URLResponse)"
        ),
        (
            "URLSession.upload(for:fromFile:)",
            "public func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse)"
        ),
        (
            "URLSession.upload(for:from:)",
            "public func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse)"
        ),
        (
            "URLSession.bytes(for:delegate:)",
            "public func bytes(for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil) async throws"
                + " -> (URLSession.AsyncBytes, URLResponse)"
        ),
        (
            "URLSession.bytes(from:delegate:)",
            "public func bytes(from url: URL, delegate: (any URLSessionTaskDelegate)? = nil) async throws"
                + " -> (URLSession.AsyncBytes, URLResponse)"
        ),
        (
            "URLSession.download(resumeFrom:delegate:)",
            "public func download(resumeFrom resumeData: Data, delegate: (any URLSessionTaskDelegate)? = nil) async throws"
                + " -> (URL, URLResponse)"
        ),
        (
            "URLSession.tasks",
            "public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) { get async }"
        ),
        (
            "URLSession.upload(resumeFrom:delegate:)",
            "public func upload(resumeFrom resumeData: Data, delegate: (any URLSessionTaskDelegate)? = nil) async throws"
                + " -> (Data, URLResponse)"
        ),
        (
            "URLSession.uploadTask(withResumeData:)",
            "open func uploadTask(withResumeData resumeData: Data) -> URLSessionUploadTask"
        ),
        (
            "URLSession.uploadTask(withResumeData:completionHandler:)",
            "open func uploadTask(withResumeData resumeData: Data, completionHandler: @escaping @Sendable (Data?,"
                + " URLResponse?, (any Error)?) -> Void) -> URLSessionUploadTask"
        ),
        ("URLSession.allTasks", "public var allTasks: [URLSessionTask] { get async }"),
        ("URLSession.flush()", "public func flush() async"),
        ("URLSession.reset()", "public func reset() async"),
        (
            "URLSession.getTasksWithCompletionHandler(completionHandler:)",
            "public func getTasksWithCompletionHandler(completionHandler: @escaping @Sendable ([URLSessionDataTask],"
                + " [URLSessionUploadTask], [URLSessionDownloadTask]) -> Void)"
        ),
        ("URLSession.copy()", "open override func copy() -> Any"),
        ("URLSession.copy(with:)", "open func copy(with zone: NSZone?) -> Any"),
        ("URLSession.AsyncBytes.task", "public var task: URLSessionDataTask { get }"),
        ("URLSession.DelayedRequestDisposition.init(rawValue:)", "public init?(rawValue: Int)"),
        ("URLSession.AuthChallengeDisposition.init(rawValue:)", "public init?(rawValue: Int)"),
        ("URLSession.ResponseDisposition.init(rawValue:)", "public init?(rawValue: Int)"),
    ]

    private static let configuration: [(String, String)] =
        [
            ("waitsForConnectivity", "Bool"), ("allowsExpensiveNetworkAccess", "Bool"),
            ("allowsConstrainedNetworkAccess", "Bool"), ("allowsUltraConstrainedNetworkAccess", "Bool"),
            ("requiresDNSSECValidation", "Bool"), ("enablesEarlyData", "Bool"), ("usesClassicLoadingMode", "Bool"),
            ("sessionSendsLaunchEvents", "Bool"), ("sharedContainerIdentifier", "String?"),
            ("multipathServiceType", "URLSessionConfiguration.MultipathServiceType"),
            ("tlsMinimumSupportedProtocolVersion", "tls_protocol_version_t"),
            ("tlsMaximumSupportedProtocolVersion", "tls_protocol_version_t"),
        ].map { ("URLSessionConfiguration.\($0)", "open var \($0): \($1) { get set }") } + [
            (
                "URLSessionConfiguration.tlsMinimumSupportedProtocol",
                "public var tlsMinimumSupportedProtocol: SSLProtocol { get set } deprecated "
            ),
            (
                "URLSessionConfiguration.tlsMaximumSupportedProtocol",
                "public var tlsMaximumSupportedProtocol: SSLProtocol { get set } deprecated "
            ),
            (
                "URLSessionConfiguration.background(withIdentifier:)",
                "open class func background(withIdentifier identifier: String) -> URLSessionConfiguration"
            ),
            ("URLSessionConfiguration.identifier", "open var identifier: String? { get }"),
            ("URLSessionConfiguration.MultipathServiceType.init(rawValue:)", "public init?(rawValue: Int)"),
            ("kCFNetworkProxiesHTTPEnable", "public var kCFNetworkProxiesHTTPEnable: String { get }"),
        ]

    private static let tasks: [(String, String)] = [
        (
            "URLSession.streamTask(withHostName:port:)",
            "public func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask"
        ),
        ("URLSession.ResponseDisposition.becomeStream", "public case becomeStream"),
        ("URLSessionStreamTask.captureStreams()", "open func captureStreams()"),
        ("URLSessionStreamTask.closeRead()", "open func closeRead()"),
        ("URLSessionStreamTask.closeWrite()", "open func closeWrite()"),
        ("URLSessionStreamTask.startSecureConnection()", "open func startSecureConnection()"),
        ("URLSessionStreamTask.stopSecureConnection()", "open func stopSecureConnection()"),
        (
            "URLSessionStreamTask.write(_:timeout:)",
            "open func write(_ data: Data, timeout: TimeInterval) async throws"
        ),
        (
            "URLSessionStreamTask.readData(ofMinLength:maxLength:timeout:)",
            "open func readData(ofMinLength minBytes: Int, maxLength maxBytes: Int, timeout: TimeInterval) async throws"
                + " -> (Data?, Bool)"
        ),
        (
            "URLSessionTask.prefersIncrementalDelivery",
            "open var prefersIncrementalDelivery: Bool { get set }"
        ),
        (
            "URLSessionDownloadTask.cancelByProducingResumeData()",
            "public func cancelByProducingResumeData() async -> Data?"
        ),
        (
            "URLSessionUploadTask.cancel(byProducingResumeData:)",
            "open @preconcurrency func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) ->"
                + " Void)"
        ),
        (
            "URLSessionUploadTask.cancelByProducingResumeData()",
            "public func cancelByProducingResumeData() async -> Data?"
        ),
    ]

    private static let delegates: [(String, String)] = [
        (
            "URLSessionTaskDelegate.urlSession(_:didCreateTask:)",
            "public func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask)"
        ),
        (
            "URLSessionTaskDelegate.urlSession(_:taskIsWaitingForConnectivity:)",
            "public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)"
        ),
        (
            "URLSessionTaskDelegate.urlSession(_:task:didReceiveInformationalResponse:)",
            "public func urlSession(_ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse"
                + " response: HTTPURLResponse)"
        ),
    ]

    private static let storages: [(String, String)] = [
        (
            "URLCache.cachedResponse(for:)",
            "public func cachedResponse(for dataTask: URLSessionDataTask) async -> CachedURLResponse?"
        ),
        ("HTTPCookieStorage.cookies(for:)", "public func cookies(for task: URLSessionTask) async -> [HTTPCookie]?"),
        (
            "URLCredentialStorage.credentials(for:task:)",
            "public func credentials(for protectionSpace: URLProtectionSpace, task: URLSessionTask) async"
                + " -> [String : URLCredential]?"
        ),
        (
            "URLCredentialStorage.defaultCredential(for:task:)",
            "public func defaultCredential(for space: URLProtectionSpace, task: URLSessionTask) async -> URLCredential?"
        ),
    ]

    private static let errors: [(String, String)] = [
        ("URLError.uploadTaskResumeData", "public var uploadTaskResumeData: Data? { get }"),
        ("NSURLSessionUploadTaskResumeData", "public var NSURLSessionUploadTaskResumeData: String { get }"),
        ("URLError.downloadTaskResumeData", "public var downloadTaskResumeData: Data? { get }"),
        (
            "URLError.networkUnavailableReason",
            "public var networkUnavailableReason: URLError.NetworkUnavailableReason? { get }"
        ),
        ("URLError.failureURLPeerTrust", "public var failureURLPeerTrust: ServerTrust? { get }"),
        ("NSURLSessionDownloadTaskResumeData", "public var NSURLSessionDownloadTaskResumeData: String { get }"),
        ("NSURLErrorNetworkUnavailableReasonKey", "public var NSURLErrorNetworkUnavailableReasonKey: String { get }"),
        (
            "NSURLAuthenticationMethodServerTrust",
            "public var NSURLAuthenticationMethodServerTrust: String { get }"
        ),
        (
            "NSURLAuthenticationMethodClientCertificate",
            "public var NSURLAuthenticationMethodClientCertificate: String { get }"
        ),
    ]

    static let conformances = [
        "URLSession: NSCopying", "URLSessionTask: NSCopying", "URLSessionTask: ProgressReporting",
    ]
}
