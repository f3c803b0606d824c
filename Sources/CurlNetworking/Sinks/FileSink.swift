import Foundation

/// Writes the body to a private temporary file, which a later download can resume from.
final class FileSink: Sink {
    private unowned let owner: any SinkOwner
    private let directory: URL
    private let originalRequest: URLRequest?
    /// What the task was to resume from; nil for a download from the beginning.
    private let resumeData: ResumeData?

    private var file: DownloadFile?
    /// The response that the file's latest bytes belong to.
    private var acceptedHead: (head: ResponseHead, request: URLRequest)?
    private var expected: Int64 = 0
    /// The validator of the partial file: the response with the rest need not repeat it.
    var partValidator: Resumption.Validator?
    /// The partial file of `resumeData` isn't needed any more once this download has succeeded, or has resume data of its own.
    var supersedesPartialFile = false
    private var unsettled: Int64 = 0

    init(_ owner: any SinkOwner, in directory: URL, for request: URLRequest?, resuming resumeData: ResumeData? = nil) {
        self.owner = owner
        self.directory = directory
        originalRequest = request
        self.resumeData = resumeData
    }

    /// A sink for a body whose beginning has already been received.
    ///
    /// - Parameter response: The body's response; nil if nothing follows.
    init(
        _ owner: any SinkOwner,
        in directory: URL,
        for request: URLRequest?,
        of response: AcceptedResponse?,
        writing pieces: [Data]
    ) throws(URLError) {
        self.owner = owner
        self.directory = directory
        originalRequest = request
        resumeData = nil
        if let response { note(response) }
        let file = try makeFile()
        do throws(URLError) {
            for piece in pieces {
                try piece.withBytes { bytes throws(URLError) in try file.write(bytes) }
            }
        } catch {
            file.remove()
            throw error.forRequest(to: url)
        }
        self.file = file
    }

    /// The URL that errors are about.
    private var url: URL? { acceptedHead?.request.url ?? originalRequest?.url }

    private func makeFile() throws(URLError) -> DownloadFile {
        do throws(URLError) { return try DownloadFile(in: directory) } catch { throw error.forRequest(to: url) }
    }

    /// The bytes in the file; nil if there is none yet.
    var length: Int64? { file?.length }

    /// Continues with a copy of the partial file.
    func adopt(_ copy: DownloadFile) {
        file = copy
        supersedesPartialFile = true
    }

    /// Starts a new file for the next bytes: a checkpoint may have named the old one, and must not find other content under its name.
    func startOver() throws(URLError) {
        partValidator = nil
        guard let file = file.take() else { return }
        file.remove()
        self.file = try makeFile()
    }

    // MARK: - Sink

    var bufferSize: Int? { 256 * 1024 }

    func makeRoom(for response: AcceptedResponse) throws(URLError) {
        note(response)
        // A body that begins anew, and not where a partial file ends: from a protocol class, or a local URL.
        if response.offset == 0, let length, length > 0 { try startOver() }
        if file == nil { file = try makeFile() }
    }

    private func note(_ response: AcceptedResponse) {
        if let head = response.head, let request = response.request { acceptedHead = (head, request) }
        expected = response.expected
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        unsettled += Int64(bytes.count)
        do throws(URLError) { try file?.write(bytes) } catch { throw error.forRequest(to: url) }
    }

    func settle() {
        guard unsettled > 0 else { return }
        owner.count(unsettled, isTold: true)
        unsettled = 0
    }

    func finish() throws(URLError) -> Outcome {
        guard let file = file.take() else { return .delivered }
        do throws(URLError) {
            let finished = try file.finish()
            removeSupersededFile()
            return .file(finished)
        } catch {
            throw error.forRequest(to: url)
        }
    }

    func abandon(after error: URLError, isKept: Bool) -> Data? {
        let data = isKept ? keep(after: error) : nil
        file.take()?.remove()
        return data
    }

    // MARK: - Resume data

    /// Resume data in case the process ended now; nil if there is nothing to resume from. The download continues.
    func checkpoint() -> Data? {
        if let untouched { return untouched.encoded() }
        guard let validator, let partial = file?.describe() else { return nil }
        return resumeData(for: partial, validator)?.encoded()
    }

    /// The resume data the task was created with, until the server has responded.
    private var untouched: ResumeData? { acceptedHead == nil ? resumeData : nil }

    private func keep(after error: URLError) -> Data? {
        if let untouched { return untouched.encoded() }
        guard !Self.fileErrors.contains(error.code), let validator, let partial = file?.keep() else { return nil }
        file = nil
        guard let encoded = resumeData(for: partial, validator)?.encoded() else {
            partial.remove(in: directory)
            return nil
        }
        removeSupersededFile()
        return encoded
    }

    /// After these errors, the file can't be resumed from.
    private static let fileErrors: Set<URLError.Code> = [
        .cannotCreateFile, .cannotOpenFile, .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile, .cannotMoveFile,
    ]

    /// nil if the server sent nothing to validate with.
    private var validator: Resumption.Validator? {
        partValidator ?? acceptedHead.flatMap { ResumePolicy.validator(of: $0.head, to: $0.request) }
    }

    private func resumeData(for partial: PartialFile, _ validator: Resumption.Validator) -> ResumeData? {
        guard let originalRequest, let url = originalRequest.url, ResumePolicy.canRepeat(originalRequest) else {
            return nil
        }
        return ResumeData(
            request: StoredRequest(originalRequest, to: url),
            validator: validator,
            completeLength: expected > 0 ? expected : nil,
            partialFile: partial
        )
    }

    private func removeSupersededFile() {
        guard supersedesPartialFile else { return }
        resumeData?.partialFile.remove(in: directory)
    }
}
