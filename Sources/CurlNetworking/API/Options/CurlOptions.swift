import Foundation

/// Options of the transport below `URLSession`; an addition of this module.
///
/// ```swift
/// let configuration = URLSessionConfiguration.default
/// configuration.curl.temporaryDirectory = URL(fileURLWithPath: "/var/lib/mirror/incoming")
/// configuration.curl.hosts["slow.example.com"].maximumConnections = 2
/// ```
///
/// A session copies its options when it is created. Creating one with options that make no sense, or that the linked libcurl
/// lacks, is a programming error and traps with the option's name; ``validate()`` checks them beforehand.
public struct CurlOptions: Sendable {
    /// Where downloads are written until they are moved away, and where partial files wait to be resumed.
    ///
    /// The default is the system's temporary directory (`TMPDIR`, else `/tmp`). A directory on the file system of the
    /// downloads' final place makes moving them there free. Partial files to resume are only looked for here.
    public var temporaryDirectory: URL = FileManager.default.temporaryDirectory

    /// Whether creating the session makes the process ignore SIGPIPE, if that still has its default action.
    ///
    /// The default is true: otherwise a peer that closes its connection at the wrong moment can end the process.
    /// Set it to false if the program handles the signal itself. Source:
    /// [CURLOPT_NOSIGNAL](https://curl.se/libcurl/c/CURLOPT_NOSIGNAL.html).
    public var ignoresBrokenPipeSignal = true

    /// Which certificates connections trust and present, and how they are encrypted.
    public var tls = TLSOptions()

    /// Whether hosts that ask for it are sent requests over https only; the default is `.off`.
    ///
    /// When it is on, an http request to a host whose `Strict-Transport-Security` field is remembered is sent over https, and nothing of it
    /// over http. The task's `currentRequest` and its response's `url` are https then; `originalRequest` is unchanged, and no delegate is
    /// asked. Source: RFC 6797; [CURLOPT_HSTS](https://curl.se/libcurl/c/CURLOPT_HSTS.html), whose file has the same format.
    public var strictTransportSecurity = StrictTransportSecurity.off

    /// The proxy for requests; the default is `.system`. See <doc:Proxies>.
    public var proxy = Proxy.system

    /// Options for some hosts only.
    public var hosts = HostTable()

    /// How names are resolved, and what connections are bound to.
    public var names = Names()

    /// Sets further libcurl options on each transfer, right before it starts; nil, the default, for none.
    ///
    /// Called for every request that is sent over http, https or ftp, including each redirect and each repetition, with the request as
    /// it is then. It runs on the host's event loop and must not block: all other transfers wait for it. An error that it throws fails
    /// the task; a `URLError` is passed on unchanged. See <doc:EscapeHatches> for the options that can't be set, and for those that keep
    /// a response out of the cache: all that concern more than the connection. Once it has set one about whom to trust, such as
    /// `CAINFO`, the session's requests for https aren't answered from the cache; use ``tls`` where you can.
    ///
    /// ```swift
    /// configuration.curl.configureTransfer = { transfer, request in
    ///     try transfer.set("TCP_FASTOPEN", true)
    /// }
    /// ```
    public var configureTransfer: (@Sendable (inout CurlTransfer, URLRequest) throws -> Void)?

    /// Receives what libcurl logs about each transfer; nil, the default, for no log. See <doc:EscapeHatches>.
    public var trace: Trace?

    /// How many connections the session may have at once, to all hosts together and including idle ones; nil, the default, for no limit.
    ///
    /// Further requests wait until a connection is free at any host: those of higher ``URLSessionTask/priority`` first, then in the order
    /// in which they were resumed. Idle connections are closed to make room. FTP has its own connections. Source:
    /// [CURLMOPT_MAX_TOTAL_CONNECTIONS](https://curl.se/libcurl/c/CURLMOPT_MAX_TOTAL_CONNECTIONS.html).
    public var maximumConnections: Int?

    /// While the session has more connections than this, including busy ones, a connection is closed when its request is done instead of
    /// being kept for the next. The default is 256, or the limit of connections to one host if that is higher. Source:
    /// [CURLMOPT_MAXCONNECTS](https://curl.se/libcurl/c/CURLMOPT_MAXCONNECTS.html).
    public var maximumKeptConnections: Int?

    /// How many requests share one HTTP/2 connection before another is opened; the default is 100. A server may allow fewer. Source:
    /// [CURLMOPT_MAX_CONCURRENT_STREAMS](https://curl.se/libcurl/c/CURLMOPT_MAX_CONCURRENT_STREAMS.html).
    public var maximumStreamsPerConnection: Int?

    /// How many event loops the session spreads its hosts over, 1 to 64; the default is 1.
    ///
    /// A loop is a serial queue that moves the bytes of its hosts' transfers, so it never uses more than one core. More loops pay off with
    /// many or fast hosts, TLS and compressed bodies; a single host gains nothing. Each host (scheme, name and port) is bound to one loop, a new
    /// host to the loop with the fewest, so its connections are shared and limited as with one loop. ``maximumConnections`` and
    /// ``maximumKeptConnections`` are divided among the loops, and there are never more loops than connections. See <doc:TuningConnections>.
    ///
    /// Sessions share the process's loops. Sessions with one loop are spread over a small set: half as many loops as cores, 4 at most. Other
    /// sessions get as many different loops as they ask for.
    public var eventLoops = 1

    /// Whether Swift tasks may run on the session's event loop: ``URLSession/taskExecutor`` is nil otherwise. The default is false.
    ///
    /// A loop waits while a task runs on it. So the session gets its loops from another set, which it shares only with sessions that have
    /// this option as well: a task that computes or blocks for long delays none but their transfers. See <doc:TuningConnections>.
    public var runsTasksOnEventLoop = false

    /// Which HTTP versions connections may use.
    public var httpVersion = HTTPVersion.automatic

    /// How connections are made and kept, and how fast transfers may be.
    public var connections = ConnectionOptions()

    /// How web sockets compress their messages, whether they count towards the connection limits, and how long closing one may take. See
    /// <doc:WebSockets>.
    public var webSockets = WebSocketOptions()

    /// The version of the IETF's draft on resumable uploads with which an upload task offers to be resumed, 3 to 8; nil for no offer.
    ///
    /// The number is the draft's interoperability version. The default is 6, which most servers know; Apple's clients have sent 3 (iOS 17),
    /// 5 (iOS 18.0), 6 (iOS 18.1) and 8 (iOS 26). The server may answer with another version from 3 to 8. The offer is two or three header
    /// fields; a server that doesn't know them sees an ordinary upload. See <doc:ResumableUploads>.
    public var uploadInteropVersion: Int? = 6

    /// Where a background session keeps its state, and who does its transfers; see <doc:BackgroundSessions>. No effect in other sessions.
    public var background = Background()

    /// The default options.
    public init() {}
}
