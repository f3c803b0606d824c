import Foundation

// A task whose request a program's own `URLProtocol` loads. Everything on the loop, but for what says otherwise.

extension TaskRunner: ProtocolLoadOwner {
    /// The classes to ask before the network is.
    private var protocolClasses: [URLProtocol.Type] {
        session.settings.consultsRegisteredProtocols ? URLProtocol.registeredClasses : session.settings.protocolClasses
    }

    /// True when a protocol class is being asked; `protocolLoadDeclined` goes on if none takes the request. The task counts as
    /// loading meanwhile: it can be suspended, and no transfer starts beside it.
    func startsProtocolLoad() -> Bool {
        guard session.settings.hasProtocols, loading.preparation == .none else { return false }
        let classes = protocolClasses
        guard !classes.isEmpty, let task else { return false }
        guard shared.withLock({ $0.machine.admit() }) else { return true }
        let load = ProtocolLoad(classes, for: task, loop: session.loop, owner: self)
        loading.load = load
        startHop(.other)
        load.start()
        return true
    }

    func protocolLoadDeclined(_ load: ProtocolLoad) {
        loading.load.take()?.stop()
        loading.hopWithoutExchange = nil
        loading.preparation = .declined
        shared.withLock { $0.machine.requeue() }
        runOnLoop()
    }

    func protocolLoad(_ load: ProtocolLoad, redirectedTo request: URLRequest, by response: URLResponse) {
        guard loading.redirectCount < RedirectPolicy.maximumCount else {
            let description = "More than \(RedirectPolicy.maximumCount) redirects."
            return finish(.failure(URLError(.httpTooManyRedirects, request.url, description)))
        }
        loading.redirectCount += 1
        loading.load.take()?.stop()
        follow(request)
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
