import Foundation

/// The resource by which a server lets an upload be resumed, as named by its 104.
struct UploadResource: Codable, Equatable, Sendable {
    let url: URL
    let version: UploadVersion

    init(url: URL, version: UploadVersion) {
        (self.url, self.version) = (url, version)
    }

    /// The one that `head` offers in response to a request for `base`; nil for none. One at another origin isn't used: unlike with a
    /// redirect, no delegate is asked whether the body may go there.
    init?(offeredBy head: ResponseHead, to base: URL) {
        guard head.status == 104, let version = head.uploadVersion, let location = head["Location"],
            let url = URL(reference: location, relativeTo: base), let origin = Origin(base)
        else { return nil }
        let target = UnixSocketURL.redirected(to: url, from: base)
        guard Origin(target) == origin else { return nil }
        self.init(url: target.withUserInformation(of: base), version: version)
    }

    /// Whether a request with this method may ask for such a resource.
    static func mayCreate(_ method: String) -> Bool {
        !["GET", "HEAD", "DELETE", "OPTIONS", "CONNECT", "TRACE"].contains(method)
    }

    /// Whether a request for `url` may have led here without a redirect: the resource is at the same origin, or at the one where that
    /// request goes once its host requires https. A background upload's request has credentials for no other.
    func mayBelong(to url: URL) -> Bool {
        guard let own = Origin(url), let origin = Origin(self.url) else { return false }
        return origin == own || TransportSecurityHosts.secured(url).flatMap { Origin($0) } == origin
    }

    /// A request that asks how much the server has, with the fields and settings of `request`, which led to the resource, except those
    /// about its body, and credentials for another origin.
    func offsetRequest(like request: URLRequest) -> URLRequest {
        self.request("HEAD", like: request, version.offsetFields)
    }

    /// A request that sends the rest of the body, or a piece of it.
    func appendRequest(like request: URLRequest, _ rest: UploadRest) -> URLRequest {
        self.request("PATCH", like: request, version.appendFields(rest))
    }

    private func request(_ method: String, like request: URLRequest, _ fields: [HeaderField]) -> URLRequest {
        var next = request
        next.url = url
        next.httpMethod = method
        next.httpBody = nil
        next.httpBodyStream = nil
        // A stored response would be out of date.
        next.cachePolicy = .reloadIgnoringLocalCacheData
        for name in (request.allHTTPHeaderFields ?? [:]).keys where UploadField.describesBody(name) {
            next.setValue(nil, forHTTPHeaderField: name)
        }
        if !(request.url.map(mayBelong) ?? false) { RedirectPolicy.removeCredentials(from: &next) }
        for field in fields { next.setValue(field.value, forHTTPHeaderField: field.name) }
        return next
    }
}
