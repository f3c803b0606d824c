import Foundation

/// A file to download: its address and its name in the folder.
struct DownloadItem: Codable, Equatable, Sendable {
    var url: URL
    /// Made by `FileName`.
    var fileName: String
    var title: String
    /// Of the whole file, in lower-case hexadecimal digits, if known.
    var sha256: String?
}

/// One item's progress from the server into its folder. A value that knows the order of the steps; `DownloadCentre` takes the steps.
struct Download: Sendable {
    enum State: Sendable, Equatable {
        /// For a free place; with the data to resume from, if any.
        case waiting(resumeData: Data?)
        /// As the task with this number; `origin` is the data it was resumed from.
        case running(task: Int, origin: Data?)
        /// Cancelled in order to resume later; the resume data is on its way.
        case pausing(task: Int, origin: Data?)
        case paused(resumeData: Data?)
        /// The file is complete and being compared with its checksum. If it isn't new, it was there before, in its place or left by a run
        /// that was killed before checking it; a new one isn't in its place yet.
        case checking(isNew: Bool)
        case finished(Finding)
        case cancelled
        case failed(DownloadFailure)
    }

    enum Finding: Sendable {
        /// The checksum matches.
        case verified
        /// There is no checksum.
        case unverified
        /// The file was there before, and is correct as far as we can tell.
        case alreadyThere
    }

    let item: DownloadItem
    private(set) var state: State
    /// How many bytes of the file are there.
    private(set) var received: Int64 = 0
    /// How many bytes the file will have.
    private(set) var expected: Int64?
    /// Where it was last resumed.
    private(set) var resumedAt: Int64?
    private var pace = Pace()

    init(_ item: DownloadItem) {
        self.item = item
        state = .waiting(resumeData: nil)
    }

    /// A download that was paused earlier.
    init(_ item: DownloadItem, paused: PauseFile) {
        self.item = item
        state = .paused(resumeData: paused.resumeData)
        received = max(0, paused.received)
        expected = paused.expected
    }

    /// A download that an earlier run has begun in the background, as the task with this number.
    init(_ item: DownloadItem, running task: Int, received: Int64, expected: Int64?) {
        self.item = item
        state = .running(task: task, origin: nil)
        self.received = received
        self.expected = expected
        pace = Pace(since: received)
    }

    /// A download whose file, of this length, was already there, and is correct as far as we can tell.
    init(_ item: DownloadItem, foundComplete length: Int64) {
        self.item = item
        state = .finished(.alreadyThere)
        received = length
        expected = length
    }

    var id: URL { item.url }

    /// Of the whole file; nil while its length is unknown.
    var fraction: Double? {
        guard let expected, expected > 0 else { return nil }
        return min(1, Double(received) / Double(expected))
    }

    /// How many bytes have arrived since it last started or was resumed.
    var gained: Int64 { received - pace.origin }

    /// In bytes per second, since it last started; nil while that is meaningless.
    var rate: Double? {
        guard case .running = state else { return nil }
        return pace.rate(at: received)
    }

    /// The data it could be resumed from, while it isn't running.
    var resumeData: Data? {
        switch state {
        case .waiting(let data), .paused(let data): data
        case .failed(let failure): failure.resumeData
        case .running, .pausing, .checking, .finished, .cancelled: nil
        }
    }

    /// Its current task, if any.
    var task: Int? {
        switch state {
        case .running(let task, _), .pausing(let task, _): task
        case .waiting, .paused, .checking, .finished, .cancelled, .failed: nil
        }
    }

    /// Whether it will finish or stop without further action.
    var isBusy: Bool {
        switch state {
        case .waiting, .running, .pausing, .checking: true
        case .paused, .finished, .cancelled, .failed: false
        }
    }

    /// Whether it needs this program to make progress, even if another process downloads it.
    var isInHand: Bool {
        switch state {
        case .pausing, .checking: true
        case .waiting, .running, .paused, .finished, .cancelled, .failed: false
        }
    }
}

// MARK: - Steps. Each does nothing and returns false (or nil) if it doesn't apply.

extension Download {
    /// The download is wanted (again).
    mutating func request() -> Bool {
        switch state {
        case .paused, .failed, .cancelled:
            if resumeData == nil { received = 0 }
            state = .waiting(resumeData: resumeData)
            return true
        case .waiting, .running, .pausing, .checking, .finished:
            return false
        }
    }

    /// The download has a place, and `task` was created for it.
    mutating func start(task: Int) -> Bool {
        guard case .waiting(let data) = state else { return false }
        state = .running(task: task, origin: data)
        resumedAt = nil
        pace = Pace(since: received)
        return true
    }

