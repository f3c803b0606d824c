import Foundation

// The stock storages' methods that take a task, for this module's tasks. Each calls its counterpart for the task's request or protection
// space, and like that may read and write files on the caller's thread.

extension URLCache {
    /// Stores `cachedResponse` for the task's request.
    public func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
        guard let request = dataTask.currentRequest else { return }
        storeCachedResponse(cachedResponse, for: request)
    }

    /// Passes the response cached for the task's request, or nil, to `completionHandler`.
    public func getCachedResponse(
        for dataTask: URLSessionDataTask,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(dataTask.currentRequest.flatMap(cachedResponse(for:)))
    }

    /// Returns the response cached for the task's request, or nil.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlcache/getcachedresponse(for:completionhandler:)>
    public func cachedResponse(for dataTask: URLSessionDataTask) async -> CachedURLResponse? {
        await withCheckedContinuation { continuation in
            getCachedResponse(for: dataTask) { continuation.resume(returning: $0) }
        }
    }

    /// Removes the response cached for the task's request.
    public func removeCachedResponse(for dataTask: URLSessionDataTask) {
        guard let request = dataTask.currentRequest else { return }
        removeCachedResponse(for: request)
    }
}

extension HTTPCookieStorage {
    /// Stores `cookies` as if a response from the task's current URL had set them, subject to the storage's policy: cookies for other
    /// domains or a public suffix, and `Secure` cookies over http, are rejected. See <doc:Cookies>.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/httpcookiestorage/storecookies(_:for:)>
    public func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
        guard let request = task.currentRequest, let url = request.url else { return }
        CookieStore.store(over: self).store(cookies, from: url, mainDocument: request.mainDocumentURL)
    }

    /// Passes the cookies that the task's request would carry, in their order, to `completionHandler`, or nil if its URL isn't http or
    /// https. The handler is called on a global queue, without waiting for files.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/httpcookiestorage/getcookiesfor(_:completionhandler:)>
    public func getCookiesFor(
        _ task: URLSessionTask,
        completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
    ) {
        // The program's code must not run on the store's queue.
        let handOver: @Sendable ([HTTPCookie]?) -> Void = { cookies in
            DispatchQueue.global().async { completionHandler(cookies) }
        }
        guard let url = task.currentRequest?.url else { return handOver(nil) }
        CookieStore.store(over: self).findCookies(for: url) { handOver($0?.map(\.cookie)) }
    }
}

extension HTTPCookieStorage {
    /// Returns the cookies that the task's request would carry, in their order, or nil if its URL isn't http or https.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/httpcookiestorage/getcookiesfor(_:completionhandler:)>
    public func cookies(for task: URLSessionTask) async -> [HTTPCookie]? {
        await withCheckedContinuation { continuation in
            getCookiesFor(task) { continuation.resume(returning: $0) }
        }
    }
}

// Protection spaces are compared by value, as in sessions: each challenge has its own object, and the stock methods compare by identity.

extension URLCredentialStorage {
    /// Returns the credentials for `protectionSpace`, by user name, or nil.
    ///
    /// Source: <https://developer.apple.com/documentation/foundation/urlcredentialstorage/getcredentials(for:task:completionhandler:)>
    public func credentials(
        for protectionSpace: URLProtectionSpace,
        task: URLSessionTask
    ) async -> [String: URLCredential]? {
        matchingCredentials(for: protectionSpace)
    }

    /// Returns the default credential for `space`, or nil.
    ///
    /// Source:
    /// <https://developer.apple.com/documentation/foundation/urlcredentialstorage/getdefaultcredential(for:task:completionhandler:)>
    public func defaultCredential(for space: URLProtectionSpace, task: URLSessionTask) async -> URLCredential? {
        matchingDefault(for: space)
    }

    /// Passes the credentials for `protectionSpace`, by user name, or nil, to `completionHandler`.
    public func getCredentials(
        for protectionSpace: URLProtectionSpace,
        task: URLSessionTask,
        completionHandler: ([String: URLCredential]?) -> Void
    ) {
        completionHandler(matchingCredentials(for: protectionSpace))
    }

    /// Stores `credential` for `protectionSpace`, also as its default if the present one is for the same user.
    public func set(_ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask) {
        store(credential, for: protectionSpace)
    }

    /// Removes `credential` for `protectionSpace`.
    public func remove(
        _ credential: URLCredential,
        for protectionSpace: URLProtectionSpace,
        options: [String: AnyObject]? = [:],
        task: URLSessionTask
    ) {
        removeMatching(credential, for: protectionSpace, options: options)
    }

    /// Passes the default credential for `space`, or nil, to `completionHandler`.
    public func getDefaultCredential(
        for space: URLProtectionSpace,
        task: URLSessionTask,
        completionHandler: (URLCredential?) -> Void
    ) {
        completionHandler(matchingDefault(for: space))
    }

    /// Makes `credential` the default for `protectionSpace`.
    public func setDefaultCredential(
        _ credential: URLCredential,
        for protectionSpace: URLProtectionSpace,
        task: URLSessionTask
    ) {
        storeDefault(credential, for: protectionSpace)
    }
}
