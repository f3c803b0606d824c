import Foundation

/// The fields of a request as they are sent, which decide whether a stored response answers it (RFC 9111 §4.1). Loop only.
struct SentFields {
    private let request: URLRequest
    /// The cookies that the storage has for the request.
    private let cookies: String?
    /// Whether the request has been sent, or is still to be.
    private let isSent: Bool
    private let context: any StepContext

    init(_ request: URLRequest, cookies: String?, isSent: Bool = false, _ context: any StepContext) {
        (self.request, self.cookies, self.isSent, self.context) = (request, cookies, isSent, context)
    }

    /// Those of the current request, which has been sent.
    init(sent request: URLRequest, _ context: any StepContext) {
        self.init(request, cookies: context.steps.cookies?.field, isSent: true, context)
    }

    /// The fields that the response with `head` depends on.
    func variant(of head: ResponseHead) -> [HeaderField] { CacheVariant.fields(of: head, value: value) }

    /// A request for a part has the values of one for the whole: a stored whole response answers it only if it isn't coded, which suits
    /// both.
    ///
    /// - Parameter name: In lower case.
    func value(of name: String) -> String? {
        if name == CacheVariant.trust { return trust }
        return chosenValue(of: name) ?? RequestEncoder.defaultValue(of: name, context.session.settings)
    }

    private var trust: String? {
        guard let origin = request.url.flatMap({ Origin($0) }), origin.usesTLS else { return nil }
        return context.session.settings.tls.trustMark(for: origin)
    }

    /// The same without the fields that every request has.
    func chosenValue(of name: String) -> String? {
        let own = request.value(forHTTPHeaderField: name) ?? additionalValue(of: name)
        if name == "authorization", let credential = credential(hasOwnField: own != nil) {
            return credential.basicToken
        }
        guard name == "cookie", request.httpShouldHandleCookies, let cookies else { return own }
        return CookieField.merge(Substring(own ?? ""), with: cookies)
    }

    /// Another task may have got a credential for the session since this request was sent.
    private func credential(hasOwnField: Bool) -> Credential? {
        let authentication = context.steps.authentication
        return isSent
            ? authentication.sentCredential
            : authentication.credential(for: request, hasOwnField: hasOwnField, context)
    }

    /// The configuration's value, unless it is a credential at an origin other than the first request's.
    private func additionalValue(of name: String) -> String? {
        let fields = context.session.settings.additionalHeaders
        guard !fields.isEmpty, let field = fields.first(where: { $0.name.isEqualIgnoringASCIICase(to: name) }) else {
            return nil
        }
        let isCredential = RedirectPolicy.credentialFields.contains { $0.isEqualIgnoringASCIICase(to: name) }
        return isCredential && !context.mayCarrySessionCredentials(request) ? nil : field.value
    }
}

extension StoredResponse {
    /// Whether it answers requests with these fields. For one that a program stored itself this is unknown: it answers requests that choose
    /// none of the variants.
    func isVariant(of sent: SentFields) -> Bool {
        guard let variant else { return CacheVariant.matches(head, stored: [], value: sent.chosenValue) }
        return CacheVariant.matches(head, stored: variant, value: sent.value)
    }
}
