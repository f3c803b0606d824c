import Curl
import Foundation
import Glibc
import Locks

/// The hosts that a session knows to want https alone, and their file where there is one.
///
/// The file is read when the session is created, and written on a queue of its own, many news at once. All sessions of a process that name the
/// same file share what is known; what other programs have written meanwhile is kept.
///
/// libcurl's own list isn't used: with an easy handle for each request it reads the whole file when each request begins and writes it when
/// each ends, on the loop (measured with 7.88.1 and 1,000 hosts: 16 ms of CPU for each request, also with a shared list); and it would
/// change the URL below all that goes by it here: cookies, cache, trust, and which connections are shared.
final class TransportSecurityStore: Sendable {
    private struct State {
        var hosts: TransportSecurityHosts
        /// What isn't written yet.
        var news: [String: TransportSecurityHosts.Entry?] = [:]
        var isWriteComing = false
    }

    private let file: URL?
    /// Why the file can't be read, if it can't.
    private let problem: SystemError?
    private let state: Mutex<State>

    private static let queue = DispatchQueue(label: "CurlNetworking.hsts", qos: .utility)
    private static let stores = Mutex<[String: WeakStore]>([:])
    /// In bytes. No file of ours comes near this size.
    private static let largestFile = 8 << 20

    private struct WeakStore {
        weak var store: TransportSecurityStore?
    }

    /// nil where the option is off.
    static func store(for option: CurlOptions.StrictTransportSecurity) -> TransportSecurityStore? {
        switch option {
        case .off: return nil
        case .inMemory: return TransportSecurityStore(file: nil)
        case .file(let url):
            let path = url.standardizedFileURL.path
            if let store = stores.withLock({ $0[path]?.store }) { return store }
            // Reads the file, without the lock; the first of two threads has the say.
            let new = TransportSecurityStore(file: url)
            return stores.withLock { stores in
                if let store = stores[path]?.store { return store }
                stores = stores.filter { $0.value.store != nil }
                stores[path] = WeakStore(store: new)
                return new
            }
        }
    }

    private init(file: URL?) {
        self.file = file
        var (hosts, problem): (TransportSecurityHosts, SystemError?) = (TransportSecurityHosts(), nil)
        if let file {
            do throws(SystemError) { hosts = try Self.read(file) } catch { problem = error }
        }
        self.problem = problem
        state = Mutex(State(hosts: hosts))
    }

    // MARK: - Asking and learning (any thread; neither blocks for a file)

    /// What `url` becomes where its host wants https; nil where it stays. Fails where nobody can tell: with a file that can't be read, no
    /// request goes out over http.
    func secured(_ url: URL) throws(URLError) -> URL? {
        guard let origin = Origin(url), origin.scheme == "http" else { return nil }
        if let problem, let file {
            let description = "The file of hosts that want https can't be read (\(file.path)): \(problem)."
            throw URLError(.cannotOpenFile, url, description, problem)
        }
        guard state.withLock({ $0.hosts.contains(origin.host, now: Date()) }) else { return nil }
        guard let secured = TransportSecurityHosts.secured(url) else {
            throw URLError(.badURL, url, "The host wants https, and the URL can't be changed to that.")
        }
        return secured
    }

    /// Learns what a response over a verified connection says.
    func note(_ field: TransportSecurityField, from host: String) {
        let writes = state.withLock { state in
            guard let name = state.hosts.note(field, from: host, now: Date()), file != nil else { return false }
            state.news.updateValue(state.hosts.entries[name], forKey: name)
            guard !state.isWriteComing else { return false }
            state.isWriteComing = true
            return true
        }
        if writes { Self.queue.async { self.write() } }
    }

    // MARK: - The file

    /// Calls `completion` on the store's queue, once what was learnt so far is written, or could not be. Any thread.
    func finishWrites(_ completion: @escaping @Sendable () -> Void) {
        Self.queue.async(execute: completion)
    }

    /// What the file doesn't take stays, to be written with the next news.
    private func write() {
        guard let file else { return }
        let news = state.withLock { state in
            state.isWriteComing = false
            defer { state.news = [:] }
            return state.news
        }
        do throws(SystemError) {
            // Others may have written meanwhile.
            var hosts = try Self.read(file)
            let now = Date()
            for (name, entry) in news { hosts.set(entry, for: name, now: now) }
            try Self.replace(file, with: hosts.text(now: now))
        } catch {
            state.withLock { state in state.news.merge(news) { newer, _ in newer } }
        }
    }

    /// Nothing where there is no file yet.
    private static func read(_ file: URL) throws(SystemError) -> TransportSecurityHosts {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let error = SystemError.current
            if error.code == ENOENT { return TransportSecurityHosts() }
            throw error
        }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while content.count < largestFile {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0 {
                let error = SystemError.current
                if error.code == EINTR { continue }
                throw error
            }
            guard count > 0 else { break }
            content += buffer[..<count]
        }
        return TransportSecurityHosts(String(decoding: content, as: UTF8.self), now: Date())
    }

    /// For this user alone, since it tells where the user has been; whoever reads it sees the old or the new one.
    private static func replace(_ file: URL, with text: String) throws(SystemError) {
        let temporary = file.path + ".\(UUID().uuidString).tmp"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError.current }
        var bytes = Array(text.utf8)[...]
        var error: SystemError?
        while !bytes.isEmpty, error == nil {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { bytes = bytes.dropFirst(count) } else if errno != EINTR { error = .current }
        }
        if error == nil, fsync(descriptor) != 0 { error = .current }
        close(descriptor)
        if error == nil, rename(temporary, file.path) != 0 { error = .current }
        guard let error else { return }
        unlink(temporary)
        throw error
    }
}
