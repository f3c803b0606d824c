import CurlTransport
import Foundation

/// What is on disk of a task: its record, alone or among those that came with it, and the files that the record names. Used by the agent, on its
/// queue.
struct StoredTask {
    /// As it is to be; on disk it is as it was when it was last saved.
    var record: TaskRecord
    private let folder: SessionFolder
    /// Where the record is as long as it is what it was when the task came; nil where it has a file of its own.
    private var batch: RecordBatch?

    init(_ record: TaskRecord, in folder: SessionFolder, batch: RecordBatch?) {
        self.record = record
        self.folder = folder
        self.batch = batch
    }

    var key: UUID { record.submission.key }

    /// The names of its files in the session's folder.
    var files: Set<String> {
        var names: Set<String> = []
        if let file = record.ending?.file { names.insert(file) }
        if let partial = partialFile(record.resumeData) { names.insert(partial.name) }
        return names
    }

    /// Where this throws, the record on disk is what it was.
    mutating func save() throws(URLError) {
        guard let batch else { return try folder.write(record) }
        // On disk before the other one is void.
        try folder.add(record)
        self.batch = nil
        do throws(SystemError) {
            try batch.remove(key)
        } catch {
            // Another agent takes the task's own.
            folder.log.write("task \(record.submission.identifier): its first record stays: \(error)")
        }
    }

    /// Goes on from there, and from nowhere else: the partial file of before is removed, unless this names the same.
    mutating func replaceResumeData(with new: Data?) {
        if let old = partialFile(record.resumeData), old.name != partialFile(new)?.name { folder.removeFile(old.name) }
        record.resumeData = new
    }

    private func partialFile(_ resumeData: Data?) -> PartialFile? {
        resumeData.flatMap { try? ResumeData(decoding: $0) }?.partialFile
    }

    /// Nothing of the task stays.
    mutating func remove() {
        if let file = record.ending?.file { folder.removeFile(file) }
        replaceResumeData(with: nil)
        guard let batch = batch.take() else { return folder.remove(record.name) }
        do throws(SystemError) {
            try batch.remove(key)
        } catch {
            folder.log.write("task \(record.submission.identifier): its record can't be removed: \(error)")
        }
    }
}
