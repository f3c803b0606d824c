import CCurlNetworkingLibcurl
import Glibc

/// A libcurl easy handle with its error buffer and header list, used for one transfer only.
///
/// A new one costs about a microsecond. A transfer leaves state in a handle that survives even `curl_easy_reset`: libcurl 7.88.1 appends a
/// response's first line to freed memory if it begins with a space and the handle had a response before
/// (https://github.com/curl/curl/issues/11101).
///
/// Loop only. Kept alive by its `Multi` while it runs.
package final class EasyHandle {
    let handle: UnsafeMutableRawPointer
    let errorBuffer: UnsafeMutablePointer<CChar>
    private var lists = OptionLists()
    /// Receives libcurl's debug output, from `install` to the handle's end.
    private var tracer: TransferTracer?
    var tunnelResponse = TunnelResponse()
    /// Whether the handler is to decode bodies, which libcurl leaves to it: a program can turn that off.
    package internal(set) var decodesContent = true
    package internal(set) var maximumRates = MaximumRates()

    /// Set while the handle is in a multi.
    private(set) var handler: (any TransferHandler)?
    /// Its index in the multi.
    var position = 0
    private(set) weak var multi: Multi?
    /// The owner of the sockets it opens.
    private(set) var connections: ConnectionGroup?
    /// The cache its connections take TLS sessions from and add them to, while it is in a multi.
    var tlsSessions: TLSSessionCache?
    /// The socket libcurl last asked to have watched for this handle. It may have been closed since.
    var opened: OpenedSocket?
    var socket: Int32? { opened?.number }
    /// Those of its options, once it is configured.
    var traits = TransferTraits()
    /// Whether the connection is for a `Channel`.
    package var opensChannel: Bool { traits.opensChannel }
    /// Whether the handler was called since it was last settled.
    private var isUnsettled = false
    var tls = TLSSetup()
    /// nil for most transfers: those that were never paused or resumed.
    var pausing: TransferPause?
    var sharing = TransferSharing()
    /// The transfer's state in `HTTP2StalledInput`.
    var http2Input = HTTP2InputState()
    /// Whether libcurl ignores the length of the response's body that its head gives.
    package var ignoresResponseLength: Bool { http2Input.ignoresLength }
    /// Whether the last connection on which the request's body was to be sent speaks HTTP/2; known before any response.
    package var uploadsOverHTTP2: Bool { http2Input.isUpload }

    /// Whether the request was about to be sent, once or more often. A libcurl that doesn't report that says when it was by its times alone.
    private var hasBegunRequest = !CurlLibrary.reportsConnections

    package var info: TransferInfo { TransferInfo(handle: handle, hasBegunRequest: hasBegunRequest) }
    package var phase: TransferPhase { TransferPhase(of: self) }

    /// nil if libcurl is out of memory.
    init?() {
        // Swift's own `allocate` would call `posix_memalign`, which takes longer.
        guard let errorBuffer = malloc(Int(CURL_ERROR_SIZE)) else { return nil }
        guard let handle = curl_easy_init() else {
            free(errorBuffer)
            return nil
        }
        self.handle = handle
        self.errorBuffer = errorBuffer.bindMemory(to: CChar.self, capacity: Int(CURL_ERROR_SIZE))
        self.errorBuffer.pointee = 0
    }

    deinit {
        curl_easy_cleanup(handle)
        free(errorBuffer)
        tracer?.end()
    }

    // MARK: - Setting up

    /// Writes `options` onto the handle, once in its life. Throws libcurl's code for the first option it refuses.
    package func configure(_ options: some EasyOptions, on loop: EventLoop) throws(TransferFailure) {
        traits = TransferTraits(of: options)
        try setUpCallbacks()
        let group = options.connections ?? loop.otherConnections
        connections = group
        let groupContext = Unmanaged.passUnretained(group).toOpaque()
        try check(clibcurl_easy_set_open_socket(handle, Callbacks.openSocket))
        try set(CURLOPT_OPENSOCKETDATA, groupContext)
        try check(clibcurl_easy_set_close_socket(handle, Callbacks.closeSocket))
        try set(CURLOPT_CLOSESOCKETDATA, groupContext)
        if CurlLibrary.reportsConnections {
            try check(clibcurl_easy_set_prerequest(handle, .prerequestFunction, Callbacks.prerequest))
            try set(.prerequestData, Unmanaged.passUnretained(self).toOpaque())
        }
        try options.apply(to: self)
    }

    private func setUpCallbacks() throws(TransferFailure) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try set(CURLOPT_NOSIGNAL, true)
        try set(CURLOPT_PRIVATE, context)
        try set(CURLOPT_ERRORBUFFER, errorBuffer)
        try check(clibcurl_easy_set_write(handle, CURLOPT_HEADERFUNCTION, Callbacks.header))
        try set(CURLOPT_HEADERDATA, context)
        try check(clibcurl_easy_set_write(handle, CURLOPT_WRITEFUNCTION, Callbacks.write))
        try set(CURLOPT_WRITEDATA, context)
        guard traits.sendsBody else { return }
        try check(clibcurl_easy_set_read(handle, Callbacks.read))
        try set(CURLOPT_READDATA, context)
        try check(clibcurl_easy_set_seek(handle, Callbacks.seek))
        try set(CURLOPT_SEEKDATA, context)
    }

    /// libcurl reads the list until the transfer is over, so the handle keeps it. An empty list unsets the option.
    func set(_ option: CURLoption, list lines: [String]) throws(TransferFailure) {
        let list = lists.make(lines)
        guard list != nil || lines.isEmpty else { return try check(CURLE_OUT_OF_MEMORY) }
        try check(clibcurl_easy_set_list(handle, option, list))
    }

    /// The same for header lines that other handles also send.
    func set(_ headers: HeaderList) throws(TransferFailure) {
        guard let list = headers.list else { return try set(CURLOPT_HTTPHEADER, list: headers.lines) }
        lists.shared = headers
        try check(clibcurl_easy_set_list(handle, CURLOPT_HTTPHEADER, list))
    }

    /// Adds the program's own options to those already set.
    func install(_ hooks: TransferHooks) throws(TransferFailure) {
        if let tracer = hooks.tracer {
            self.tracer = tracer
            try check(clibcurl_easy_set_debug(handle, Callbacks.debug))
            try set(CURLOPT_DEBUGDATA, Unmanaged.passUnretained(tracer).toOpaque())
            // Lookups over HTTPS are libcurl's own transfers, which inherit the verbose flag but not the function.
            if let devNull = Self.devNull { try set(CURLOPT_STDERR, UnsafeMutableRawPointer(devNull)) }
            try set(CURLOPT_VERBOSE, true)
        }
        guard hooks.configure != nil else { return }
        // The program then manages connections itself.
        if sharing.awaitsResponse { keepConnection() }
        try hooks.configure(self)
    }

    /// Opened once; we never write to it.
    nonisolated(unsafe) private static let devNull = fopen("/dev/null", "we")

    // MARK: - Running

    /// Called by the multi that the handle enters.
    func start(in multi: Multi, for handler: any TransferHandler) {
        self.multi = multi
        self.handler = handler
    }

    /// Called by the multi that the handle has left: libcurl's later calls for it have no effect.
    func stop() {
        handler = nil
        multi = nil
        pausing = nil
        if sharing.awaitsResponse { endedUnanswered() }
    }

    /// Whether the transfer, as long as it has no connection, waits in libcurl for room on its origin's.
    package var lacksRoom: Bool { connections?.isFull == true }

    /// The open socket of the transfer's IP connection, which other transfers may share.
    package var connectedSocket: Int32? { connections?.socket(of: self) }

    /// Whether that connection has been closed, by either side.
    package var hasLostConnection: Bool {
        guard info.endpoints != nil, connections != nil else { return false }
        return connectedSocket.map(TCPSocket.hasEnded) ?? true
    }

    // MARK: - Callbacks, within libcurl

    func connected(fromPort localPort: Int) {
        hasBegunRequest = true
        let connectCount = info.long(CURLINFO_NUM_CONNECTS)
        tunnelResponse.ends(at: connectCount)
        if traits.sendsBody { http2Input.isUpload = sharing.isMultiplexed(info.negotiatedProtocol) }
        if connectCount == 0 { connections?.hangUpReadable(onPort: localPort, hasLeftovers: info.hasTLSLeftovers) }
        guard traits.reportsConnection else { return }
        markUnsettled()
        handler?.transferConnected(negotiated: info.negotiatedProtocol)
    }

    func received(headerLine bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        connections?.calls.notePassed(bytes.count)
        if tunnelResponse.isReported,
            tunnelResponse.hasLine(status: info.long(CURLINFO_RESPONSE_CODE), at: info.long(CURLINFO_NUM_CONNECTS))
        {
            return handler?.transferReceived(tunnelHeaderLine: bytes) ?? .abort
        }
        if sharing.awaitsResponse { keepConnection() }
        if traits.sendsBody { multi?.recheck.headLineCame(bytes, for: self) }
        if let pausing, pausing.isPaused { return pausing.hold(bytes) }
        markUnsettled()
        return handler?.transferReceived(headerLine: bytes) ?? .abort
    }

    func received(body bytes: UnsafeRawBufferPointer) -> ReceiveVerdict {
        connections?.calls.notePassed(bytes.count)
        if isPaused { return .pause }
        markUnsettled()
        return handler?.transferReceived(body: bytes) ?? .abort
    }

    func needsBody(into buffer: UnsafeMutableRawBufferPointer) -> SendVerdict {
        if isPaused { return .pause }
        let wasStarved = handler?.isStarved == true
        let verdict = handler?.transferNeedsBody(into: buffer) ?? .abort
        if case .bytes(let count) = verdict { connections?.calls.notePassed(count) }
        // libcurl 7.88 may ask repeatedly until the server takes the last bytes: that isn't progress.
        if case .bytes(0) = verdict, http2Input.saidEnd { return verdict }
        // Nor is it if the body still has nothing to read when libcurl is made to ask again.
        if case .pause = verdict, wasStarved, handler?.isStarved == true { return verdict }
        markUnsettled()
        return verdict
    }

    func rewindsBody(to offset: Int64) -> Bool { handler?.transferRewindsBody(to: offset) ?? false }

    /// Has the handler's `transferSettled` called soon. Within libcurl or outside.
    package func markUnsettled() {
        guard !isUnsettled, let multi else { return }
        isUnsettled = true
        multi.scheduleSettling(of: self)
    }

    /// Called by the multi outside of libcurl, once after each series of callbacks.
    func settle() {
        isUnsettled = false
        handler?.transferSettled()
    }

    /// The handle whose `CURLOPT_PRIVATE` is in `easy`. O(1).
    static func of(_ easy: UnsafeMutableRawPointer) -> EasyHandle? {
        var context: UnsafeMutableRawPointer?
        guard clibcurl_easy_get_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK, let context else { return nil }
        return Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
    }
}

extension CURLoption {
    fileprivate static let prerequestFunction = CURLoption(UInt32(CLIBCURL_OPT_PREREQFUNCTION))
    fileprivate static let prerequestData = CURLoption(UInt32(CLIBCURL_OPT_PREREQDATA))
}
