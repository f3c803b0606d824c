import Foundation

/// A request as resume data keeps it: without credentials, nor a body.
struct StoredRequest: Codable, Equatable, Sendable {
    let url: URL
    let method: String
    private let headers: [String: String]
    /// In seconds.
    private let timeoutInterval: TimeInterval
    private let handlesCookies: Bool
    private let mainDocumentURL: URL?
    /// The protocol classes' properties, as a nested property list.
    private let properties: Data?

    /// nil for a request without a URL.
    init?(_ request: URLRequest) {
        guard let url = request.url else { return nil }
        self.url = ResumeData.withoutCredentials(url)
        method = request.httpMethod ?? "GET"
        headers = (request.allHTTPHeaderFields ?? [:]).filter { !ResumeData.isOurs($0.key) }
        timeoutInterval = request.timeoutInterval
        handlesCookies = request.httpShouldHandleCookies
        mainDocumentURL = request.mainDocumentURL.map(ResumeData.withoutCredentials)
        properties = RequestProperties.list(of: request).flatMap(ResumeData.harmlessProperties)
    }

    var request: URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.timeoutInterval = timeoutInterval
        request.httpShouldHandleCookies = handlesCookies
        request.mainDocumentURL = mainDocumentURL
        for (name, value) in headers where !ResumeData.isOurs(name) {
            request.setValue(value, forHTTPHeaderField: name)
        }
        if let list = properties.flatMap(ResumeData.harmlessProperties) {
            RequestProperties.setList(list, in: &request)
        }
        return request
    }
}
