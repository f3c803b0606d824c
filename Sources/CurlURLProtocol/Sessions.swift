import CurlNetworking
import Foundation
import FoundationNetworking
import CurlNetworkingLocks

/// Our sessions for stock sessions: one for each, with its storages, so that connections are shared as there.
///
/// One that isn't needed any more is dropped and not invalidated: it ends with its tasks, and a load that has just got it can still make one.
final class Sessions: Sendable {
    static let shared = Sessions()

    private struct Entry {
        weak var stock: FoundationNetworking.URLSession?
        let session: CurlNetworking.URLSession
    }

    private struct State {
        // Only copies are passed in and out.
        var configuration = CurlNetworking.URLSessionConfiguration.default
        var entries: [ObjectIdentifier: Entry] = [:]
    }

    private let state = Mutex(State())

    var configuration: CurlNetworking.URLSessionConfiguration {
        get { state.withLock { $0.configuration }.copied }
        set {
            let retired = state.withLock { state in
                defer { state.entries = [:] }
                state.configuration = newValue.copied
                return state.entries
            }
            // Released without the lock.
            withExtendedLifetime(retired) {}
        }
    }

    /// Our session for `stock`.
    func session(below stock: FoundationNetworking.URLSession) -> CurlNetworking.URLSession {
        let (session, retired) = state.withLock { state -> (CurlNetworking.URLSession, [ObjectIdentifier: Entry]) in
            if let entry = state.entries[ObjectIdentifier(stock)], entry.stock === stock { return (entry.session, [:]) }
            let retired = state.entries.filter { $0.value.stock == nil }
            for key in retired.keys { state.entries[key] = nil }
            let session = CurlNetworking.URLSession(configuration: state.configuration.adopting(stock.configuration))
            state.entries[ObjectIdentifier(stock)] = Entry(stock: stock, session: session)
            return (session, retired)
        }
        withExtendedLifetime(retired) {}
        return session
    }
}

extension CurlNetworking.URLSessionConfiguration {
    fileprivate var copied: CurlNetworking.URLSessionConfiguration {
        copy() as? CurlNetworking.URLSessionConfiguration ?? .default
    }

    /// A copy with the settings of `stock` for requests and responses, but not for the transport.
    fileprivate func adopting(
        _ stock: FoundationNetworking.URLSessionConfiguration
    ) -> CurlNetworking.URLSessionConfiguration {
        let copy = copied
        copy.requestCachePolicy = stock.requestCachePolicy
        copy.timeoutIntervalForRequest = stock.timeoutIntervalForRequest
        copy.timeoutIntervalForResource = stock.timeoutIntervalForResource
        copy.httpAdditionalHeaders = (copy.httpAdditionalHeaders ?? [:]).merging(stock.httpAdditionalHeaders ?? [:]) {
            $1
        }
        copy.httpShouldSetCookies = stock.httpShouldSetCookies
        copy.httpCookieAcceptPolicy = stock.httpCookieAcceptPolicy
        copy.httpCookieStorage = stock.httpCookieStorage
        copy.urlCredentialStorage = stock.urlCredentialStorage
        copy.urlCache = stock.urlCache
        if let proxies = stock.connectionProxyDictionary { copy.connectionProxyDictionary = proxies }
        copy.protocolClasses = []
        copy.dividesParts = false
        return copy
    }
}
