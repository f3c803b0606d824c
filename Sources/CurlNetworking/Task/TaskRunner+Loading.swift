import Curl
import Foundation

// The loop's side of a task. Every method here runs on the loop; those that libcurl's callbacks reach say so.

extension TaskRunner {
    /// What the loop knows of the task.
    struct Loading {
        enum Preparation {
            case none
            /// No protocol class takes the request: it is the network's.
            case declined
            case underway, done
        }

        /// The body being received goes from `offset` to `end` of the file.
        struct Appending {
            var offset: Int64
            var end: Int64
            var completeLength: Int64?
        }

        var destination: TaskRunner.Destination
        var preparation = Preparation.none
        var ticket: Admission.Ticket?
        var exchange: Exchange?
        /// Something else loads instead of an exchange.
        var load: (any Load)?
        /// The lane of the next request's origin, while the task is about to move there.
        var nextLane: SessionLane?
        /// nil for tasks that have nothing to do with credentials.
        @Rare var authentication: Authentication?
        /// A handshake that waits for a decision.
        var handshake: TaskRunner.HandshakeTalk?
        /// The response that waits for a decision.
        var held: HeldResponse?
        /// The same of a redirect that a protocol class has reported.
        var reportedRedirect: HTTPURLResponse?
        /// What follows the exchange under way instead of the task's end.
        var nextRequest: URLRequest?
        var redirectCount = 0
        var budget = TaskBudget()
        /// A redirect has said to fetch something else instead (RFC 9110 §15.4.4).
        var hasLeftBody = false
        /// What has been gathered for the task's metrics, and a hop under way that is no exchange.
        var hops: [HopMetrics] = []
        @Rare var hopWithoutExchange: HopMetrics?

        /// The stream that the next exchange sends. A stream serves once.
        var bodyStream: InputStream?
        /// The last one that was sent: the request's own, or one that the delegate gave.
        var spentStream: InputStream?
        var hasSpentStream: Bool { spentStream != nil }
        /// A kept connection turned out to be dead after the body had begun: the next exchange makes its own.
        var avoidsKeptConnections = false
        /// Those that it shared with others had no room for it, time and again: the next exchange gets its own.
        var needsOwnConnection = false

        var cookies = TaskRunner.Cookies()
        var caching = TaskRunner.Caching()

        var memory = Data()
        /// The task's own delegate hears of what goes into memory as well.
        var copiesMemory = false
        /// How many bytes it will probably have to hold.
        var reservation = 0
        var receivedSinceSettled: Int64 = 0
        /// Takes the body apart, where each of its parts replaces the one before.
        @Rare var parts: BodyParts?
        var file: DownloadFile?
        /// The head that belongs to the body being received.
        var head: ResponseHead?
        /// The file held something to go on from, and the server has been asked for the rest.
        var resumption: Resumption?
        /// A part of the representation is being appended to the file.
        var appending: Appending?
        /// What the part before was validated with: the answer with the rest need not repeat it.
        var appendedValidator: Resumption.Validator?
        /// Its partial file has become superfluous once this task succeeds.
        var supersedesPartialFile = false
        /// The partial file turned out to be all there is.
        var isComplete = false

        var waiting = Waiting()

        var deadline: Deadline?
        /// nil before the first resuming.
        var resourceClock: ResourceClock?
        var bytesMovedAtLastActivity: Int64 = 0
    }
}

extension TaskRunner {
    /// Called after each wish: does whatever the machine says is to be done.
    func runOnLoop() {
        lane.loop.preconditionOnLoop()
        while let command = nextCommand() {
            switch command {
            case .enterQueue: enterQueue()
            case .leaveQueue: leaveQueue()
            case .setPaused(let isPaused):
                loading.load?.setPaused(isPaused)
                guard loading.exchange?.setPaused(isPaused) ?? true else {
                    // Tried again when libcurl next calls.
                    return shared.withLock { $0.machine.pauseFailed() }
                }
                rearmDeadline()
            case .cancel(let cancellation): end(cancelledBy: cancellation)
            }
        }
        // Also where the transfer is over, and only the completion waits.
        if loading.cookies.writes > 0, shared.withLock({ $0.machine.cancellation != nil }) {
            stopWaitingForCookieWrites()
        }
    }

    private func nextCommand() -> TaskStateMachine.Command? {
        let (command, runsClock) = shared.withLock { ($0.nextCommand(), $0.machine.runsResourceClock) }
        if let runsClock { setResourceClock(isRunning: runsClock) }
        return command
    }

    // MARK: - Before the transfer

    func enterQueue() {
        if mustWait() { return }
        switch loading.preparation {
        case .none, .declined: prepare()
        case .underway: break
        case .done: enterAdmission()
        }
    }

    /// The task's priority has changed while it waited.
    func reviewPriority() {
        guard let ticket = loading.ticket else { return }
        lane.setPriority(shared.withLock { $0.priority }, of: ticket)
    }

    private func leaveQueue() {
        if let ticket = loading.ticket.take() { lane.leave(ticket) }
        rearmDeadline()
    }

    /// Makes ready what the first exchange needs; `prepared` goes on.
    private func prepare() {
        if startsProtocolLoad() { return }
        prepareForNetwork()
    }

