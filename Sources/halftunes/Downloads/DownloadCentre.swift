import CurlNetworking
import Foundation

/// Downloads items into a folder, several at once: starts, pauses, resumes and cancels them, and records what is paused.
///
/// Its methods may be called from any thread, and take effect on `queue`, which is also the session's delegate queue: so everything happens
/// in order, and `report` is called in that order.
final class DownloadCentre: NSObject, @unchecked Sendable {
    // @unchecked: mutable state is touched only on `queue`.
    /// The process that downloads.
    enum Transfers {
        /// This process, until it closes the centre.
        case here
        /// The agent of a background session, which continues after this process has ended.
        case background
    }

    let folder: DownloadFolder
    let transfers: Transfers
    let queue = DispatchQueue(label: "halftunes.downloads")
    private let places: Int
    private let report: @Sendable (Download) -> Void

    // MARK: Touched on the queue only

    private var session: URLSession?
    private(set) var downloads: [URL: Download] = [:]
    /// The downloads waiting for a place, in order.
    private var waiting: [URL] = []
    /// With the downloads they are for.
    var tasks: [Int: (task: URLSessionDownloadTask, id: URL)] = [:]
    /// The tasks that have been checkpointed.
    private var checkpointed: Set<Int> = []
    /// Called when nothing is moving any more.
    private var whenAtRest: [() -> Void] = []
    private var isClosing = false

    /// - Parameters:
    ///   - places: How many downloads run at once; in the background, how many from one server.
    ///   - report: Called on the queue, for every change of every download.
    init(
        folder: DownloadFolder,
        places: Int,
        transfers: Transfers = .here,
        report: @escaping @Sendable (Download) -> Void
    ) {
        self.folder = folder
        self.transfers = transfers
        // The agent gets all of them at once: waiting ones need this process no more than the others.
        self.places = transfers == .background ? .max : places
        self.report = report
        super.init()

        let configuration =
            switch transfers {
            case .here: URLSessionConfiguration.ephemeral
            case .background: BackgroundDownloads.configuration(for: folder.url)
            }
        configuration.httpMaximumConnectionsPerHost = places
        configuration.timeoutIntervalForRequest = 30
        configuration.urlCache = nil
        configuration.curl.temporaryDirectory = folder.partials
        let delegateQueue = OperationQueue()
        delegateQueue.maxConcurrentOperationCount = 1
        delegateQueue.underlyingQueue = queue
        session = URLSession(configuration: configuration, delegate: self, delegateQueue: delegateQueue)
    }

    // MARK: - Requests

