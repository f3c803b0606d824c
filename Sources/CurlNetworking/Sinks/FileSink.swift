import CurlTransport
import Foundation

/// Writes the body to a private temporary file, which a later download can resume from.
///
/// `@unchecked Sendable`: loop only.
final class FileSink: Sink, @unchecked Sendable {
    private enum State {
        case noFile
        /// The file has this many bytes, including those that have yet to be written.
        case writing(Int64)
        /// All bytes are there, and the file is being closed.
        case finishing
        case over
    }

    private unowned let owner: any SinkOwner
    private let directory: URL
    private let originalRequest: URLRequest?
    /// The fields that the session adds to it.
    private let additionalFields: [HeaderField]
    /// What the task was to resume from; nil for a download from the beginning.
    private let resumeData: ResumeData?
    private let threads: WorkThreads

    private lazy var writer = makeWriter()
    private var state = State.noFile
    /// The response that the file's latest bytes belong to.
    private var acceptedHead: (head: ResponseHead, request: URLRequest)?
    /// The representation of which the partial file is the beginning: the response with the rest need not describe it again.
    var partial: Representation?
    /// Whether the partial file of `resumeData` isn't needed any more once this download has succeeded, or has its own resume data.
    var supersedesPartialFile = false
    /// How much has been written since the owner was last told, in bytes.
    private var unsettled: Int64 = 0
    /// How much of what the writer has yet to report must not be counted, in bytes: the owner has already counted it, or its file was given
    /// up.
    private var counted: Int64 = 0

    init(
        _ owner: any SinkOwner,
        in directory: URL,
        for request: URLRequest?,
        adding additionalFields: [HeaderField],
        resuming resumeData: ResumeData? = nil,
        on threads: WorkThreads = .files
    ) {
        self.owner = owner
        self.directory = directory
        originalRequest = request
        self.additionalFields = additionalFields
        self.resumeData = resumeData
        self.threads = threads
    }

    /// A sink for a body whose beginning has already been received.
    ///
    /// - Parameter response: The body's response; nil if nothing follows.
    convenience init(
        _ owner: any SinkOwner,
        in directory: URL,
        for request: URLRequest?,
        adding additionalFields: [HeaderField],
        of response: AcceptedResponse?,
        writing pieces: [Data]
    ) throws(URLError) {
        self.init(owner, in: directory, for: request, adding: additionalFields)
        if let response { note(response) }
        makeFile()
        for piece in pieces {
            counted += Int64(piece.count)
            try piece.withBytes { bytes throws(URLError) in try receive(bytes) }
        }
    }

    private func makeWriter() -> DownloadWriter {
        weak let owner = owner
        weak let sink = self
        return DownloadWriter(
            in: directory,
            on: threads,
            failed: { error in owner?.submit { owner?.sinkFailed(error) } },
            progressed: {
                guard let owner else { return }
                owner.submit { sink?.takeProgress(for: owner) }
            }
        )
    }

    /// The URL that errors are about.
    private var url: URL? { acceptedHead?.request.url ?? originalRequest?.url }

    private func makeFile() {
        writer.makeFile()
        state = .writing(0)
    }

    /// The bytes in the file, including those that have yet to be written; nil if there is none.
    var length: Int64? {
        if case .writing(let length) = state { length } else { nil }
    }

    /// Continues with a copy of the partial file.
    func adopt(_ copy: DownloadFile) {
        state = .writing(copy.length)
        writer.adopt(copy)
        supersedesPartialFile = true
    }

    /// Starts a new file for the next bytes: a checkpoint may have named the old one, and must not find other content under its name.
    func startOver() {
        partial = nil
        guard case .writing = state else { return }
        forgetUncounted()
        writer.startOver()
        state = .writing(0)
        owner.startedOver()
    }

    // MARK: - Sink

    var bufferSize: Int? { ReceiveBuffer.large }

    func makeRoom(for response: AcceptedResponse) {
        note(response)
        switch state {
        case .noFile: makeFile()
        // The owner counts from there, though some of the earlier bytes may have yet to be written.
        case .writing where response.offset > 0: forgetUncounted()
        // A body that starts over, rather than where a partial file ends: from a protocol class, or a local URL.
        case .writing(let length): if length > 0 { startOver() }
        case .finishing, .over: break
        }
    }

