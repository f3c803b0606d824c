import CurlNetworking
import Foundation
import FoundationNetworking
import CurlNetworkingLocks

/// Our sessions for stock sessions: one for each, with its storages, so that connections are shared as they are there.
///
/// A session that is no longer needed is dropped, not invalidated: it ends with its tasks, and a load that has just obtained it can still
/// make one.
final class Sessions: Sendable {
    static let shared = Sessions()

    private struct Entry {
        weak var stock: FoundationNetworking.URLSession?
        let session: CurlNetworking.URLSession
    }

    private struct State {
        // Only copies are passed in and out, so the one stored here never changes.
        var configuration = CurlNetworking.URLSessionConfiguration.default
        var entries: [ObjectIdentifier: Entry] = [:]

        func session(below stock: FoundationNetworking.URLSession) -> CurlNetworking.URLSession? {
            guard let entry = entries[ObjectIdentifier(stock)], entry.stock === stock else { return nil }
            return entry.session
        }
    }

    private let state = Mutex(State())

    var configuration: CurlNetworking.URLSessionConfiguration {
        get { state.withLock { $0.configuration }.copied }
        set {
            let copy = newValue.copied
            let retired = state.withLock { state in
                defer { (state.configuration, state.entries) = (copy, [:]) }
                return (state.configuration, state.entries)
            }
            // Released without the lock.
            withExtendedLifetime(retired) {}
        }
    }

    /// Our session for `stock`.
    func session(below stock: FoundationNetworking.URLSession) -> CurlNetworking.URLSession {
        while true {
            let (known, configuration) = state.withLock { ($0.session(below: stock), $0.configuration) }
            if let known { return known }
            // Without the lock, because it calls the program's code and reads files. A session made too late is dropped.
            let new = CurlNetworking.URLSession(configuration: configuration.adopting(stock.configuration))
            if let session = keep(new, for: stock, madeWith: configuration) { return session }
        }
    }

    /// Returns the session for `stock`: `new`, or one that another thread has made meanwhile. nil if the configuration has changed.
    private func keep(
        _ new: CurlNetworking.URLSession,
        for stock: FoundationNetworking.URLSession,
        madeWith configuration: CurlNetworking.URLSessionConfiguration
    ) -> CurlNetworking.URLSession? {
        let (session, seen, retired) = state.withLock {
            state -> (CurlNetworking.URLSession?, [FoundationNetworking.URLSession], [Entry]) in
            guard state.configuration === configuration else { return (nil, [], []) }
            if let session = state.session(below: stock) { return (session, [], []) }
            var (seen, retired): ([FoundationNetworking.URLSession], [Entry]) = ([], [])
            for (key, entry) in state.entries {
                if let stock = entry.stock {
                    seen.append(stock)
                } else {
                    retired.append(entry)
                    state.entries[key] = nil
                }
            }
            state.entries[ObjectIdentifier(stock)] = Entry(stock: stock, session: new)
            return (new, seen, retired)
        }
        // Released without the lock: this may be the last reference to a stock session.
        withExtendedLifetime((seen, retired)) {}
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