    /// Takes over downloads that earlier runs began in the background; returns and reports them.
    func restore() async -> [Download] {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                guard case .background = transfers, let session else { return continuation.resume(returning: []) }
                // Called on the delegate queue, which is ours.
                session.getAllTasks { [self] tasks in
                    for case let task as URLSessionDownloadTask in tasks where self.tasks[task.taskIdentifier] == nil {
                        adopt(task)
                    }
                    continuation.resume(returning: Array(downloads.values))
                }
            }
        }
    }

    /// Shows a download that was paused in an earlier run. Does nothing if it is already known.
    func add(_ pauseFile: PauseFile) {
        queue.async { [self] in
            guard downloads[pauseFile.item.url] == nil else { return }
            let download = Download(pauseFile.item, paused: pauseFile)
            downloads[download.id] = download
            report(download)
        }
    }

    /// Downloads an item, from where it was paused if it was; a file that is already there, in its place or not, is only compared with its
    /// checksum.
    func start(_ item: DownloadItem) {
        queue.async { [self] in
            if downloads[item.url] != nil { return request(item.url) }
            var download = Download(item)
            let arrival = folder.uncheckedArrival(of: item)
            if let arrival {
                _ = download.found(length: arrival.length)
            } else if let pauseFile = folder.pauseFile(of: item) {
                download = Download(item, paused: pauseFile)
                _ = download.request()
            } else if let length = folder.length(of: item) {
                _ = download.found(length: length)
            }
            update(download)
            if case .checking = download.state { check(item, arrival: arrival) } else { enqueue(item.url) }
        }
    }

    /// Shows which of these items are already in the folder; those that don't match their checksum aren't shown.
    func showExistingFiles(of items: [DownloadItem]) {
        queue.async { [self] in
            for item in items where downloads[item.url] == nil && folder.pauseFile(of: item) == nil {
                guard let length = folder.length(of: item) else { continue }
                compare(folder.destination(of: item), with: item) { [self] result in
                    guard case .success(let isRight) = result, isRight != false, downloads[item.url] == nil else {
                        return
                    }
                    update(Download(item, foundComplete: length))
                }
            }
        }
    }

    /// Forgets a finished download whose file has been removed.
    func forget(_ id: URL) {
        queue.async { [self] in
            if case .finished = downloads[id]?.state { downloads[id] = nil }
        }
    }

    /// Resumes or restarts a paused, failed or cancelled download.
    func resume(_ id: URL) {
        queue.async { [self] in request(id) }
    }

    func pause(_ id: URL) {
        queue.async { [self] in
            guard var download = downloads[id], let action = download.pause() else { return }
            update(download)
            switch action {
            case .nothing: break
            case .cancelTask: cancelKeepingPartialFile(download)
            }
        }
    }

    func cancel(_ id: URL) {
        queue.async { [self] in
            guard var download = downloads[id] else { return }
            let task = download.task
            guard download.cancel() else { return }
            if let task { tasks[task]?.task.cancel() }
            update(download)
        }
    }

    /// Pauses all running downloads, and returns when they have been recorded; the centre takes no more requests. In the background they
    /// are recorded by the agent, and continue.
    func close() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                isClosing = true
                whenAtRest.append { continuation.resume() }
                if case .here = transfers { for id in downloads.keys { pause(id) } }
                queue.async { [self] in settle() }
            }
        }
        let session = queue.sync { self.session }
        switch transfers {
        case .here: session?.finishTasksAndInvalidate()
        case .background: await session?.flush()
        }
    }

    // MARK: - Implementation

    private func request(_ id: URL) {
        guard !isClosing, var download = downloads[id], download.request() else { return }
        update(download)
        enqueue(id)
    }

    private func enqueue(_ id: URL) {
        guard !isClosing else { return change(id) { $0.pause() != nil } }
        waiting.append(id)
        fillPlaces()
    }

    private func fillPlaces() {
        while downloads.values.count(where: { $0.task != nil }) < places, !waiting.isEmpty {
            run(waiting.removeFirst())
        }
    }

    private func run(_ id: URL) {
        guard !isClosing, var download = downloads[id], case .waiting = download.state, let session else { return }
        let task = download.resumeData.map(session.downloadTask(withResumeData:)) ?? session.downloadTask(with: id)
        guard download.start(task: task.taskIdentifier) else { return }
        task.taskDescription = download.item.description
        tasks[task.taskIdentifier] = (task, id)
        update(download)
        task.resume()
    }

    private func cancelKeepingPartialFile(_ download: Download) {
        guard let identifier = download.task, let task = tasks[identifier]?.task else { return }
        // Called on the delegate queue, which is ours.
        task.cancel { [self] resumeData in
            change(download.id) { $0.paused(task: identifier, resumeData: resumeData) }
        }
    }

    /// Takes over a task of an earlier run. Does nothing if its description doesn't say what it downloads, or another task already does
    /// that.
    func adopt(_ task: URLSessionDownloadTask) {
        guard let item = task.taskDescription.flatMap(DownloadItem.init(description:)),
            downloads[item.url]?.task == nil
        else { return }
        let (identifier, expected) = (task.taskIdentifier, task.countOfBytesExpectedToReceive)
        tasks[identifier] = (task, item.url)
        // The task takes its place.
        folder.removePauseFile(of: item)
        let received = task.countOfBytesReceived
        update(Download(item, running: identifier, received: received, expected: expected > 0 ? expected : nil))
    }

    /// - Parameter arrival: The file that isn't in its place yet; nil to check the one that is. The latter stays until the former proves
    ///   right.
    func check(_ item: DownloadItem, arrival: Arrival? = nil) {
        compare(arrival?.file ?? folder.destination(of: item), with: item) { [self] result in
            do {
                let isRight = try result.get()
                if let arrival, isRight != false { try folder.install(arrival, as: item) }
                if let arrival, isRight == false { folder.remove(arrival) }
                change(item.url) { $0.checked(isRight: isRight) }
            } catch {
                if let arrival { folder.remove(arrival) }
                change(item.url) { $0.failedToCheck(error.localizedDescription) }
            }
            guard case .waiting = downloads[item.url]?.state else { return }
            enqueue(item.url)
        }
    }

    /// Compares `file` with the item's checksum off the queue, and calls back on the queue; with nil if there is nothing to compare with.
    private func compare(
        _ file: URL,
        with item: DownloadItem,
        _ completion: @escaping @Sendable (Result<Bool?, any Error>) -> Void
    ) {
        DispatchQueue.global(qos: .utility).async { [self] in
            let result = Result { try item.sha256.map { wanted in try SHA256.digest(ofFile: file) == wanted } }
            queue.async { completion(result) }
        }
    }

    /// From the first bytes on, keeps on disk what a later run needs to resume, in case this one is killed. In the background the agent
    /// does that, and the data that the download was resumed from is obsolete.
    ///
    /// - Parameter isFirst: Whether the bytes just written are the file's first: the task has started (over).
    func keepCheckpoint(of task: URLSessionDownloadTask, isFirst: Bool) {
        let identifier = task.taskIdentifier
        guard checkpointed.insert(identifier).inserted || isFirst else { return }
        if case .background = transfers {
            if let item = owner(of: task)?.item { folder.removePauseFile(of: item) }
            return
        }
        Task { [self] in
            guard let resumeData = await task.checkpoint() else { return }
            queue.async { [self] in
                guard let download = downloads.values.first(where: { $0.task == identifier }),
                    case .running = download.state
                else { return }
                // The download continues without it.
                try? folder.save(PauseFile(download, resumeData: resumeData))
            }
        }
    }

    /// Called when the task has ended.
    func forgetTask(_ identifier: Int) {
        tasks[identifier] = nil
        checkpointed.remove(identifier)
        settle()
    }

    /// Takes a step of a download, and reports the download if the step applied.
    func change(_ id: URL, _ step: (inout Download) -> Bool) {
        guard var download = downloads[id], step(&download) else { return }
        update(download)
    }

    private func update(_ download: Download) {
        dispatchPrecondition(condition: .onQueue(queue))
        var download = download
        do {
            try updatePauseFile(of: download)
        } catch {
            download.failedToSave("its pause file can't be written: \(error.localizedDescription)")
        }
        downloads[download.id] = download
        report(download)
        fillPlaces()
        settle()
    }

    private func settle() {
        let isAtRest =
            switch transfers {
            // A cancelled task has a file until it has ended.
            case .here: tasks.isEmpty && !downloads.values.contains(where: \.isBusy)
            case .background: !downloads.values.contains(where: \.isInHand)
            }
        guard isAtRest else { return }
        let actions = whenAtRest
        whenAtRest = []
        for action in actions { action() }
    }

    /// Keeps the `.resume` file up to date. It stays while the download continues from it, until the first checkpoint replaces it: if the
    /// program is killed, it is still valid.
    private func updatePauseFile(of download: Download) throws {
        switch download.state {
        case .paused, .failed:
            guard let pauseFile = PauseFile(download) else { return folder.removePauseFile(of: download.item) }
            try folder.save(pauseFile)
        case .finished, .cancelled:
            folder.removePauseFile(of: download.item)
        case .checking(let isNew):
            if isNew { folder.removePauseFile(of: download.item) }
        case .waiting, .running, .pausing:
            break
        }
    }
}