    mutating func wrote(total: Int64, expected: Int64?) -> Bool {
        guard task != nil else { return false }
        if total < received { pace = Pace(since: 0) }
        received = total
        self.expected = expected
        return true
    }

    mutating func resumed(at offset: Int64, expected: Int64?) -> Bool {
        guard task != nil else { return false }
        resumedAt = offset
        received = offset
        self.expected = expected
        pace = Pace(since: offset)
        return true
    }

    /// The action needed to pause it.
    enum PauseAction { case nothing, cancelTask }

    mutating func pause() -> PauseAction? {
        switch state {
        case .waiting(let data):
            state = .paused(resumeData: data)
            return .nothing
        case .running(let task, let origin):
            state = .pausing(task: task, origin: origin)
            return .cancelTask
        case .pausing, .paused, .checking, .finished, .cancelled, .failed:
            return nil
        }
    }

    /// The task is cancelled. If it hadn't got far enough to have resume data, the data it started from is still valid; without either,
    /// none of the file was kept.
    mutating func paused(task: Int, resumeData: Data?) -> Bool {
        guard case .pausing(task, let origin) = state else { return false }
        state = .paused(resumeData: resumeData ?? origin)
        if self.resumeData == nil { received = 0 }
        return true
    }

    /// It couldn't be saved: it can be resumed only while this program runs.
    mutating func failedToSave(_ message: String) {
        state = .failed(DownloadFailure(message: message, isTransient: false, resumeData: resumeData))
    }

    mutating func cancel() -> Bool {
        switch state {
        case .waiting, .running, .pausing, .paused, .failed:
            state = .cancelled
            return true
        case .checking, .finished, .cancelled:
            return false
        }
    }

    /// The task was cancelled elsewhere: by `halftunes stop`, or by an earlier run, perhaps in order to resume later.
    mutating func cancelledElsewhere(task: Int, resumeData: Data?) -> Bool {
        guard case .running(task, _) = state else { return false }
        state = resumeData == nil ? .cancelled : .paused(resumeData: resumeData)
        return true
    }

    mutating func fail(task: Int, message: String, isTransient: Bool, resumeData: Data? = nil) -> Bool {
        switch state {
        case .running(task, let origin), .pausing(task, let origin):
            state = .failed(
                DownloadFailure(message: message, isTransient: isTransient, resumeData: resumeData ?? origin)
            )
            return true
        case .waiting, .running, .pausing, .paused, .checking, .finished, .cancelled, .failed:
            return false
        }
    }

    /// The data the task started from isn't resume data. Another attempt starts from scratch.
    mutating func rejectOrigin(task: Int, message: String) -> Bool {
        guard case .running(task, .some) = state else { return false }
        received = 0
        state = .failed(DownloadFailure(message: message, isTransient: true))
        return true
    }

    /// The task's file has arrived.
    mutating func arrived(task: Int) -> Bool {
        guard self.task == task else { return false }
        state = .checking(isNew: true)
        return true
    }

    /// A file of this length was already there.
    mutating func found(length: Int64) -> Bool {
        guard case .waiting(nil) = state else { return false }
        state = .checking(isNew: false)
        received = length
        expected = length
        return true
    }

    /// The file can't be read, or can't be put in its place.
    mutating func failedToCheck(_ message: String) -> Bool {
        guard case .checking = state else { return false }
        state = .failed(DownloadFailure(message: message, isTransient: false))
        return true
    }

    /// - Parameter isRight: nil if there is nothing to compare with.
    mutating func checked(isRight: Bool?) -> Bool {
        guard case .checking(let isNew) = state else { return false }
        switch (isRight, isNew) {
        case (false, true):
            state = .failed(DownloadFailure(message: "the file's SHA-256 is not the catalogue's", isTransient: false))
        case (false, false):
            received = 0
            state = .waiting(resumeData: nil)
        case (_, false):
            state = .finished(.alreadyThere)
        case (true, true):
            state = .finished(.verified)
        case (nil, true):
            state = .finished(.unverified)
        }
        return true
    }
}

struct DownloadFailure: Equatable, Sendable {
    var message: String
    /// Whether another attempt may succeed.
    var isTransient: Bool
    var resumeData: Data?
}

/// How fast bytes arrive.
private struct Pace: Sendable {
    private let start: ContinuousClock.Instant
    let origin: Int64

    init(since origin: Int64 = 0) {
        start = .now
        self.origin = origin
    }

    func rate(at received: Int64) -> Double? {
        let (seconds, attoseconds) = start.duration(to: .now).components
        let elapsed = Double(seconds) + Double(attoseconds) * 1e-18
        return elapsed < 0.5 ? nil : Double(received - origin) / elapsed
    }
}
