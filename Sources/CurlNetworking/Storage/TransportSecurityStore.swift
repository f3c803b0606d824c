import CurlTransport
import Foundation
import Glibc
import CurlNetworkingLocks
import struct Synchronization.Atomic

/// The hosts that a session knows to require https, and their file, if there is one.
///
/// The file is read when the session is created, and written on a separate queue, several changes at a time. All sessions of a process that
/// name the same file share one store. What other programs write meanwhile is kept, and counts once the file is next written.
///
/// libcurl's own list isn't used: with an easy handle for each request it would read the whole file at the start of each request and write
/// it at the end, on the loop (measured with 7.88.1 and 1,000 hosts: 16 ms of CPU for each request, also with a shared list). It would also
/// change the URL after cookies, cache, trust and connections have been chosen for the old one.
final class TransportSecurityStore: Sendable {
    private struct State {
        var hosts: TransportSecurityHosts
        var news = TransportSecurityNews()
        var isWriteComing = false
        var hasRemovedAbandoned = false
    }

    private let file: URL?
    /// Why the file couldn't be read; nil if it could.
    private let problem: FileFault?
    private let state: Mutex<State>
    /// Whether `state` has hosts. Written with the lock, read without it.
    private let hasHosts: Atomic<Bool>

    private static let queue = DispatchQueue(label: "CurlNetworking.hsts", qos: .utility)
    /// By the file's path.
    private static let stores = WeakTable<ExactText, TransportSecurityStore>()
    /// In bytes. Our own files are far smaller.
    private static let largestFile = 8 << 20

    /// nil if the option is off.
    static func store(for option: CurlOptions.StrictTransportSecurity) -> TransportSecurityStore? {
        switch option {
        case .off: return nil
        case .inMemory: return TransportSecurityStore(file: nil)
        case .file(let url):
            let path = ExactText(url.standardizedFileURL.path)
            if let store = stores[path] { return store }
            // Reads the file without the lock. Of two threads that do, the first one's store is used.
            let new = TransportSecurityStore(file: url)
            return stores.object(for: path) { new }
        }
    }

    private init(file: URL?) {
        self.file = file
        var (hosts, problem): (TransportSecurityHosts, FileFault?) = (TransportSecurityHosts(), nil)
        if let file {
            do throws(FileFault) { hosts = try Self.read(file) } catch { problem = error }
        }
        self.problem = problem
        // Loops need the list to make room for hosts, and mustn't wait for it.
        Self.queue.async { _ = PublicSuffixList.system }
        state = Mutex(State(hosts: hosts))
        hasHosts = Atomic(!hosts.entries.isEmpty)
    }

    // MARK: - Reading and noting (any thread; neither waits for a file)

    /// Whether `secured` changes no URL: no host is known, and the file could be read. Takes no lock.
    var changesNothing: Bool { problem == nil && !hasHosts.load(ordering: .acquiring) }

    /// `url` with https, if its host requires that; nil if it needn't be changed. Throws if the file can't be read: then no request is sent
    /// over http.
    func secured(_ url: URL) throws(URLError) -> URL? {
        guard !changesNothing, let origin = Origin(url), origin.scheme == .http else { return nil }
        if let problem, let file {
            let description = "The file of hosts that want https, \(file.path), \(problem.problem)."
            throw URLError(.cannotOpenFile, url: url, description, cause: problem.systemError)
        }
        guard state.withLock({ $0.hosts.contains(origin.host, now: Date()) }) else { return nil }
        guard let secured = TransportSecurityHosts.secured(url) else {
            throw URLError(.badURL, url: url, "The host wants https, and the URL can't be changed to that.")
        }
        return secured
    }

    /// Notes the field of a response over a verified connection.
    func note(_ field: TransportSecurityField, from host: String) {
        let writes = state.withLock { state in
            guard let name = state.hosts.note(field, from: host, now: Date()) else { return false }
            hasHosts.store(!state.hosts.entries.isEmpty, ordering: .releasing)
            guard file != nil, state.hosts.isWhole else { return false }
            state.news.note(state.hosts.entries[name], for: name, known: state.hosts)
            guard !state.isWriteComing else { return false }
            state.isWriteComing = true
            return true
        }
        if writes { Self.queue.async { self.write() } }
    }

    // MARK: - The file

    /// Calls `completion` on the store's queue, once everything noted so far has been written, or couldn't be. Any thread.
    func finishWrites(_ completion: @escaping @Sendable () -> Void) {
        Self.queue.async(execute: completion)
    }

    /// Changes that can't be written are kept until the next change.
    private func write() {
        guard let file else { return }
        let (isWanted, isFirst) = state.withLock { state in
            state.isWriteComing = false
            defer { state.hasRemovedAbandoned = true }
            return (!state.news.isEmpty, !state.hasRemovedAbandoned)
        }
        guard isWanted else { return }
        if isFirst { AtomicFile.removeAbandoned(besides: file.path) }
        var news = TransportSecurityNews()
        var written = TransportSecurityHosts()
        do throws(SystemError) {
            // Private, since it shows which hosts were visited. Composed only once there is a temporary file, so that it costs next to
            // nothing if there can't be one.
            try AtomicFile.write(file.path, writers: .many, sync: .beforeRename) { descriptor throws(SystemError) in
                // Other programs may have written meanwhile. What can't be read, or not whole, isn't replaced, whatever the error.
                guard var hosts = try? Self.read(file), hosts.isWhole else { throw SystemError(code: EFBIG) }
                let known: TransportSecurityHosts
                (news, known) = state.withLock { ($0.news.take(), $0.hosts) }
                hosts.adoptDates(from: known)
                let now = Date()
                news.apply(to: &hosts, now: now)
                written = hosts
                let text = Array(hosts.text(now: now).utf8)
                try text.withUnsafeBytes { DescriptorBytes.write($0, to: descriptor) }.get()
            }
            adopt(written)
        } catch {
            state.withLock { $0.news.putBack(news, known: $0.hosts) }
        }
    }

    /// Continues with what the file has now, and with what has been noted since that was composed.
    private func adopt(_ written: TransportSecurityHosts) {
        state.withLock { state in
            state.hosts = written
            state.news.apply(to: &state.hosts, now: Date())
            hasHosts.store(!state.hosts.entries.isEmpty, ordering: .releasing)
        }
    }

    /// Empty if there is no file yet.
    private static func read(_ file: URL) throws(FileFault) -> TransportSecurityHosts {
        let descriptor: Int32
        do throws(FileFault) {
            descriptor = try ReadableFile.open(file.path).descriptor
        } catch {
            if error.systemError?.code == ENOENT { return TransportSecurityHosts() }
            throw error
        }
        defer { close(descriptor) }
        let content: Data
        do throws(SystemError) {
            content = try DescriptorBytes.read(descriptor, count: largestFile + 1)
        } catch {
            throw .unreadable(error)
        }
        var hosts = content.prefix(largestFile).withUnsafeBytes { TransportSecurityHosts($0, now: Date()) }
        if content.count > largestFile { hosts.isWhole = false }
        return hosts
    }
}
