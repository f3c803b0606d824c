import Foundation

// A task whose request a program's own `URLProtocol` loads. Everything on the loop, but for what says otherwise.

extension TaskRunner {
    /// The classes to ask before the network is.
    private var protocolClasses: [ProtocolClass] {
        session.settings.consultsRegisteredProtocols ? URLProtocol.registeredClasses : session.settings.protocolClasses
    }

    /// True when a protocol class is being asked; `protocolLoadDeclined` goes on if none takes the request. The task counts as
    /// loading meanwhile: it can be suspended, and no transfer starts beside it.
    func startsProtocolLoad() -> Bool {
        guard session.settings.hasProtocols, loading.preparation == .none else { return false }
        let classes = protocolClasses
        guard !classes.isEmpty, let task, let request = shared.withLock({ $0.currentRequest }) else { return false }
        guard shared.withLock({ $0.machine.admit() }) else { return true }
        loading.caching = Caching()
        let demand = cacheDemand
        let cache = demand == nil || demand?.reading == .nothing ? nil : session.settings.cache
        let load = ProtocolLoad(classes, for: task, cache: cache, loop: lane.loop, owner: self)
        loading.load = load
        rearmDeadline()
        findStoredCookies(for: request) { cookies in self.start(load, request, cookies) }
        return true
    }

    /// Has the classes asked about `request` as it would go out: that is the task's current request, unless they decline.
    private func start(_ load: ProtocolLoad, _ request: URLRequest, _ cookies: String?) {
        guard loading.load === load else { return }
        let isAtOriginalOrigin = loading.redirectCount == 0 || RedirectPolicy.isSamePlace(originalRequest, request)
        let additional = session.settings.additionalHeaders(withCredentials: isAtOriginalOrigin)
        let request = ProtocolRequest(request, additional: additional, cookies: cookies)
        shared.withLock { $0.currentRequest = request.complete }
        load.start(with: request)
    }

    /// What the current request wants of the cache; nil where that has no part in it.
    private var cacheDemand: CacheDemand? {
        guard session.settings.cache != nil, concernsCache, let request = shared.withLock({ $0.currentRequest })
        else { return nil }
        let demand = CacheDemand(request, policy: session.settings.cachePolicy(for: request))
        return demand.mayStore ? demand : nil
    }
}

extension TaskRunner: ProtocolLoadOwner {
    func protocolLoadDeclined(_ load: ProtocolLoad) {
        loading.load.take()?.stop()
        if let plain = load.request?.plain { shared.withLock { $0.currentRequest = plain } }
        if loading.redirectCount > 0, let error = RedirectPolicy.refusal(of: shared.withLock { $0.currentRequest }) {
            return finish(.failure(error))
        }
        loading.preparation = .declined
        shared.withLock { $0.machine.requeue() }
        runOnLoop()
    }

    func protocolLoadBegins(_ load: ProtocolLoad) {
        startHop(.other)
        guard case .stream = bodySource else { return load.begin() }
        loading.preparation = .underway
        post(.needsBodyStream)
    }

    /// The delegate's answer; the request's own stream serves where it has none, and it is the class's business if that is none.
    func begin(_ load: ProtocolLoad, with stream: InputStream?) {
        loading.preparation = .done
        if let stream { shared.withLock { $0.currentRequest?.httpBodyStream = stream } }
        load.begin()
    }

    func protocolLoad(
        _ load: ProtocolLoad,
        received response: URLResponse?,
        storagePolicy: URLCache.StoragePolicy
    ) {
        let request = shared.withLock { $0.currentRequest }
        guard let url = response?.url ?? request?.url else {
            return finish(.failure(URLError(.unsupportedURL, nil, "The request has no URL.")))
        }
        let shown =
            response ?? URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        self.load(load, received: shown)
        // Whether it may be stored is the class's to say, and which requests it answers the cache's.
        guard storagePolicy != .notAllowed, let request, cacheDemand != nil, let cache = session.settings.cache else {
            return
        }
        loading.caching.requested = Date()
        loading.caching.write = CacheWrite(
            head: StoredResponse.head(of: shown),
            request: request,
            limit: cache.sizeLimit,
            storagePolicy: storagePolicy
        )
    }

    // MARK: - Redirects

    func protocolLoad(_ load: ProtocolLoad, redirectedTo request: URLRequest, by response: URLResponse) {
        loading.load.take()?.stop()
        loading.hopWithoutExchange?.response = response
        let from = shared.withLock { $0.currentRequest }
        let next: URLRequest
        do throws(URLError) {
            next = try RedirectPolicy.reported(
                load.request?.withoutAdditions(request) ?? request,
                from: from.map { load.request?.withoutAdditions($0) ?? $0 },
                count: loading.redirectCount
            )
        } catch {
            return finish(.failure(error))
        }
        // The message to the delegate is about responses of HTTP alone.
        guard delegates.task != nil, let http = response as? HTTPURLResponse else {
            return follow(reportedRedirect: next)
        }
        loading.reportedRedirect = http
        shared.withLock { $0.machine.setHeld(true) }
        runOnLoop()
        post(
            .redirect(http, next) { [weak self] answer in
                guard let self else { return }
                submit { self.reportedRedirectAnswered(http, answer) }
            }
        )
    }

    /// Only the first answer counts, and none after the task's end.
    private func reportedRedirectAnswered(_ response: HTTPURLResponse, _ next: URLRequest?) {
        guard isUnfinished, loading.reportedRedirect === response else { return }
        loading.reportedRedirect = nil
        shared.withLock { $0.machine.setHeld(false) }
        guard let next else { return deliver(reportedRedirect: response) }
        follow(reportedRedirect: next)
    }

    private func follow(reportedRedirect next: URLRequest) {
        loading.redirectCount += 1
        follow(next)
    }

    /// The redirect is the task's response. Its class was stopped: there is no body.
    private func deliver(reportedRedirect response: URLResponse) {
        do throws(URLError) {
            try accept(response, received: 0, expected: 0)
            finishWithBody()
        } catch {
            finish(.failure(error))
        }
    }

    // MARK: - Challenges

    func protocolLoad(
        _ load: ProtocolLoad,
        received challenge: URLAuthenticationChallenge,
        answerTo sender: ChallengeSender
    ) {
        guard delegates.session != nil else { return sender.answer(.performDefaultHandling, nil) }
        post(.challenge(ChallengeQuestion(reported: challenge, sender: sender)))
    }

    func protocolLoad(_ load: ProtocolLoad, challengeEnded disposition: URLSession.AuthChallengeDisposition?) {
        guard disposition == .cancelAuthenticationChallenge else { return rearmDeadline() }
        let url = shared.withLock { $0.currentRequest?.url }
        finish(.failure(.cancelled(url)))
    }
}

extension TaskRunner {
    /// The current request with the task's body, as a protocol class looks for it: an upload's is in no request. Any thread.
    var requestWithBody: URLRequest? {
        guard var request = shared.withLock({ $0.currentRequest }) else { return nil }
        switch bodySource {
        case .data(let data): request.httpBody = data
        case .file(let url): request.httpBodyStream = InputStream(url: url)
        case .request, .stream: break
        }
        return request
    }
}
