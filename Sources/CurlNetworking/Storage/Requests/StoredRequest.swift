import Foundation

/// A request as resume data keeps it: without credentials or a body. Read back, it is untrusted.
struct StoredRequest: Codable, Equatable, Sendable {
    let url: URL
    let method: String
    let headers: [String: String]
    /// In seconds.
    private let timeoutInterval: TimeInterval
    /// nil for true, and in older data.
    private let handlesCookies: Bool?
    private let mainDocumentURL: URL?
    /// The protocol classes' properties, as a nested property list.
    private let properties: Data?

    /// The most arrays and dictionaries.
    private static let maximumPropertyContainers = 64

    /// - Parameter url: The URL that the request finally went to.
    init(_ request: URLRequest, to url: URL) {
        self.url = Self.withoutCredentials(url)
        method = request.httpMethod ?? "GET"
        headers = (request.allHTTPHeaderFields ?? [:]).filter { !Self.isOurs($0.key) }
        timeoutInterval = request.timeoutInterval
        handlesCookies = request.httpShouldHandleCookies ? nil : false
        mainDocumentURL = request.mainDocumentURL.map(Self.withoutCredentials)
        properties = RequestProperties.all(of: request).flatMap {
            UntrustedPropertyList.data($0, containers: Self.maximumPropertyContainers)
        }
    }

    var urlRequest: URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.timeoutInterval = timeoutInterval
        request.httpShouldHandleCookies = handlesCookies ?? true
        request.mainDocumentURL = mainDocumentURL
        for (name, value) in headers where !Self.isOurs(name) { request.setValue(value, forHTTPHeaderField: name) }
        if let properties = properties.flatMap({
            UntrustedPropertyList.dictionary($0, containers: Self.maximumPropertyContainers)
        }) {
            RequestProperties.setAll(properties, in: &request)
        }
        return request
    }

    /// Fields that are never the request's own here: we either write them or leave them out.
    private static func isOurs(_ name: String) -> Bool {
        RequestProperties.isField(name)
            || (["Range", "If-Range"] + credentialFields).contains { $0.isEqualIgnoringASCIICase(to: name) }
    }

    private static let credentialFields = ["Authorization", "Proxy-Authorization", "Cookie", "Cookie2"]

    static func withoutCredentials(_ url: URL) -> URL {
        guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url }
        components.user = nil
        components.password = nil
        return components.url ?? url
    }

    /// Whether resume data may lead to `url`: an http, https, ftp or ftps URL with a host. An attacker may have written it to reach this
    /// machine's files or sockets.
    static func canName(_ url: URL) -> Bool {
        (Origin(url) ?? Origin.ofFTP(url)).map { !$0.isUnixSocket } ?? false
    }
}