    private func note(_ response: AcceptedResponse) {
        if let head = response.head, let request = response.request { acceptedHead = (head, request) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(URLError) {
        guard case .writing(let length) = state else { return }
        state = .writing(length + Int64(bytes.count))
        do throws(URLError) {
            switch try writer.write(bytes) {
            case .done: noteWritten(bytes.count)
            case .waiting(let isTooMuch): if isTooMuch { owner.setBehind(true) }
            }
        } catch {
            throw error.forRequest(to: url)
        }
    }

    private func noteWritten(_ count: Int) {
        let known = min(counted, Int64(count))
        counted -= known
        unsettled += Int64(count) - known
    }

    /// Keeps what this sink has received so far from being counted.
    private func forgetUncounted() {
        counted = Int64(writer.untold)
        unsettled = 0
    }

    func settle() { settle(for: owner) }

    private func settle(for owner: any SinkOwner) {
        guard unsettled > 0 else { return }
        owner.count(unsettled, isTold: true)
        unsettled = 0
    }

    private func takeProgress(for owner: any SinkOwner) {
        if case .over = state { return }
        countProgress(for: owner)
    }

    /// Counts what another thread has written.
    private func countProgress(for owner: any SinkOwner) {
        let progress = writer.takeProgress()
        noteWritten(progress.written)
        settle(for: owner)
        if progress.hasCaughtUp { owner.setBehind(false) }
    }

    func finish(_ completion: @escaping @Sendable (Outcome) -> Void) {
        guard case .writing = state else { return completion(.delivered) }
        state = .finishing
        let (superseded, directory, owner) = (supersededFile, directory, owner)
        writer.finish { result in
            if case .success = result { superseded?.remove(in: directory) }
            owner.submit { self.finished(result, completion) }
        }
    }

    private func finished(_ result: Result<DownloadedFile, URLError>, _ completion: (Outcome) -> Void) {
        guard case .finishing = state else { return }
        takeProgress(for: owner)
        switch result {
        case .success(let file):
            state = .over
            completion(.file(file))
        case .failure(let error):
            completion(.failure(error.forRequest(to: url)))
        }
    }

    /// The task's end waits until the file is kept or removed: a cancelled download leaves nothing behind. If there is nothing to resume
    /// this download from, what it was to resume from is still there.
    func abandon(after error: URLError, isKept: Bool, _ completion: @escaping @Sendable (Data?) -> Void) {
        let original = isKept ? resumeData?.encoded() : nil
        let isPartial = if case .writing = state { isKept && !Self.fileErrors.contains(error.code) } else { false }
        defer { state = .over }
        switch state {
        case .noFile, .over: return completion(original)
        case .writing, .finishing: break
        }
        let owner = owner
        let complete: @Sendable (Data?) -> Void = { data in
            owner.submit {
                // Whatever becomes of the file, this much of the body was received and written.
                self.countProgress(for: owner)
                completion(data ?? original)
            }
        }
        guard acceptedHead != nil, isPartial, let describe = resumeDataMaker() else {
            return writer.remove { complete(nil) }
        }
        let (superseded, directory) = (supersededFile, directory)
        writer.keep { partial in
            let data = partial.flatMap(describe)?.encoded()
            if data != nil { superseded?.remove(in: directory) } else { partial?.remove(in: directory) }
            complete(data)
        }
    }

    // MARK: - Resume data

    /// Calls `completion`, on any thread, with resume data in case the process ends now; with nil if there is nothing to resume from. The
    /// download continues.
    func checkpoint(_ completion: @escaping @Sendable (Data?) -> Void) {
        if let untouched { return completion(untouched.encoded()) }
        guard case .writing = state, let describe = resumeDataMaker() else { return completion(nil) }
        let superseded = supersededFile
        writer.describe { partial in
            var data = partial.flatMap(describe)
            // That file can't be removed yet: the program may be killed before it has stored this data.
            data?.superseded = superseded
            completion(data?.encoded())
        }
    }

    /// The resume data the task was created with, until the server has responded.
    private var untouched: ResumeData? { acceptedHead == nil ? resumeData : nil }

    /// After these errors, the file can't be resumed from.
    private static let fileErrors: Set<URLError.Code> = [
        .cannotCreateFile, .cannotOpenFile, .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile, .cannotMoveFile,
    ]

    /// Makes resume data that continues with a partial file; nil if that can't be done with what the server sent, or the request can't be
    /// repeated.
    private func resumeDataMaker() -> (@Sendable (PartialFile) -> ResumeData?)? {
        guard let representation = partial ?? received, let originalRequest, let url = originalRequest.url,
            ResumePolicy.canRepeat(originalRequest)
        else { return nil }
        return { file in
            ResumeData(
                request: StoredRequest(originalRequest, to: url),
                validator: representation.validator,
                completeLength: representation.completeLength,
                partialFile: file
            )
        }
    }

    /// What the latest response has begun to send; nil if a later one can't continue it.
    private var received: Representation? {
        acceptedHead.flatMap {
            ResumePolicy.representation(of: $0.head, to: $0.request, adding: additionalFields)
        }
    }

    private var supersededFile: PartialFile? { supersedesPartialFile ? resumeData?.partialFile : nil }
}