    /// The cache has no answer, or was not asked.
    func prepareExchange() {
        // What follows an exchange goes on with the file there is.
        switch loading.file == nil ? resumption : nil {
        case nil:
            prepareBodyStream()
        case .failure(let error):
            finish(.failure(error))
        case .success(let resumption):
            loading.preparation = .underway
            let directory = session.settings.temporaryDirectory
            // Copying can take a while, which the loop has not.
            DispatchQueue.global(qos: .utility).async { [self] in
                nonisolated(unsafe) let copy = Result { () throws(URLError) in
                    try DownloadFile(copying: resumption.partialFile, in: directory)
                }
                submit { self.prepared(resuming: resumption, from: copy) }
            }
        }
    }

    /// `copy` is nil where the partial file is gone or no longer the same: then the download starts from zero.
    private func prepared(resuming resumption: ResumeData, from copy: Result<DownloadFile?, URLError>) {
        switch copy {
        case .failure(let error):
            finish(.failure(error))
        case .success(let file):
            guard isUnfinished else {
                file?.remove()
                return
            }
            if let file {
                loading.file = file
                loading.resumption = resumption.resumption(from: file.length)
                loading.supersedesPartialFile = true
            }
            prepared()
        }
    }

    func prepared() {
        loading.preparation = .done
        if shared.withLock({ $0.machine.stage == .queued }) { enterAdmission() }
    }

    var isUnfinished: Bool {
        shared.withLock { shared in
            switch shared.machine.stage {
            case .parked, .queued, .loading: true
            case .finished, .completed: false
            }
        }
    }

    private func enterAdmission() {
        if deliversStoredResponse() { return }
        do throws(URLError) {
            try secureRequest()
            let (request, priority) = shared.withLock { ($0.currentRequest, $0.priority) }
            guard let request else { throw URLError(.unsupportedURL, nil, "The task has no request.") }
            guard let origin = try RequestEncoder.origin(of: request) else { return startLocalLoad(request) }
            if let ticket = loading.ticket {
                // A redirect within an origin keeps its place.
                if ticket.origin == origin { return admitted(ticket) }
                loading.ticket = nil
                lane.leave(ticket)
            }
            let home = session.lanes.lane(for: origin)
            guard home === lane else { return move(to: home) }
            let ticket = Admission.Ticket(origin: origin, runner: self)
            loading.ticket = ticket
            if lane.enter(ticket, priority: priority) { admitted(ticket) }
        } catch {
            finish(.failure(error))
        }
    }

    /// The session has a connection for this task.
    func admitted(_ ticket: Admission.Ticket) {
        guard ticket === loading.ticket else { return lane.leave(ticket) }
        let request = shared.withLock { $0.machine.admit() ? $0.currentRequest : nil }
        guard let request else {
            loading.ticket = nil
            return lane.leave(ticket)
        }
        do throws(URLError) {
            try ticket.origin.isFTP ? startFTPLoad(request) : startExchangeWithCookies(request)
        } catch {
            finish(.failure(error))
        }
    }

    func startExchange(_ request: URLRequest) throws(URLError) {
        let body = try makeBody(for: request)
        let exchange = Exchange(request: request, body: body, loop: lane.loop, owner: self)
        do throws(URLError) {
            var options = try RequestEncoder.options(
                for: request,
                body: body,
                settings: session.settings,
                keepsCredentials: isAtOriginalOrigin
            )
            if let cookies = loading.cookies.field { options.addCookies(cookies) }
            addCacheFields(to: &options)
            if let resumption = loading.resumption { options.replaceHeaders(resumption.fields) }
            try takeRoute(&options, of: request)
            authenticate(&options, of: request)
            if let ticket = loading.ticket {
                try lane.choose(
                    &options,
                    for: ticket,
                    avoidingKept: loading.avoidsKeptConnections,
                    alone: loading.needsOwnConnection
                )
                prepareHandshake(&options, with: ticket.origin)
            }
            options.connectTimeout = session.settings.idleTimeout(for: request)
            switch loading.destination {
            case .memory:
                if let ticket = loading.ticket { options.receiveBufferSize = lane.receiveBufferSize(for: ticket) }
            case .file: options.receiveBufferSize = 256 * 1024
            // libcurl reads up to 101 of them before it can be paused.
            case .stream: options.receiveBufferSize = 16 * 1024
            }
            countRequest(withBodyOf: body?.length, hasBody: body != nil)
            if shared.withLock({ $0.isWatched(in: session) }) {
                exchange.gatherMetrics(throughProxy: route.server != nil)
            }
            let hatches = hatches(for: request)
            do throws(TransferFailure) {
                try exchange.start(options, hatches, in: multi(for: options))
            } catch {
                throw URLError(error, of: hatches, url: request.url)
            }
        } catch {
            body?.close()
            throw error
        }
        loading.exchange = exchange
        loading.bytesMovedAtLastActivity = 0
        rearmDeadline()
    }

    /// False once a redirect has led elsewhere: there the session's own credentials have no business either.
    private var isAtOriginalOrigin: Bool {
        loading.redirectCount == 0 || originalOrigin == loading.ticket?.origin
    }
}
