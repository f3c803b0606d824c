import CurlTransport
import Foundation
import Glibc

/// The files of one session: its record, its tasks' records, and what the tasks receive. Used by the agent, on its queue.
///
/// A record is synced before it replaces another, so a crash leaves either the old or the new one, complete. Records of new tasks are
/// renamed first, so that the sync also covers their names (`AtomicFile`). Anything read may have been written by another program, so it is
/// checked, and set aside if it is invalid. What can't be read at the moment stays in place.
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

    /// Whether `name` can only be a file in `files`.
    static func isFileName(_ name: String) -> Bool {
        TemporaryName.kept.matches(name)
    }

    func prepare() throws(URLError) {
        try StateFolder.makePrivate(url)
        try StateFolder.makePrivate(files)
    }

    // MARK: - Writing

    /// Replaces an older record.
    func write(_ record: TaskRecord) throws(URLError) {
        try write(encoded(record), named: record.name.text)
    }

    func write(_ record: SessionRecord) throws(URLError) {
        try write(encoded(record), named: Self.recordName)
    }

    /// The first record of a task, in its own file.
    func add(_ record: TaskRecord) throws(URLError) {
        try write(encoded(record), named: record.name.text, isNew: true)
    }

    /// The records of new tasks, all or none, with a single sync. Returns nil for a single record, which gets its own file.
    func add(_ records: [TaskRecord]) throws(URLError) -> RecordBatch? {
        guard records.count > 1, let name = records.map(\.name).max(by: { $0.identifier < $1.identifier }) else {
            for record in records { try add(record) }
            return nil
        }
        let batch = RecordBatch(path: path(name.batchText))
        var content = Data()
        for record in records {
            let line = try encoded(record)
            batch.note(record.submission.key, at: content.count..<content.count + line.count)
            content.append(line)
            content.append(RecordBatch.separator)
        }
        try write(content, named: name.batchText, isNew: true)
        return batch
    }

    /// Removes a task's record, or makes it void. If this throws, another agent will find it.
    func remove(_ name: RecordName) throws(SystemError) {
        try RecordFile.remove(path(name.text))
    }

    /// Removes the folder and everything in it, except what was set aside. Does nothing while a task has a record, which may need the rest.
    func remove() {
        guard let names = try? names,
            !names.contains(where: { $0.hasSuffix(RecordName.suffix) || $0.hasSuffix(RecordName.batchSuffix) })
        else { return }
        try? FileManager.default.removeItem(at: files)
        unlink(path(Self.recordName))
        rmdir(url.path)
    }

    private func encoded(_ record: some Encodable) throws(URLError) -> Data {
        guard let data = try? WireCoding.encoder.encode(record) else { throw tooLarge }
        return data
    }

    private var tooLarge: URLError {
        URLError(.dataLengthExceedsMaximum, url: nil, "The task is too large to be written down.")
    }

    private func write(_ data: Data, named name: String, isNew: Bool = false) throws(URLError) {
        guard data.count <= Self.maximumLength else { throw tooLarge }
        let sync: AtomicFile.Sync = isNew ? .afterRename : .beforeRename
        do throws(SystemError) {
            try AtomicFile.write(path(name), writers: .one, sync: sync) { descriptor throws(SystemError) in
                try data.withUnsafeBytes { DescriptorBytes.write($0, to: descriptor) }.get()
            }
        } catch {
            throw failure(error)
        }
    }

    private func failure(_ error: SystemError = .current) -> URLError {
        URLError(.cannotWriteToFile, url: url, "A background task can't be written down: \(error).", cause: error)
    }

    // MARK: - Reading

    /// The session's record; nil if there is no valid one. Throws if it can't be read at the moment.
    func readSession() throws(SystemError) -> SessionRecord? {
        guard let record = try read(SessionRecord.self, named: Self.recordName) else { return nil }
        if let fault = record.fault(in: files) {
            setAside(Self.recordName, fault)
            return nil
        }
        return record
    }

    private var names: [String] {
        get throws(SystemError) { try Self.names(in: path) }
    }

    /// The names in a folder; none if there is no such folder, or it can't be read at all.
    static func names(in path: String) throws(SystemError) -> [String] {
        let all: DirectoryNames
        do throws(SystemError) {
            all = try DirectoryNames(path)
        } catch {
            if error.isShortage { throw error }
            return []
        }
        var names: [String] = []
        while let name = try all.next() { names.append(name) }
        return names
    }

    /// The tasks, in the order of their identifiers. Invalid records are set aside. Throws if a record can't be read at the moment: then it
    /// isn't known which files belong to tasks.
    func readTasks() throws(SystemError) -> [StoredTask] {
        let names = try names
        for name in names where name.hasSuffix(AtomicFile.Writers.one.temporarySuffix) { unlink(path(name)) }
        var tasks: [UUID: StoredTask] = [:]
        for name in names.filter({ $0.hasSuffix(RecordName.suffix) }) {
            guard let record = try read(TaskRecord.self, named: name) else { continue }
            let fault = record.fault ?? (record.name == RecordName(name) ? nil : "another task's name")
            if let fault {
                setAside(name, fault)
            } else {
                tasks[record.submission.key] = StoredTask(record, in: self, batch: nil)
            }
        }
        for name in names.filter({ $0.hasSuffix(RecordName.batchSuffix) }) { try readBatch(name, into: &tasks) }
        return tasks.values.sorted { $0.record.submission.identifier < $1.record.submission.identifier }
    }

    /// Each line is a separate record: only invalid ones are set aside. The record of a task that has its own file is void.
    private func readBatch(_ name: String, into tasks: inout [UUID: StoredTask]) throws(SystemError) {
        guard let content = try content(of: name) else { return }
        let batch = RecordBatch(path: path(name))
        for (place, line) in RecordBatch.lines(of: content) {
            let record = try? WireCoding.decoder.decode(TaskRecord.self, from: line)
            let fault = record.map(\.fault) ?? "it can't be read"
            if let record, fault == nil, tasks[record.submission.key] == nil {
                batch.note(record.submission.key, at: place)
                tasks[record.submission.key] = StoredTask(record, in: self, batch: batch)
                continue
            }
            if let fault { setAside(line, "\(name).\(place.lowerBound)", fault) }
            do throws(SystemError) {
                try batch.makeVoid(place)
            } catch {
                log.write("\(url.lastPathComponent)/\(name): a record can't be made void: \(error)")
            }
        }
        batch.removeIfEmpty()
    }

    private func read<Record: Decodable>(_ type: Record.Type, named name: String) throws(SystemError) -> Record? {
        guard let data = try content(of: name) else { return nil }
        // It couldn't be removed while the folder was read-only.
        if RecordFile.isVoid(data) {
            unlink(path(name))
            return nil
        }
        guard let record = try? WireCoding.decoder.decode(type, from: data) else {
            setAside(name, "it can't be read")
            return nil
        }
        return record
    }

    /// nil if there is no such file, or it isn't one of ours. Throws if it can't be read at the moment, perhaps for lack of a descriptor.
    private func content(of name: String) throws(SystemError) -> Data? {
        let descriptor = uninterrupted { open(path(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        guard descriptor >= 0 else {
            let error = SystemError.current
            if error.isShortage { throw error }
            if error.code != ENOENT { setAside(name, "\(error)") }
            return nil
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0, status.st_size <= Self.maximumLength
        else {
            setAside(name, "not a private file of this user")
            return nil
        }
        do throws(SystemError) {
            return try DescriptorBytes.read(descriptor, count: Int(status.st_size))
        } catch {
            if error.isShortage { throw error }
            setAside(name, "it can't be read: \(error)")
            return nil
        }
    }

    /// Moves a file aside, where it can be inspected.
    private func setAside(_ name: String, _ reason: String) {
        let aside = pathAside(name, reason)
        if rename(path(name), aside) != 0 { unlink(path(name)) }
    }

    /// The same for part of the file `name`.
    private func setAside(_ content: Data, _ name: String, _ reason: String) {
        let aside = pathAside(name, reason)
        let descriptor = uninterrupted { open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600) }
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        _ = content.withUnsafeBytes { DescriptorBytes.write($0, to: descriptor) }
    }

    private func pathAside(_ name: String, _ reason: String) -> String {
        log.write("set aside \(url.lastPathComponent)/\(name): \(reason)")
        let aside = path(Self.asideName)
        mkdir(aside, 0o700)
        return "\(aside)/\(name)"
    }

    // MARK: - Files

    /// Removes files that belong to no task, left behind by agents that were killed. Spares and returns recent ones shorter than `size`, in
    /// bytes: if a task's end hadn't been recorded, its file may be waiting for its delegate's turn.
    func removeFiles(except known: Set<String>, longerThan size: Int64) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: files.path)) ?? []
        var spared: [String] = []
        for name in names where !known.contains(name) {
            if mayBeAwaited(name, size) { spared.append(name) } else { unlink(path(ofFile: name)) }
        }
        return spared
    }

    private func mayBeAwaited(_ name: String, _ size: Int64) -> Bool {
        var status = stat()
        guard TemporaryName.kept.matches(name), lstat(path(ofFile: name), &status) == 0 else { return false }
        // A file may have any date.
        let (age, overflows) = time(nil).subtractingReportingOverflow(status.st_mtim.tv_sec)
        return Int64(status.st_size) < size && !overflows && age >= 0 && .seconds(age) < Self.sparing
    }

    /// How long a file without a task may be waiting for its delegate.
    static let sparing = Duration.seconds(3600)

    /// In bytes; nil if there is no such file.
    func length(ofFile name: String) -> Int64? {
        var status = stat()
        guard Self.isFileName(name), lstat(path(ofFile: name), &status) == 0, status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return Int64(status.st_size)
    }

    /// Returns when the file's content is on disk. Any thread; takes long for a long file.
    func syncFile(_ name: String) throws(URLError) {
        let descriptor = uninterrupted { open(path(ofFile: name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC) }
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        guard fdatasync(descriptor) == 0 else { throw failure() }
    }

    /// Leaves a file alone that a download is appending to: see `DownloadFile`.
    func removeUnlessInUse(_ name: String) {
        guard Self.isFileName(name) else { return }
        let descriptor = uninterrupted { open(path(ofFile: name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
        defer { if descriptor >= 0 { close(descriptor) } }
        if descriptor >= 0, LockedFile.isLockedElsewhere(descriptor) { return }
        removeFile(name)
    }

    func removeFile(_ name: String) {
        guard Self.isFileName(name) else { return }
        unlink(path(ofFile: name))
    }
}
