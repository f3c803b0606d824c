import CurlTransport
import Foundation

/// A task on disk: its record, alone or in the batch with which it arrived, and the files that the record names. Used by the agent, on its
/// queue.
struct StoredTask {
    /// The record as it should be; the one on disk is as it was last saved.
    var record: TaskRecord
    private let folder: SessionFolder
    /// The batch that has, or had, the task's first record; nil if there is none.
    private let batch: RecordBatch?
    /// Whether the task's record is in its own file. One that is still in the batch then doesn't count.
    private var hasOwnFile: Bool
    /// The names of files that aren't needed any more once the record on disk doesn't name them.
    private var superseded: Set<String> = []

    init(_ record: TaskRecord, in folder: SessionFolder, batch: RecordBatch?) {
        self.record = record
        self.folder = folder
        self.batch = batch
        hasOwnFile = batch == nil
    }

    var key: UUID { record.submission.key }

    /// The names of its files in the session's folder.
    var files: Set<String> {
        var names: Set<String> = []
        if let file = record.ending?.file { names.insert(file) }
        if let partial = partialFile(record.resumeData) { names.insert(partial.name) }
        return names
    }

    /// The counters of a download before it is continued.
    var counters: TaskCounters {
        guard let kept = record.resumeData.flatMap({ try? ResumeData(decoding: $0) }) else { return TaskCounters() }
        let received = folder.length(ofFile: kept.partialFile.name) ?? 0
        guard received > 0 else { return TaskCounters() }
        return TaskCounters(
            received: received,
            expectedToReceive: kept.completeLength ?? NSURLSessionTransferSizeUnknown
        )
    }

    /// The name of the record's partial file, if there is no such file: the download was completed and moved.
    var missingFile: String? {
        guard let name = partialFile(record.resumeData)?.name, SessionFolder.isFileName(name),
            folder.length(ofFile: name) == nil
        else { return nil }
        return name
    }

    /// Saves the record, abridging it if it is too long. If this throws, the record on disk is unchanged.
    mutating func save() throws(URLError) {
        do throws(URLError) {
            try write()
        } catch {
            guard error.code == .dataLengthExceedsMaximum else { throw error }
            record = record.abridged
            try write()
        }
        for name in superseded.subtracting(files) { folder.removeUnlessInUse(name) }
        superseded = []
    }

    private mutating func write() throws(URLError) {
        if hasOwnFile { try folder.write(record) } else { try folder.add(record) }
        hasOwnFile = true
        // The new record is on disk before the old one is made void.
        do throws(SystemError) {
            try batch?.remove(key)
        } catch {
            // Another agent prefers the task's own file.
            folder.log.write("task \(record.submission.identifier): its first record stays: \(error)")
        }
    }

    /// Returns false if the response's file doesn't match the ending: after a loss of power, or if the file was removed. The task then
    /// hasn't ended, or has failed if its request may not be sent twice. One that had already failed loses its response's body.
    mutating func checkFile() -> Bool {
        guard let ending = record.ending, let file = ending.file else { return true }
        if let length = folder.length(ofFile: file), length == ending.fileLength ?? length { return true }
        folder.removeFile(file)
        if ending.error != nil {
            record.ending?.file = nil
        } else if record.submission.mayBeRepeated {
            record.metrics = ending.metrics
            record.ending = nil
        } else {
            let error = URLError(
                .cannotOpenFile,
                url: record.submission.request.url,
                "The response's file has been lost."
            )
            record.ending?.file = nil
            record.ending?.error = ErrorDescription(error)
        }
        return false
    }

    /// Continues only from `new`: once that is saved, the earlier partial file is removed.
    mutating func replaceResumeData(with new: Data?) {
        superseded.formUnion(files)
        record.resumeData = new
    }

    /// An error if `response` isn't the partly downloaded file, but a gateway's or a busy server's temporary response.
    func refusalForNow(in response: URLResponse?) -> URLError? {
        guard record.resumeData != nil, let status = (response as? HTTPURLResponse)?.statusCode,
            ReplayPolicy.isTemporary(status: status)
        else { return nil }
        return URLError(
            .cannotConnectToHost,
            url: response?.url,
            "The server answered a resumed download with status \(status)."
        )
    }

    /// Removes the partial file from which a download could continue with `resumeData`.
    func removePartialFile(of resumeData: Data?) {
        partialFile(resumeData)?.remove(in: folder.files)
    }

    /// Removes what an ordinary session would resume an upload from with `resumeData`: the task resumes it with its own request and file.
    func removeBody(of resumeData: Data?) {
        let kept = resumeData.flatMap { try? UploadResumeData(decoding: $0) }
        kept?.body.remove(in: folder.files)
    }

    private func partialFile(_ resumeData: Data?) -> PartialFile? {
        resumeData.flatMap { try? ResumeData(decoding: $0) }?.partialFile
    }

    /// Removes the record, and then the files: an agent killed in between leaves files without a record, never the reverse. If this throws,
    /// another agent will find the task, and this may be called again.
    func remove() throws(SystemError) {
        try batch?.remove(key)
        if hasOwnFile { try folder.remove(record.name) }
        for name in superseded.union(files) { folder.removeFile(name) }
    }
}
