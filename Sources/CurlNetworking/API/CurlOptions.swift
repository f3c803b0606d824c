import Foundation

/// What a program can set about the transport below `URLSession`; an addition of this module.
///
/// ```swift
/// let configuration = URLSessionConfiguration.default
/// configuration.curl.temporaryDirectory = URL(fileURLWithPath: "/var/lib/mirror/incoming")
/// configuration.curl.hosts["slow.example.com"].maximumConnections = 2
/// ```
///
/// A session takes its options over when it is created. Creating one with options that make no sense, or that the linked
/// libcurl lacks, is a programming error and traps with the option's name; ``validate()`` tells beforehand.
public struct CurlOptions: Sendable {
    /// Where downloads are written until they are moved away, and where partial files wait to be resumed.
    ///
    /// The default is the system's temporary directory (`TMPDIR`, else `/tmp`). A directory on the file system of the
    /// downloads' final place makes moving them there free. Resuming looks for partial files here and nowhere else.
    public var temporaryDirectory: URL = FileManager.default.temporaryDirectory

    /// Whether creating the session makes the process ignore SIGPIPE, should it still have the default action.
    ///
    /// The default is true: without it, a peer that closes its connection at the wrong moment can end the process.
    /// Set it to false where the program installs its own handling. Source:
    /// [CURLOPT_NOSIGNAL](https://curl.se/libcurl/c/CURLOPT_NOSIGNAL.html).
    public var ignoresBrokenPipeSignal = true

    /// Whom connections trust, what they show of themselves, and how they are encrypted.
    public var tls = TLSOptions()

    /// Whether hosts that ask for it get requests over https alone; the default is `.off`.
    ///
    /// With it, a request for http to a host whose `Strict-Transport-Security` field is remembered goes out over https, before anything of it
    /// does otherwise: the task's `currentRequest` and its response's `url` say https, `originalRequest` what was asked for, and no delegate
    /// is asked. Source: RFC 6797; [CURLOPT_HSTS](https://curl.se/libcurl/c/CURLOPT_HSTS.html), whose file is the same.
    public var strictTransportSecurity = StrictTransportSecurity.off

    /// Which proxy requests go through; the default is `.system`. See <doc:Proxies>.
    public var proxy = Proxy.system

    /// What holds for some hosts alone.
    public var hosts = HostTable()

    /// How hosts are found, and from where they are connected to.
    public var names = Names()

    /// Sets further options of libcurl on each transfer, right before it starts; nil, the default, for none.
    ///
    /// Called for every request that goes out over http, https or ftp: each hop of a redirect and each repetition is one of its
    /// own, with the request as it is then. It runs on the host's event loop, where all other transfers wait for it: it must not
    /// block. What it throws fails the task, a `URLError` as it is. See <doc:EscapeHatches> for what can't be set.
    ///
    /// ```swift
    /// configuration.curl.configureTransfer = { transfer, request in
    ///     try transfer.set("TCP_FASTOPEN", true)
    /// }
    /// ```
    public var configureTransfer: (@Sendable (inout CurlTransfer, URLRequest) throws -> Void)?

    /// Hears what libcurl says about each transfer; nil, the default, for nobody. See <doc:EscapeHatches>.
    public var trace: Trace?

    /// How many connections the session has at once in all, idle ones included; nil, the default, for no limit.
    ///
    /// Requests beyond it wait for the next place at any host, those of higher ``URLSessionTask/priority`` first and then in order
    /// of their resuming; idle connections make room. FTP has connections of its own. Source:
    /// [CURLMOPT_MAX_TOTAL_CONNECTIONS](https://curl.se/libcurl/c/CURLMOPT_MAX_TOTAL_CONNECTIONS.html).
    public var maximumConnections: Int?

    /// While the session has more connections than this, busy ones included, one is closed as soon as its request is over
    /// instead of being kept for the next. The default is 256, or as many as the session opens to one host if those are more. Source:
    /// [CURLMOPT_MAXCONNECTS](https://curl.se/libcurl/c/CURLMOPT_MAXCONNECTS.html).
    public var maximumKeptConnections: Int?

    /// How many requests share one HTTP/2 connection before another is opened; the default is 100. A server may allow fewer. Source:
    /// [CURLMOPT_MAX_CONCURRENT_STREAMS](https://curl.se/libcurl/c/CURLMOPT_MAX_CONCURRENT_STREAMS.html).
    public var maximumStreamsPerConnection: Int?

    /// Over how many event loops the session spreads its hosts, 1 to 64; the default is 1.
    ///
    /// A loop is a serial queue that moves the bytes of its hosts' transfers, and never uses more than one core: TLS, decoding and the
    /// transport of many or fast hosts can be worth more. Each host (scheme, name and port) is bound to one of the loops, new ones to that with
    /// the fewest, so its connections are shared and limited as ever; ``maximumConnections`` and ``maximumKeptConnections`` are divided among
    /// the loops, of which there are no more than that. One host gains nothing. See <doc:TuningConnections>.
    ///
    /// Sessions share the process's loops: those with one take turns on a small set, of half as many loops as cores and 4 at most; others take
    /// as many different ones as they ask for.
    public var eventLoops = 1

    /// Which versions of HTTP connections may speak.
    public var httpVersion = HTTPVersion.automatic

    /// How connections are made and kept, and how fast they may be.
    public var connections = ConnectionOptions()

    /// The default options.
    public init() {}
}
