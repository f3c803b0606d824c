import CurlTransport
import Foundation
import Glibc

/// The folder with the state of a program's background sessions: accessible only to this user, with a folder for each session, the
/// agent's lock, its socket and its log.
struct StateFolder: Sendable, Hashable {
    static let socketName = "agent.socket"
    static let lockName = "agent.lock"
    static let logName = "agent.log"
    private static let sessionsName = "sessions"

    let url: URL

    init(_ url: URL) {
        self.url = URL(fileURLWithPath: url.path, isDirectory: true).standardizedFileURL
    }

    /// The folder of a session with `configuration`.
    init(of configuration: URLSessionConfiguration) {
        if let folder = configuration.curl.background.folder {
            self.init(folder)
        } else {
            self.init(named: configuration.sharedContainerIdentifier ?? UserFolder.programName)
        }
    }

    /// The folder within the user's state directory (XDG Base Directory Specification).
    init(named name: String) {
        let safe = name.isEmpty || name.hasPrefix(".") ? "_" + name : name
        let ours = UserFolder.state.url().appendingPathComponent("curlnetworking", isDirectory: true)
        // Literally: to Swift, a slash and an accent after it are one other character.
        let component = safe.replacingOccurrences(of: "/", with: "_", options: .literal)
        self.init(ours.appendingPathComponent(component, isDirectory: true))
    }

    var sessions: URL { url.appendingPathComponent(Self.sessionsName, isDirectory: true) }

    /// Whether an agent has ever worked there.
    var isInUse: Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: sessions.path, isDirectory: &isDirectory) && isDirectory.boolValue
    }

    /// The folder of one session, named by a digest, as identifiers may be anything.
    func session(_ identifier: String) -> URL {
        sessions.appendingPathComponent(String(SHA256.digest(of: identifier.utf8).prefix(32)), isDirectory: true)
    }

    /// Creates the folder if it doesn't exist, and ensures that only this user can access it.
    func prepare() throws(URLError) {
        try Self.makePrivate(url)
        try Self.makePrivate(sessions)
    }

    /// Takes the lock that an agent holds for as long as it lives, and returns its file's descriptor; nil if another process has the lock.
    func takeLock() throws(SystemError) -> Int32? {
        let path = url.appendingPathComponent(Self.lockName, isDirectory: false).path
        let descriptor = uninterrupted { open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600) }
        guard descriptor >= 0 else { throw .current }
        if LockedFile.lock(descriptor) { return descriptor }
        let error = SystemError.current
        close(descriptor)
        if error.code == EWOULDBLOCK { return nil }
        throw error
    }

    /// Creates a folder, and its parents, that only this user can access. An existing one is made so if this user owns it.
    static func makePrivate(_ folder: URL) throws(URLError) {
        do throws(SystemError) {
            return try FileManager.default.createPrivateFolder(folder)
        } catch {
            guard error.code == EEXIST else {
                throw failure(.cannotCreateFile, folder, "can't be made: \(error)", error)
            }
        }
        let isOwn: Bool
        do throws(SystemError) {
            isOwn = try FileManager.default.makeFolderPrivate(atPath: folder.path)
        } catch {
            throw failure(.cannotOpenFile, folder, "can't be opened: \(error)", error)
        }
        if !isOwn { throw failure(.noPermissionsToReadFile, folder, "is another user's") }
    }

    private static func failure(
        _ code: URLError.Code,
        _ folder: URL,
        _ text: String,
        _ cause: SystemError? = nil
    ) -> URLError {
        URLError(code, url: folder, "The folder for background transfers \(text).", cause: cause)
    }

    /// The highest identifier of the tasks that a session has recorded, taken from the files' names; nil if there are none. Any thread;
    /// reads the folder.
    ///
    /// Throws if the folder can't be read, and so may contain some.
    func lastTaskIdentifier(of session: String) throws(SystemError) -> Int? {
        var last: Int?
        do throws(SystemError) {
            let names = try DirectoryNames(self.session(session).path)
            while let name = try names.next() {
                guard let record = RecordName(name) ?? RecordName(batch: name) else { continue }
                last = max(last ?? 0, record.identifier)
            }
        } catch {
            guard error.code == ENOENT || error.code == ENOTDIR else { throw error }
        }
        return last
    }
}

/// The name of a task's record, or of a batch of records, which has the highest identifier among its tasks.
struct RecordName: Hashable {
    static let suffix = ".task"
    static let batchSuffix = ".tasks"
    /// The identifiers that a task may have. No session reaches the last one by counting.
    static let identifiers = 1...(1 << 32)

    var identifier: Int
    var key: UUID

    init(identifier: Int, key: UUID) {
        self.identifier = identifier
        self.key = key
    }

    /// nil for the names of other files.
    init?(_ name: String) {
        self.init(name, suffix: Self.suffix)
    }

    /// The same for a batch's file.
    init?(batch name: String) {
        self.init(name, suffix: Self.batchSuffix)
    }

    private init?(_ name: String, suffix: String) {
        guard name.hasSuffix(suffix) else { return nil }
        let parts = name.dropLast(suffix.count).split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let identifier = Int(parts[0]), Self.identifiers.contains(identifier),
            let key = UUID(uuidString: String(parts[1]))
        else { return nil }
        self.init(identifier: identifier, key: key)
        // There is only one way to write it.
        guard stem + suffix == name else { return nil }
    }

    private var stem: String { "\(identifier)-\(key.uuidString)" }
    var text: String { stem + Self.suffix }
    var batchText: String { stem + Self.batchSuffix }
}
