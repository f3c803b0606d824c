import CurlTransport
import Foundation

/// What is on disk of a task: its record, alone or in the batch with which it arrived, and the files that the record names. Used by the
/// agent, on its queue.
struct StoredTask {
    /// The record as it should be; the one on disk is as it was last saved.
    var record: TaskRecord
    private let folder: SessionFolder
    /// The batch with the task's first record; nil if the task has its own file.
    private var batch: RecordBatch?
    /// The names of files that aren't needed any more once the record on disk doesn't name them.
    private var superseded: Set<String> = []

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

    /// What there is of a download before it is continued.
    var counters: TaskCounters {
        guard let kept = record.resumeData.flatMap({ try? ResumeData(decoding: $0) }) else { return TaskCounters() }
        let received = folder.length(ofFile: kept.partialFile.name) ?? 0
        guard received > 0 else { return TaskCounters() }
        return TaskCounters(
            received: received,
            expectedToReceive: kept.completeLength ?? NSURLSessionTransferSizeUnknown
        )
    }

    /// The name of the partial file in the record, if no file has it: the download to it has been completed and moved.
    var missingFile: String? {
        guard let name = partialFile(record.resumeData)?.name, SessionFolder.isFileName(name),
            folder.length(ofFile: name) == nil
        else { return nil }
        return name
    }

    /// If this throws, the record on disk is unchanged. That of a task that has ended is abridged if it is too long.
    mutating func save() throws(URLError) {
        do throws(URLError) {
            try write()
        } catch {
            guard error.code == .dataLengthExceedsMaximum, record.ending != nil else { throw error }
            record = record.abridged
            try write()
        }
        for name in superseded.subtracting(files) { folder.removeUnlessInUse(name) }
        superseded = []
    }

    private mutating func write() throws(URLError) {
        guard let batch else { return try folder.write(record) }
        // The new record is on disk before the other one is void.
        try folder.add(record)
        self.batch = nil
        do throws(SystemError) {
            try batch.remove(key)
        } catch {
            // Another agent prefers the task's own file.
            folder.log.write("task \(record.submission.identifier): its first record stays: \(error)")
        }
    }

    /// False if the response's file isn't what the ending says: after a loss of power, or if the file was removed. The task hasn't ended
    /// then, or has failed if its request may not be sent twice. One that has failed anyway has nothing of its response.
    mutating func checkFile() -> Bool {
        guard let ending = record.ending, let file = ending.file else { return true }
        if let length = folder.length(ofFile: file), length == ending.fileLength ?? length { return true }
        folder.removeFile(file)
        if ending.error != nil {
            record.ending?.file = nil
        } else if record.submission.mayBeRepeated {
            record.ending = nil
        } else {
            let error = URLError(.cannotOpenFile, record.submission.request.url, "The response's file has been lost.")
            record.ending?.file = nil
            record.ending?.error = ErrorDescription(error)
        }
        return false
    }

    /// Continues from `new` and nothing else: once that is saved, the earlier partial file is removed.
    mutating func replaceResumeData(with new: Data?) {
        superseded.formUnion(files)
        record.resumeData = new
    }

    /// An error if `response` isn't the file, a part of which is here, but what a gateway or a busy server has said for the time being.
    func refusalForNow(in response: URLResponse?) -> URLError? {
        guard record.resumeData != nil, let status = (response as? HTTPURLResponse)?.statusCode,
            ReplayPolicy.isTemporary(status: status)
        else { return nil }
        return URLError(
            .cannotConnectToHost,
            response?.url,
            "The server answered a resumed download with status \(status)."
        )
    }

    private func partialFile(_ resumeData: Data?) -> PartialFile? {
        resumeData.flatMap { try? ResumeData(decoding: $0) }?.partialFile
    }

    /// Nothing of the task is kept. An agent that is killed meanwhile leaves files without a record, and not the other way round.
    mutating func remove() {
        removeRecord()
        for name in superseded.union(files) { folder.removeFile(name) }
    }

    private mutating func removeRecord() {
        guard let batch = batch.take() else { return folder.remove(record.name) }
        do throws(SystemError) {
            try batch.remove(key)
        } catch {
            folder.log.write("task \(record.submission.identifier): its record can't be removed: \(error)")
        }
    }
}
