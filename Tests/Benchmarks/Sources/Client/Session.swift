import Foundation

/// A session with everything switched off that the raw client does not have either (cache, cookies, credentials), unless
/// it is to be as by default.
func makeSession(
    connectionsPerHost: Int,
    usesDefaultConfiguration: Bool = false,
    usesEventLoop: Bool = false,
    compressesMessages: Bool = true,
    delegate: (any URLSessionDelegate)? = nil,
    delegateQueue: OperationQueue? = nil
) -> URLSession {
    let configuration = usesDefaultConfiguration ? URLSessionConfiguration.default : .ephemeral
    if !usesDefaultConfiguration {
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    }
    configuration.httpMaximumConnectionsPerHost = connectionsPerHost
    if usesEventLoop { runTasksOnEventLoop(configuration) }
    if !compressesMessages { turnOffMessageCompression(configuration) }
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: delegateQueue)
}

/// Nil when the response is a success with the expected number of body bytes, otherwise what is wrong with it.
func complaint(about response: URLResponse?, bytes: Int?, expect: Int?) -> String? {
    guard let status = (response as? HTTPURLResponse)?.statusCode else { return "no HTTP response" }
    guard status / 100 == 2 else { return "status \(status)" }
    guard let expect, bytes != expect else { return nil }
    return "\(bytes ?? 0) bytes instead of \(expect)"
}
