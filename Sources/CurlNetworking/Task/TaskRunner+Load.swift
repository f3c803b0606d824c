import Curl
import Foundation

// A task whose response comes from elsewhere than an exchange. Everything on the loop.

extension TaskRunner: FTPLoadOwner {
    // MARK: - Starting

    /// A data or file URL needs no connection, and so no admission.
    func startLocalLoad(_ request: URLRequest) {
        guard let url = request.url, shared.withLock({ $0.machine.admit() }) else { return }
        let isFile = url.scheme?.isEqualIgnoringASCIICase(to: "file") ?? false
        let source: any LocalSource = isFile ? FileSource(url) : DataSource(url)
        let load = LocalLoad(source, loop: lane.loop, owner: self)
        loading.load = load
        startHop(.other)
        load.start()
    }

    func startFTPLoad(_ request: URLRequest) throws(URLError) {
        let body = try makeBody(for: request)
        var options: FTPOptions
        do throws(URLError) {
            options = try RequestEncoder.ftpOptions(
                for: request,
                body: body,
                offset: loading.resumption?.offset ?? 0,
                replyTimeout: session.settings.idleTimeout(for: request)
            )
            if case .unusable(let reason) = route { throw URLError(.cannotConnectToHost, request.url, reason) }
            options.connection = loading.ticket.flatMap(lane.connectionProfile)
        } catch {
            body?.close()
            throw error
        }
        if let ticket = loading.ticket { options.connection = lane.connectionProfile(for: ticket) }
        countRequest(withBodyOf: body?.length, hasBody: body != nil)
        let load = FTPLoad(
            options,
            for: request,
            body: body,
            hatches: hatches(for: request),
            connections: lane.ftpConnections,
            loop: lane.loop,
            owner: self
        )
        loading.load = load
        startHop(.other)
        load.start()
        rearmDeadline()
    }

    // MARK: - LoadOwner

    func load(_ load: any Load, received response: URLResponse) {
        do throws(URLError) {
            try accept(response, received: 0, expected: response.expectedContentLength)
        } catch {
            finish(.failure(error))
        }
    }

    func load(_ load: any Load, received data: Data) {
        do throws(URLError) {
            try data.withUnsafeBytes { bytes in Result { () throws(URLError) in try receive(bytes) } }.get()
            countReceivedBytes()
            // The consumer may have enough.
            runOnLoop()
        } catch {
            finish(.failure(error))
        }
    }

    func loadFinished(_ load: any Load, _ error: URLError?) {
        let (request, response) = shared.withLock { ($0.currentRequest, $0.response) }
        do throws(URLError) {
            if let error {
                if load is FTPLoad, waitsForConnectivity(afterLoading: error) { return }
                throw error
            }
            guard let request, response != nil else {
                throw URLError(.badServerResponse, request?.url, "The body is over, and there was no response.")
            }
            loading.load.take()?.stop()
            if try continuesAppending(request) { return }
            finishWithBody()
        } catch {
            finish(.failure(error))
        }
    }

    // MARK: - FTPLoadOwner

    func ftpLoad(_ load: FTPLoad, received head: ResponseHead) {
        do throws(URLError) {
            if let resumption = loading.resumption {
                if case .deliver = try resume(resumption, with: head, to: load.request) { return }
            } else {
                return try accept(head, to: load.request)
            }
            // What follows is of no use.
            loading.load.take()?.stop()
            if let next = loading.nextRequest.take() { return follow(next) }
            finishWithBody()
        } catch {
            finish(.failure(error))
        }
    }

    func ftpLoad(_ load: FTPLoad, sent totalBytes: Int64) {
        noteSent(totalBytes)
    }
}
