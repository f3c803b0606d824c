import Foundation
import Locks

/// A cache that keeps up with a session: what the default and ephemeral configurations use.
///
/// It does what `URLCache` does, and can be used wherever one is asked for. Other than the stock module's, it finds a response without going
/// through its directory, tells URLs apart by their queries and schemes, and drops what was used longest ago. Several processes may use one
/// directory, and any of them may be killed at any moment. An addition of this module. See <doc:Caching>.
///
/// Safe to use from any thread. Its methods may read and write files on the caller's thread; sessions use it without that.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlcache>
public final class CurlURLCache: URLCache, @unchecked Sendable {
    // @unchecked is true because there is nothing but `responses`, which guards itself, and the superclass's parts, which nobody uses.
    let responses: ResponseCache

    /// A cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: How much may be kept in memory, in bytes.
    ///   - diskCapacity: How much room files may take, in bytes, in whole blocks of 4,096; 0 for none.
    ///   - path: The directory that files go into, in a directory of the cache's own that only this user can look into; nil for one in the
    ///     user's directory of caches (`$XDG_CACHE_HOME`), named after the program.
    public override init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
        responses = ResponseCache(
            memoryCapacity: memoryCapacity,
            diskCapacity: diskCapacity,
            directoryPath: (path.map { URL(fileURLWithPath: $0).path } ?? CurlURLCache.defaultPath).map {
                $0 + CurlURLCache.folder
            }
        )
        super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: CurlURLCache.nowhere)
    }

    /// One in memory alone.
    init(memoryCapacity: Int) {
        responses = ResponseCache(memoryCapacity: memoryCapacity, diskCapacity: 0, directoryPath: nil)
        super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: CurlURLCache.nowhere)
    }

    /// With the version of the files' format.
    private static let folder = "/responses-1"
    /// A path that can be no directory: the superclass makes one otherwise.
    private static let nowhere = "/dev/null/none"

    /// nil where the user has no directory for caches.
    private static var defaultPath: String? {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        let program = (Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName)
            .replacingOccurrences(of: "/", with: "_")
        return caches?.appendingPathComponent("CurlNetworking").appendingPathComponent(program).path
    }

    // MARK: - Responses

    /// The response that is stored for `request`, in memory or on disk; one that a session is about to write is found as well.
    public override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
        request.url.flatMap { responses.response(for: StoredResponse.key(of: $0)) }?.cachedResponse
    }

    /// Stores a response, in place of another for the same URL. It is written when the method returns.
    public override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
        guard cachedResponse.storagePolicy != .notAllowed, let url = request.url,
            let response = StoredResponse(cachedResponse, key: StoredResponse.key(of: url))
        else { return }
        responses.storeAndWait(response)
    }

    /// Forgets the response that is stored for `request`.
    public override func removeCachedResponse(for request: URLRequest) {
        guard let url = request.url else { return }
        responses.remove(url)
        responses.waitForWrites()
    }

    /// Forgets all responses.
    public override func removeAllCachedResponses() {
        responses.removeAll()
    }

    /// Forgets the responses that were stored later than `date`.
    public override func removeCachedResponses(since date: Date) {
        responses.removeAll(since: date)
    }

    // MARK: - Room

    /// How much may be kept in memory, in bytes. What no longer fits goes at once.
    public override var memoryCapacity: Int {
        get { responses.memoryCapacity }
        set { responses.memoryCapacity = newValue }
    }

    /// How much room files may take, in bytes. What no longer fits goes at once.
    public override var diskCapacity: Int {
        get { responses.diskCapacity }
        set { responses.diskCapacity = newValue }
    }

    /// How much is kept in memory, in bytes.
    public override var currentMemoryUsage: Int { responses.memoryUsage }

    /// How much room files take, in bytes, in whole blocks. Goes through the directory.
    public override var currentDiskUsage: Int { responses.diskUsage }
}

// MARK: - The shared cache

extension CurlURLCache {
    /// `URLCache.shared`, which becomes one of these when a session first asks for it, unless the program has set one itself.
    static var ofSessions: URLCache {
        let shared = URLCache.shared
        guard isUntouched(shared) else { return shared }
        replacement.withLock { replacement in
            // Another thread may have come before, or the program.
            guard isUntouched(URLCache.shared) else { return }
            let cache = replacement ?? CurlURLCache(memoryCapacity: 4 << 20, diskCapacity: 20 << 20, diskPath: nil)
            replacement = cache
            URLCache.shared = cache
        }
        return URLCache.shared
    }

    private static let replacement = Mutex<CurlURLCache?>(nil)

    /// Whether the stock module has made it, and nobody has changed it: the stock module tells nobody, but gives it capacities of its own
    /// and a directory that no other has, unless a program asks for the very same.
    static func isUntouched(_ cache: URLCache) -> Bool {
        guard type(of: cache) == URLCache.self, cache.memoryCapacity == 4 << 20, cache.diskCapacity == 20 << 20,
            let directory = Mirror(reflecting: cache).descendant("cacheDirectory")
        else { return false }
        return (directory as? URL)?.deletingLastPathComponent().lastPathComponent == "org.swift.foundation.URLCache"
    }
}
