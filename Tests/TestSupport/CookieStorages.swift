import CurlNetworking
import Foundation
import CurlNetworkingLocks
import CurlNetworkingLoopbackServer

/// A cookie that makes changes to its storage wait, as a slow disk does: the storage asks it for its expiry, with its lock held, before
/// each write of its file.
package final class HoldingCookie: HTTPCookie, @unchecked Sendable {
    // @unchecked is true because `gate` is guarded by a lock, and the rest is the stock class's.
    private let gate = Mutex<(onAsked: @Sendable () -> Void, until: Gate)?>(nil)

    /// From now on, changes to the storage call `onAsked` and then wait for `gate`.
    package func hold(until gate: Gate, onAsked: @escaping @Sendable () -> Void = {}) {
        self.gate.withLock { $0 = (onAsked, gate) }
    }

    package override var expiresDate: Date? {
        if let (onAsked, gate) = gate.withLock({ $0 }) {
            onAsked()
            gate.waitBlocking()
        }
        return super.expiresDate
    }

    /// Puts a new one into `storage`, for a host that is never asked.
    package static func put(into storage: HTTPCookieStorage) -> HoldingCookie? {
        let properties: [HTTPCookiePropertyKey: Any] = [
            .name: "holding", .value: "1", .domain: "holding.invalid", .path: "/",
        ]
        let cookie = HoldingCookie(properties: properties)
        if let cookie { storage.setCookie(cookie) }
        return cookie
    }
}

/// A cookie storage with a file, for one test.
package struct FileCookieStorage {
    package let storage: HTTPCookieStorage
    private let name: String

    package init() {
        self.init(named: Self.newName)
    }

    private init(named name: String) {
        self.name = name
        storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: name)
    }

    private static var newName: String { "test-" + UUID().uuidString }

    /// A storage with a copy of the file, as the program would find it when it is started again.
    package func restarted() throws -> FileCookieStorage {
        guard let file else { throw CocoaError(.fileNoSuchFile) }
        let name = Self.newName
        let copy = file.deletingLastPathComponent().appendingPathComponent(".cookies." + name)
        try FileManager.default.copyItem(at: file, to: copy)
        return FileCookieStorage(named: name)
    }

    /// Where the stock module may keep the file.
    private var places: [URL] {
        let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
        let program = Bundle.main.bundleURL.deletingPathExtension().lastPathComponent
        return folders.map { $0.appendingPathComponent("\(program)/.cookies.\(name)") }
    }

    /// The file, once it is there.
    package var file: URL? { places.first { FileManager.default.fileExists(atPath: $0.path) } }

    /// Removes the file.
    package func remove() {
        for place in places { try? FileManager.default.removeItem(at: place) }
    }
}

extension HTTPCookieStorage {
    /// The values of its cookies by name, except for one that holds it up.
    package var values: [String: String] {
        var values: [String: String] = [:]
        for cookie in cookies ?? [] where !(cookie is HoldingCookie) { values[cookie.name] = cookie.value }
        return values
    }
}
