import Foundation

// A task whose request a program's own `URLProtocol` loads. Everything on the loop.

extension TaskRunner: ProtocolLoadOwner {
    /// The classes to ask before the network is.
    private var protocolClasses: [URLProtocol.Type] {
        session.settings.consultsRegisteredProtocols ? URLProtocol.registeredClasses : session.settings.protocolClasses
    }

    /// True when a protocol class is being asked; `protocolLoadDeclined` goes on if none takes the request.
    func startsProtocolLoad() -> Bool {
        let classes = protocolClasses
        guard !classes.isEmpty, let task, var request = shared.withLock({ $0.currentRequest }) else { return false }
        attachBody(to: &request)
        let load = ProtocolLoad(session: session, owner: self)
        loading.protocolLoad = load
        loading.preparation = .underway
        startHop(.other)
        load.start(classes, task, request)
        return true
    }

    /// An upload's body is in no request; a protocol class finds it where it would look for one.
    private func attachBody(to request: inout URLRequest) {
        switch bodySource {
        case .data(let data): request.httpBody = data
        case .file(let url): request.httpBodyStream = InputStream(url: url)
        case .request, .stream: break
        }
    }

    func protocolLoadDeclined(_ load: ProtocolLoad) {
        loading.protocolLoad.take()?.stop()
        loading.hopWithoutExchange = nil
        prepareForNetwork()
    }

    /// The task runs from the first that the protocol reports.
    private func begins(_ load: ProtocolLoad) {
        guard case .underway = loading.preparation else { return }
        loading.preparation = .done
        _ = shared.withLock { $0.machine.admit() }
    }

    func protocolLoad(_ load: ProtocolLoad, redirectedTo request: URLRequest) {
        begins(load)
        guard loading.redirectCount < RedirectPolicy.maximumCount else {
            let description = "More than \(RedirectPolicy.maximumCount) redirects."
            return finish(.failure(URLError(.httpTooManyRedirects, request.url, description)))
        }
        loading.redirectCount += 1
        loading.protocolLoad.take()?.stop()
        loading.preparation = .none
        follow(request)
    }

    func protocolLoad(_ load: ProtocolLoad, received response: URLResponse) {
        begins(load)
        do throws(URLError) {
            try accept(response, received: 0, expected: response.expectedContentLength)
        } catch {
            finish(.failure(error))
        }
    }

    func protocolLoad(_ load: ProtocolLoad, received data: Data) {
        begins(load)
        do throws(URLError) {
            try data.withUnsafeBytes { bytes in Result { () throws(URLError) in try receive(bytes) } }.get()
            countReceivedBytes()
        } catch {
            finish(.failure(error))
        }
    }

    func protocolLoadFinished(_ load: ProtocolLoad, _ error: URLError?) {
        begins(load)
        if let error { return finish(.failure(error)) }
        guard shared.withLock({ $0.response }) != nil else {
            return finish(.failure(URLError(.badServerResponse, nil, "The protocol class reported no response.")))
        }
        finishWithBody()
    }
}
