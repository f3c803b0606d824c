import Foundation

/// Options for the transport below `URLSession`; an addition of this module.
///
/// ```swift
/// let configuration = URLSessionConfiguration.default
/// configuration.curl.temporaryDirectory = URL(fileURLWithPath: "/var/lib/mirror/incoming")
/// configuration.curl.hosts["slow.example.com"].maximumConnections = 2
/// ```
///
/// A session copies its options when it is created. Creating a session with options that are invalid, or that the linked
/// libcurl lacks, is a programming error and traps with the option's name; ``validate()`` checks beforehand.
public struct CurlOptions: Sendable {
    /// The directory for downloads until they are moved away, and for partial files to resume.
    ///
    /// The default is the system's temporary directory (`TMPDIR`, else `/tmp`). A directory on the same file system
    /// as the downloads' destination makes moving them free. Partial files are looked for only here.
    public var temporaryDirectory = UserFolder.temporary()

    /// Whether creating a session makes the process ignore SIGPIPE, if the signal still has its default action.
    ///
    /// The default is true: otherwise a peer that closes its connection at the wrong moment can end the process.
    /// Set it to false if the program handles the signal itself. Source:
    /// [CURLOPT_NOSIGNAL](https://curl.se/libcurl/c/CURLOPT_NOSIGNAL.html).
    public var ignoresBrokenPipeSignal = true

    /// Options for the certificates to trust and to present, and for encryption.
    public var tls = TLSOptions()

    /// Whether requests to hosts that ask for it are sent only over https; the default is `.off`.
    ///
    /// If enabled, an http request to a host with a stored `Strict-Transport-Security` policy is sent over https, and no part of it over
    /// http. The task's `currentRequest` and its response's `url` then have the https scheme; `originalRequest` is unchanged, and no
    /// delegate is asked. Source: RFC 6797; [CURLOPT_HSTS](https://curl.se/libcurl/c/CURLOPT_HSTS.html), whose file has the same format.
    public var strictTransportSecurity = StrictTransportSecurity.off

    /// The proxy for requests; the default is `.system`. See <doc:Proxies>.
    public var proxy = Proxy.system

    /// Options for some hosts only.
    public var hosts = HostTable()

    /// Options for resolving names and binding connections.
    public var names = Names()

    /// A closure that sets further libcurl options on each transfer just before it starts; nil, the default, for none.
    ///
    /// Called for every request sent over http, https or ftp, including each redirect and retry, with the request in its current form. It
    /// runs on the host's event loop and must not block: all other transfers wait for it. An error that it throws fails the task; a
    /// `URLError` is passed on unchanged. See <doc:EscapeHatches> for options that can't be set, and for those that keep a response out of
    /// the cache: all that affect more than the connection. For web sockets, upgrades and stream tasks, libcurl only makes the connection:
    /// an option that could have no effect there can't be set, and ``CurlTransfer/onlyConnects`` tells them apart. Once the closure has set a trust option, such as `CAINFO`, the session's https
    /// requests are no longer answered from the cache; use ``tls`` where you can.
    ///
    /// ```swift
    /// configuration.curl.configureTransfer = { transfer, request in
    ///     try transfer.set("TCP_FASTOPEN", true)
    /// }
    /// ```
    public var configureTransfer: (@Sendable (inout CurlTransfer, URLRequest) throws -> Void)?

    /// The handler for libcurl's log of each transfer; nil, the default, for no log. See <doc:EscapeHatches>.
    public var trace: Trace?

    /// The maximum number of simultaneous connections, idle ones included, to all hosts together; nil, the default, for no limit.
    ///
    /// Further requests wait until a connection to any host is free: those of higher ``URLSessionTask/priority`` first, then in the order
    /// in which they were resumed. Idle connections are closed to make room. FTP has its own connections. Source:
    /// [CURLMOPT_MAX_TOTAL_CONNECTIONS](https://curl.se/libcurl/c/CURLMOPT_MAX_TOTAL_CONNECTIONS.html).
    public var maximumConnections: Int?

    /// The number of connections, busy ones included, above which a connection is closed when its request is done instead of being kept for
    /// reuse. The default is 256, or the limit of connections to one host if that is higher. Source:
    /// [CURLMOPT_MAXCONNECTS](https://curl.se/libcurl/c/CURLMOPT_MAXCONNECTS.html).
    public var maximumKeptConnections: Int?

    /// The maximum number of requests per HTTP/2 connection before another is opened; the default is 100. A server may allow fewer. Source:
    /// [CURLMOPT_MAX_CONCURRENT_STREAMS](https://curl.se/libcurl/c/CURLMOPT_MAX_CONCURRENT_STREAMS.html).
    public var maximumStreamsPerConnection: Int?

    /// The number of event loops that the session spreads its hosts over, 1 to 64; the default is 1.
    ///
    /// A loop is a serial queue that moves the bytes of its hosts' transfers, so it never uses more than one core. More loops pay off with
    /// many or fast hosts, TLS and compressed bodies; a single host gains nothing. Each host (scheme, name and port) is bound to one loop,
    /// a new host to the loop with the fewest hosts, so its connections are shared and limited as with one loop. ``maximumConnections`` and
    /// ``maximumKeptConnections`` are divided among the loops, and there are never more loops than connections. See
    /// <doc:TuningConnections>.
    ///
    /// Sessions share the process's loops. Sessions with one loop are spread over a small set: half as many loops as cores, at most 4.
    /// Other sessions get as many distinct loops as they ask for.
    public var eventLoops = 1

    /// Whether Swift tasks may run on the session's event loop; if false, the default, ``URLSession/taskExecutor`` is nil.
    ///
    /// A loop waits while a task runs on it. The session therefore gets its loops from a separate set, shared only with other sessions that
    /// set this option: a task that computes or blocks for long delays only their transfers. See <doc:TuningConnections>.
    public var runsTasksOnEventLoop = false

    /// The HTTP versions that connections may use.
    public var httpVersion = HTTPVersion.automatic

    /// Options for opening and keeping connections and limiting transfer speeds.
    public var connections = ConnectionOptions()

    /// Options for web sockets: compression, connection limits and the time-out for closing. See <doc:WebSockets>.
    public var webSockets = WebSocketOptions()

    /// The version of the IETF's draft on resumable uploads that upload tasks offer, 3 to 8; nil for no offer.
    ///
    /// The number is the draft's interoperability version. The default is 6, which most servers support; Apple's clients have sent 3 (iOS
    /// 17), 5 (iOS 18.0), 6 (iOS 18.1) and 8 (iOS 26). The server may answer with another version from 3 to 8. The offer is two or three
    /// header fields; a server that doesn't know them sees an ordinary upload. See <doc:ResumableUploads>.
    public var uploadInteropVersion: Int? = 6

    /// Options for background sessions; see <doc:BackgroundSessions>. No effect in other sessions.
    public var background = Background()

    /// Creates the default options.
    public init() {}
}
