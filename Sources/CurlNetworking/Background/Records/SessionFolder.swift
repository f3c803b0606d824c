import CurlTransport
import Foundation
import Glibc

/// The files of one session: its record, those of its tasks, and what they receive. Used by the agent, on its queue.
///
/// A record is written to a temporary file, synced, and renamed: it is there as it was or as it is to be, whatever happens in between. What is
/// read may have been written by anybody who could, so it is checked, and set aside where it is wrong.
struct SessionFolder {
    static let recordName = "session"
    private static let filesName = "files"
    private static let asideName = "set-aside"
    /// In bytes. A record holds a request's body.
    private static let maximumLength = FrameReader.maximumLength

    let url: URL
    let log: AgentLog
    /// For partial and complete downloads.
    let files: URL
    private let path: String

    init(url: URL, log: AgentLog) {
        self.url = url
        self.log = log
        files = url.appendingPathComponent(Self.filesName, isDirectory: true)
        path = url.path
    }

    private func path(_ name: String) -> String { "\(path)/\(name)" }

    func path(ofFile name: String) -> String { "\(path)/\(Self.filesName)/\(name)" }

    /// Whether `name` is a file's in `files`, and nothing elsewhere.
    static func isFileName(_ name: String) -> Bool {
        TemporaryName.kept.matches(name)
    }

    func prepare() throws(URLError) {
        try StateFolder.makePrivate(url)
        try StateFolder.makePrivate(files)
    }

    // MARK: - Writing

    func write(_ record: TaskRecord) throws(URLError) {
        try write(record, named: record.name.text)
    }

    func write(_ record: SessionRecord) throws(URLError) {
        try write(record, named: Self.recordName)
    }

    func remove(_ name: RecordName) {
        unlink(path(name.text))
    }

    /// Removes the folder and everything in it; what was set aside stays.
    func remove() {
        try? FileManager.default.removeItem(at: files)
        unlink(path(Self.recordName))
        rmdir(url.path)
    }

    private func write(_ record: some Encodable, named name: String) throws(URLError) {
        guard let data = try? WireCoding.encoder.encode(record), data.count <= Self.maximumLength else {
            throw URLError(.dataLengthExceedsMaximum, nil, "The task is too large to be written down.")
        }
        let new = path(name + ".new")
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        do throws(SystemError) {
            defer { close(descriptor) }
            try data.withUnsafeBytes { DescriptorBytes.write($0, to: descriptor) }.get()
            guard fdatasync(descriptor) == 0, rename(new, path(name)) == 0 else { throw .current }
        } catch {
            unlink(new)
            throw failure(error)
        }
    }

    private func failure(_ error: SystemError = .current) -> URLError {
        URLError(.cannotWriteToFile, url, "A background task can't be written down: \(error).", error)
    }

    // MARK: - Reading

    /// The session's record; nil where there is none that makes sense.
    func readSession() -> SessionRecord? {
        guard let record = read(SessionRecord.self, named: Self.recordName) else { return nil }
        guard record.version == TaskRecord.currentVersion else {
            setAside(Self.recordName, "version \(record.version)")
            return nil
        }
        return record
    }

    /// The tasks' records, in the order of their numbers. What isn't one of ours is set aside.
    func readTasks() -> [TaskRecord] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        for name in names where name.hasSuffix(".new") { unlink(path(name)) }
        var records: [TaskRecord] = []
        for name in names.filter({ $0.hasSuffix(RecordName.suffix) }) {
            guard let record = read(TaskRecord.self, named: name) else { continue }
            let fault = record.fault ?? (record.name == RecordName(name) ? nil : "another task's name")
            if let fault {
                setAside(name, fault)
            } else {
                records.append(record)
            }
        }
        return records.sorted { $0.submission.identifier < $1.submission.identifier }
    }

    private func read<Record: Decodable>(_ type: Record.Type, named name: String) -> Record? {
        let descriptor = open(path(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno != ENOENT { setAside(name, "\(SystemError.current)") }
            return nil
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0, status.st_size <= Self.maximumLength
        else {
            setAside(name, "not a private file of this user")
            return nil
        }
        guard let data = try? file.read(upToCount: Self.maximumLength),
            let record = try? WireCoding.decoder.decode(type, from: data)
        else {
            setAside(name, "it can't be read")
            return nil
        }
        return record
    }

    /// Moves a file out of the way, where somebody may look at it.
    private func setAside(_ name: String, _ reason: String) {
        log.write("set aside \(url.lastPathComponent)/\(name): \(reason)")
        let aside = url.appendingPathComponent(Self.asideName, isDirectory: true)
        mkdir(aside.path, 0o700)
        if rename(path(name), aside.appendingPathComponent(name).path) != 0 { unlink(path(name)) }
    }

    // MARK: - Files

    /// Removes what no task knows: the remains of agents that were killed.
    func removeFiles(except known: Set<String>) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: files.path)) ?? [] where !known.contains(name)
        {
            unlink(path(ofFile: name))
        }
    }

    func removeFile(_ name: String) {
        guard Self.isFileName(name) else { return }
        unlink(path(ofFile: name))
    }
}
