import Foundation

// Reports from protocol objects, on any thread. Which object reports makes no difference: a load has only one.

extension ProtocolTransfer: URLProtocolClient {
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
        report(.redirect(request, redirectResponse))
    }

    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        report(.cachedResponseIsValid(cachedResponse))
    }

    func urlProtocol(
        _ protocol: URLProtocol,
        didReceive response: URLResponse,
        cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        report(.response(response, policy))
    }

    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) {
        report(.data(data))
    }

    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) {
        report(.finished)
    }

    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {
        report(.failed(URLError(reported: error)))
    }

    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        report(.challenge(challenge))
    }

    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        withdraw(challenge)
    }
}

/// The same for objects of stock classes.
extension ProtocolTransfer: FoundationNetworking.URLProtocolClient {
    func urlProtocol(
        _ protocol: FoundationNetworking.URLProtocol,
        wasRedirectedTo request: URLRequest,
        redirectResponse: URLResponse
    ) {
        report(.redirect(request, redirectResponse))
    }

    func urlProtocol(
        _ protocol: FoundationNetworking.URLProtocol,
        cachedResponseIsValid cachedResponse: CachedURLResponse
    ) {
        report(.cachedResponseIsValid(cachedResponse))
    }

    func urlProtocol(
        _ protocol: FoundationNetworking.URLProtocol,
        didReceive response: URLResponse,
        cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        report(.response(response, policy))
    }

    func urlProtocol(_ protocol: FoundationNetworking.URLProtocol, didLoad data: Data) {
        report(.data(data))
    }

    func urlProtocolDidFinishLoading(_ protocol: FoundationNetworking.URLProtocol) {
        report(.finished)
    }

    func urlProtocol(_ protocol: FoundationNetworking.URLProtocol, didFailWithError error: any Error) {
        report(.failed(URLError(reported: error)))
    }

    func urlProtocol(_ protocol: FoundationNetworking.URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        report(.challenge(challenge))
    }

    func urlProtocol(_ protocol: FoundationNetworking.URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        withdraw(challenge)
    }
}
