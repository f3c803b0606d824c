import Foundation
import CurlNetworkingLocks

/// A fast `URLCache`, used by the default and ephemeral configurations.
///
/// It can be used wherever a `URLCache` is expected. Unlike the stock module's, it finds a response without listing its directory,
/// distinguishes URLs by query and scheme, and evicts the least recently used responses. Several processes may share a directory, and any
/// of them may be killed at any time. An addition of this module. See <doc:Caching>.
///
/// Safe to use from any thread. Its methods may read and write files on the caller's thread; sessions use it asynchronously.
///
/// Source: <https://developer.apple.com/documentation/foundation/urlcache>
public final class CurlURLCache: URLCache, @unchecked Sendable {
    // @unchecked: `responses` synchronises itself, and the superclass's state isn't used.
    let responses: ResponseCache

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: The memory capacity, in bytes.
    ///   - diskCapacity: The disk capacity, in bytes, counted in whole blocks of 4,096; 0 for no files.
    ///   - path: The directory in which the cache creates its own, accessible only to the current user; nil for one in the user's cache
    ///     directory (`$XDG_CACHE_HOME`), named after the program.
    public override init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
        let directory = path.map { URL(fileURLWithPath: $0).path } ?? CurlURLCache.defaultPath
        responses = ResponseCache(
            memoryCapacity: memoryCapacity,
            diskCapacity: diskCapacity,
            directoryPath: directory + CurlURLCache.folder
        )
        super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: CurlURLCache.nowhere)
    }

    /// Creates a cache in memory only.
    init(memoryCapacity: Int) {
        responses = ResponseCache(memoryCapacity: memoryCapacity, diskCapacity: 0, directoryPath: nil)
        super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: CurlURLCache.nowhere)
    }

    /// Ends with a version number, which changes with the file format and with what a file may contain.
    private static let folder = "/responses-2"
    /// A path that can't be a directory, because its name is too long; otherwise the superclass would create it and its parents.
    private static let nowhere = "/" + String(repeating: "n", count: Int(NAME_MAX) + 1)

    private static var defaultPath: String {
        let program = UserFolder.programName.replacingOccurrences(of: "/", with: "_", options: .literal)
        return UserFolder.cache.url().appendingPathComponent("CurlNetworking").appendingPathComponent(program).path
    }

    // MARK: - Responses

    /// Returns the response stored for `request`, in memory or on disk, including one that a session is about to write.
    public override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
        request.url.flatMap { responses.response(for: StoredResponse.key(of: $0)) }?.cachedResponse
    }

    /// Stores a response, replacing any other for the same URL. It has been written when the method returns.
    public override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
        guard cachedResponse.storagePolicy != .notAllowed, let url = request.url,
            var response = StoredResponse(cachedResponse, key: StoredResponse.key(of: url))
        else { return }
        response.data = response.data.copied
        responses.storeAndWait(response)
    }

    /// Removes the response stored for `request`.
    public override func removeCachedResponse(for request: URLRequest) {
        guard let url = request.url else { return }
        responses.remove(url)
        responses.waitForWrites()
    }

    /// Removes all responses.
    public override func removeAllCachedResponses() {
        responses.removeAll()
    }

    /// Removes the responses that were stored after `date`.
    public override func removeCachedResponses(since date: Date) {
        responses.removeAll(since: date)
    }

    // MARK: - Room

    /// The memory capacity, in bytes. Responses that no longer fit are removed at once.
    public override var memoryCapacity: Int {
        get { responses.memoryCapacity }
        set { responses.memoryCapacity = newValue }
    }

    /// The disk capacity, in bytes. Responses that no longer fit are removed at once.
    public override var diskCapacity: Int {
        get { responses.diskCapacity }
        set { responses.diskCapacity = newValue }
    }

    /// The memory in use, in bytes.
    public override var currentMemoryUsage: Int { responses.memoryUsage }

    /// The disk space in use, in bytes, counted in whole blocks. Reading it lists the directory.
    public override var currentDiskUsage: Int { responses.diskUsage }
}

// MARK: - The shared cache

extension CurlURLCache {
    /// `URLCache.shared`, which is replaced by a `CurlURLCache` when a session first asks for it, unless the program has set or changed it.
    static var ofSessions: URLCache {
        let shared = URLCache.shared
        guard isUntouched(shared) else { return shared }
        replacement.withLock { replacement in
            // Another thread, or the program, may have replaced it meanwhile.
            guard isUntouched(URLCache.shared) else { return }
            let cache = replacement ?? CurlURLCache(memoryCapacity: 4 << 20, diskCapacity: 20 << 20, diskPath: nil)
            replacement = cache
            URLCache.shared = cache
        }
        return URLCache.shared
    }

    private static let replacement = Mutex<CurlURLCache?>(nil)

    /// Whether `cache` is the stock module's shared cache, unchanged. The stock module doesn't say, so the cache is recognised by its
    /// capacities and directory.
    static func isUntouched(_ cache: URLCache) -> Bool {
        guard type(of: cache) == URLCache.self, cache.memoryCapacity == 4 << 20, cache.diskCapacity == 20 << 20,
            let directory = Mirror(reflecting: cache).descendant("cacheDirectory")
        else { return false }
        return (directory as? URL)?.deletingLastPathComponent().lastPathComponent == "org.swift.foundation.URLCache"
    }
}
