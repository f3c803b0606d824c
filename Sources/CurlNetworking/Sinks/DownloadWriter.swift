import CurlNetworkingLocks
import CurlTransport
import Foundation

/// Does the work on a download's file for its sink on the loop, one job after the other.
///
/// A file system may take any time for any operation, so another thread does the jobs. The loop only writes bytes, as long as the file is
/// on a disk of this machine that has always taken them quickly, and no job is left: that merely copies them to the system's memory.
///
/// The methods are called on the loop; completions are called on the other thread.
///
/// `@unchecked Sendable`: `state` guards the jobs. The file belongs to the thread that does them and, as long as there are none, to the
/// loop.
final class DownloadWriter: @unchecked Sendable {
    private typealias Job = @Sendable () -> Void

    private struct State {
        var jobs = Fifo<Job>()
        /// Whether the file is in use.
        var isBusy = false
        /// Whether the loop may write.
        var isQuick = false
        /// How much waits to be written, in bytes.
        var waiting = 0
        /// Whether the sink has been told that too much waits.
        var isFull = false
        /// What the other thread has written since the sink last asked, in bytes.
        var written = 0
    }

    /// What became of the bytes.
    enum Writing {
        case done
        /// They wait to be written. If too much waits, no more should be passed in until `takeProgress` says so.
        case waiting(isTooMuch: Bool)
    }

    /// What has happened on the other thread.
    struct Progress {
        /// In bytes.
        let written: Int
        /// Whether too much was waiting, and now no longer is.
        let hasCaughtUp: Bool
    }

    private let directory: URL
    private let threads: WorkThreads
    /// Called on the other thread when a job has failed; the file is removed by then.
    private let failed: @Sendable (URLError) -> Void
    /// The same, when bytes have been written; once, until `takeProgress` is called.
    private let progressed: @Sendable () -> Void
    private let state = Mutex(State())

    private var file: DownloadFile?
    private var failure: URLError?
    /// The complete file.
    private var finished: DownloadedFile?

    /// In bytes: with more waiting, no more should be passed in until none is waiting. Then the loop writes again, if it may.
    private static let highMark = 1 << 20
    /// A file system that takes longer for a piece isn't written to on the loop again.
    private static let longestWrite = Duration.milliseconds(10)

    init(
        in directory: URL,
        on threads: WorkThreads = .files,
        failed: @escaping @Sendable (URLError) -> Void,
        progressed: @escaping @Sendable () -> Void
    ) {
        self.directory = directory
        self.threads = threads
        self.failed = failed
        self.progressed = progressed
    }

    // MARK: - Jobs

    private func add(_ job: @escaping Job) {
        let starts = state.withLock { state in
            state.jobs.append(job)
            defer { state.isBusy = true }
            return !state.isBusy
        }
        if starts { threads.run { self.work() } }
    }

    private func work() {
        while let job = nextJob() { job() }
    }

    private func nextJob() -> Job? {
        state.withLock { state in
            let job = state.jobs.popFirst()
            if job == nil { state.isBusy = false }
            return job
        }
    }

    /// After a failure, nothing else changes the file.
    private func change(_ body: @escaping @Sendable (DownloadWriter) throws(URLError) -> Void) {
        add { [self] in
            guard failure == nil else { return }
            do throws(URLError) {
                try body(self)
            } catch {
                fail(error)
                failed(error)
            }
        }
    }

    private func fail(_ error: URLError) {
        failure = error
        file.take()?.remove()
    }

    private func open(_ file: DownloadFile) {
        self.file = file
        state.withLock { $0.isQuick = file.isOnLocalDisk }
    }

    // MARK: - The file

    func makeFile() {
        change { writer throws(URLError) in writer.open(try DownloadFile(in: writer.directory)) }
    }

    /// Continues with this file.
    func adopt(_ file: DownloadFile) {
        nonisolated(unsafe) let file = file
        change { $0.open(file) }
    }

    /// Removes the file, and begins a new one.
    func startOver() {
        change { writer throws(URLError) in
            writer.file.take()?.remove()
            writer.open(try DownloadFile(in: writer.directory))
        }
    }

    /// Appends the bytes. Throws what went wrong with the file, as far as that is known.
    func write(_ bytes: UnsafeRawBufferPointer) throws(URLError) -> Writing {
        guard takeFile() else { return .waiting(isTooMuch: add(Data(bytes))) }
        // No job can have arrived meanwhile.
        defer { state.withLock { $0.isBusy = false } }
        if let failure { throw failure }
        let beginning = MonotonicTime.now
        do throws(URLError) { try file?.write(bytes) } catch {
            fail(error)
            throw error
        }
        if MonotonicTime.now > beginning + Self.longestWrite { state.withLock { $0.isQuick = false } }
        return .done
    }

    /// Whether the loop may write, and so has the file.
    private func takeFile() -> Bool {
        state.withLock { state in
            guard state.isQuick, !state.isBusy else { return false }
            state.isBusy = true
            return true
        }
    }

    /// Returns whether too much is waiting.
    private func add(_ bytes: Data) -> Bool {
        let isFull = state.withLock { state in
            state.waiting += bytes.count
            if state.waiting > Self.highMark { state.isFull = true }
            return state.isFull
        }
        change { writer throws(URLError) in
            try bytes.withBytes { piece throws(URLError) in try writer.file?.write(piece) }
            writer.noteWritten(bytes.count)
        }
        return isFull
    }

    private func noteWritten(_ count: Int) {
        let isFirst = state.withLock { state in
            state.waiting -= count
            defer { state.written += count }
            return state.written == 0
        }
        if isFirst { progressed() }
    }

    /// What has been written on the other thread since the last call.
    func takeProgress() -> Progress {
        state.withLock { state in
            defer { state.written = 0 }
            let hasCaughtUp = state.isFull && state.waiting == 0
            if hasCaughtUp { state.isFull = false }
            return Progress(written: state.written, hasCaughtUp: hasCaughtUp)
        }
    }

    /// How many of the bytes that had to wait `takeProgress` has yet to report.
    var untold: Int { state.withLock { $0.waiting + $0.written } }

    // MARK: - Its end

    /// Closes the complete file, which `remove` still removes.
    func finish(_ completion: @escaping @Sendable (Result<DownloadedFile, URLError>) -> Void) {
        add { [self] in
            if let failure { return completion(.failure(failure)) }
            guard let file = file.take() else { return completion(.failure(URLError(.cannotOpenFile))) }
            let result = Result { () throws(URLError) in try file.finish() }
            finished = try? result.get()
            completion(result)
        }
    }

    /// Closes the incomplete file, and keeps it to resume from; nil if there is none.
    func keep(_ completion: @escaping @Sendable (PartialFile?) -> Void) {
        add { [self] in completion(file.take()?.keep()) }
    }

    /// Describes the incomplete file, which goes on growing; nil if there is none.
    func describe(_ completion: @escaping @Sendable (PartialFile?) -> Void) {
        add { [self] in completion(file?.describe()) }
    }

    /// Removes the file, complete or not.
    func remove(_ completion: @escaping @Sendable () -> Void) {
        add { [self] in
            file.take()?.remove()
            finished.take()?.removeIfStillThere()
            completion()
        }
    }
}
