import CCurlNetworkingLibcurl
import Glibc

// Every function pointer passed to libcurl, and nothing else. Each converts the C arguments, calls a typed method and maps its verdict to
// the constant in libcurl's documentation. The easy handles' contexts are `EasyHandle`s, kept alive by the `Multi` they run in; a multi's
// context is the `Multi`, retained while it has a libcurl handle; the context of sockets, which connections keep beyond the transfer that
// opened them, is a `ConnectionGroup`, retained by its sockets; a trace's context is its `TransferTracer`, which the `EasyHandle` retains.

enum Callbacks {
    /// https://curl.se/libcurl/c/CURLOPT_HEADERFUNCTION.html
    static let header: clibcurl_write_function = { pointer, size, count, context in
        let bytes = UnsafeRawBufferPointer(start: pointer, count: size * count)
        return answer(easy(context).received(headerLine: bytes), of: bytes)
    }

    /// https://curl.se/libcurl/c/CURLOPT_WRITEFUNCTION.html
    static let write: clibcurl_write_function = { pointer, size, count, context in
        let bytes = UnsafeRawBufferPointer(start: pointer, count: size * count)
        return answer(easy(context).received(body: bytes), of: bytes)
    }

    /// https://curl.se/libcurl/c/CURLOPT_READFUNCTION.html
    static let read: clibcurl_read_function = { pointer, size, count, context in
        let buffer = UnsafeMutableRawBufferPointer(start: pointer, count: size * count)
        let easy = easy(context)
        switch easy.needsBody(into: buffer) {
        case .bytes(0):
            guard easy.multi?.recheck.mayEndBody(of: easy) ?? true else { return Int(CURL_READFUNC_PAUSE) }
            easy.http2Input.bodyEnded()
            return 0
        case .bytes(let count):
            easy.http2Input.gave(count)
            return count
        case .pause:
            easy.multi?.recheck.bodyPaused(easy)
            return Int(CURL_READFUNC_PAUSE)
        case .abort: return Int(CURL_READFUNC_ABORT)
        }
    }

    /// https://curl.se/libcurl/c/CURLOPT_SEEKFUNCTION.html
    static let seek: clibcurl_seek_function = { context, offset, origin in
        guard origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
        let easy = easy(context)
        easy.http2Input.rewound()
        return easy.rewindsBody(to: Int64(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
    }

    /// https://curl.se/libcurl/c/CURLOPT_XFERINFOFUNCTION.html
    static let progress: clibcurl_progress_function = { context, _, _, _, _ in
        let easy = easy(context)
        let place = easy.connections?.calls.currentPlace ?? 0
        return easy.tunnelResponse.progressed(at: place) ? 0 : 1
    }

    /// https://curl.se/libcurl/c/CURLOPT_OPENSOCKETFUNCTION.html
    static let openSocket: clibcurl_open_socket_function = { context, _, address in
        guard let address else { return CURL_SOCKET_BAD }
        return group(context).openSocket(
            family: address.pointee.family,
            type: address.pointee.socktype,
            protocolNumber: address.pointee.protocol
        )
    }

    /// https://curl.se/libcurl/c/CURLOPT_CLOSESOCKETFUNCTION.html
    static let closeSocket: clibcurl_close_socket_function = { context, socket in
        group(context).closeSocket(socket)
        return 0
    }

    /// CURL_PREREQFUNC_ABORT, which older headers lack.
    private static let abortPrerequest: Int32 = 1

    /// https://curl.se/libcurl/c/CURLOPT_PREREQFUNCTION.html
    static let prerequest: clibcurl_prerequest_function = { context, _, _, _, localPort in
        let easy = easy(context)
        if easy.handler?.isAnswered == true || easy.handler?.responseWatch?.hasHeard == true { return abortPrerequest }
        easy.connected(fromPort: Int(localPort))
        easy.multi?.recheck.requestGoesOut(easy)
        easy.connections?.watchResponse(to: easy, onPort: Int(localPort))
        // When it sends a request again, libcurl 7.88 would continue after the part of the body it had read, unless it had sent some of
        // that.
        let hasWholeBody = !easy.traits.sendsBody || easy.rewindsBody(to: 0)
        if !hasWholeBody || easy.connections?.mayCarry(easy) == false {
            easy.sharing.refusal = .there
        } else if !easy.sharing.takeSend() {
            easy.sharing.refusal = .again
        }
        guard easy.sharing.refusal == nil else { return abortPrerequest }
        easy.multi?.requestGoesOut(fromPort: Int(localPort))
        return 0
    }

    /// https://curl.se/libcurl/c/CURLOPT_DEBUGFUNCTION.html
    static let debug: clibcurl_debug_function = { _, type, pointer, size, context in
        let tracer: TransferTracer = object(context)
        let bytes = UnsafeRawBufferPointer(start: pointer, count: size)
        // libcurl 8 reports the end of a body as an empty piece.
        if size > 0, let kind = TransferTracer.Kind(type) { tracer.hear(kind, bytes) }
        return 0
    }

    /// https://curl.se/libcurl/c/CURLOPT_SSL_CTX_FUNCTION.html
    static let sslContext: clibcurl_ssl_context_function = { user, sslContext, context in
        guard let sslContext else { return CURLE_OK }
        return easy(context).configures(sslContext, for: user)
    }

    /// https://curl.se/libcurl/c/CURLMOPT_SOCKETFUNCTION.html
    static let socket: clibcurl_socket_function = { easy, socket, what, context, _ in
        // `easy` can be one of libcurl's internal handles.
        multi(context).sockets.interestChanged(socket, what, of: easy.flatMap { EasyHandle.of($0) })
        return 0
    }

    /// https://curl.se/libcurl/c/CURLMOPT_TIMERFUNCTION.html
    static let timer: clibcurl_timer_function = { _, milliseconds, context in
        multi(context).timerChanged(milliseconds)
        return 0
    }

    /// Any count but the one passed makes libcurl end the transfer with `CURLE_WRITE_ERROR`; this one can't be a count.
    private static let writeError = Int(UInt32.max)

    private static func answer(_ verdict: ReceiveVerdict, of bytes: UnsafeRawBufferPointer) -> Int {
        switch verdict {
        case .accepted: bytes.count
        case .pause: Int(CURL_WRITEFUNC_PAUSE)
        case .abort: writeError
        }
    }

    private static func easy(_ context: UnsafeMutableRawPointer?) -> EasyHandle {
        object(context)
    }

    private static func group(_ context: UnsafeMutableRawPointer?) -> ConnectionGroup {
        object(context)
    }

    private static func multi(_ context: UnsafeMutableRawPointer?) -> Multi {
        object(context)
    }

    private static func object<Object: AnyObject>(_ context: UnsafeMutableRawPointer?) -> Object {
        guard let context else { preconditionFailure("libcurl lost the context that it was given") }
        return Unmanaged.fromOpaque(context).takeUnretainedValue()
    }
}
