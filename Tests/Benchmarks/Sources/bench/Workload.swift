/// Who does the work.
enum Contender: String, CaseIterable, Codable {
    case raw, ours, stock
}

/// How a URLSession is called. The raw client has no styles.
enum Style: String {
    case async, handler, delegate
}

/// What a row of the table compares.
enum Measure: String, Codable {
    /// Microseconds of CPU per request.
    case cpuPerRequest = "CPU per request"
    /// The same, and the server's CPU with it.
    ///
    /// Over loopback, the kernel does the work of both ends of a connection on the thread that happens to call it: where one side takes
    /// less, the other may take that much more.
    case cpuOfBothSides = "CPU of both sides per request"
    /// Microseconds of CPU per second in which nothing happens, or others do the work.
    case cpuPerSecond = "CPU per second"
    /// Microseconds within which 99 of 100 requests are answered.
    case latency = "time of 99 %"
    /// KiB of memory per open transfer.
    case memoryPerTransfer = "memory per transfer"
}

/// What ours may cost.
enum Limit {
    /// So many times what the raw client costs.
    case timesRaw(Double)
    /// So many units of the measure, where the raw client's cost is next to nothing.
    case absolute(Double)
}

/// One kind of work against one address, and the rows of the table that come from it.
struct Workload {
    enum Scenario: String {
        case get, download, upload, slow, handshake, idle
        /// Small bodies to files.
        case files
        /// A large response over a connection that a program reads itself.
        case stream
        /// Messages over web sockets that come back; the same compressed, for which the raw client is zlib alone.
        case echo, deflate
        /// Messages over one web socket, in one direction.
        case send, receive
        /// Many web sockets that are opened; and that are open while nothing happens.
        case sockets, silence
        /// Downloads of a background session; for the raw client, a download to a file.
        case background
    }

    /// Whose CPU counts where an agent does the work.
    enum Share: String {
        case program, agent, both
    }

    /// Which of the servers of this run is addressed.
    enum Address {
        case plain(String)
        /// HTTP/2 over TLS, with the certificate trusted.
        case trusted(String)
        /// HTTP/1.1 over TLS, with the certificate trusted; the server closes each connection after one response.
        case closing(String)
        /// HTTP/2 over TLS, with the certificate not trusted.
        case untrusted(String)
        /// A server that accepts and never answers.
        case silent
        /// A web-socket server, which sends every message back unless its path says otherwise.
        case sockets(String = "/")

        /// Whether the run's own certificate must be trusted.
        var needsTrust: Bool {
            switch self {
            case .trusted, .closing: true
            case .plain, .untrusted, .silent, .sockets: false
            }
        }
    }

    /// What the URLSessions have besides the transport. The raw client has nothing.
    enum Session: String {
        /// Neither cache nor cookies nor credentials.
        case bare
        /// Everything that `URLSessionConfiguration.default` has.
        case `default`
        /// As bare, and the Swift tasks run on the session's event loop.
        case executor
    }

    /// How many requests each contender makes in one slice: some tenths of a second where that is possible.
    struct Requests {
        var raw: Int
        var ours: Int
        var stock: Int

        init(_ raw: Int, ours: Int? = nil, stock: Int? = nil) {
            self.raw = raw
            self.ours = ours ?? raw
            self.stock = stock ?? raw
        }

        subscript(contender: Contender) -> Int {
            switch contender {
            case .raw: raw
            case .ours: ours
            case .stock: stock
            }
        }
    }

    struct Row {
        /// The last part of the row's name; the style of calling where nothing else is said.
        var name: String
        var style: Style
        var title: String
        var measure: Measure
        var limit: Limit?

        init(
            _ style: Style,
            _ title: String,
            name: String? = nil,
            measure: Measure = .cpuPerRequest,
            limit: Limit? = nil
        ) {
            self.name = name ?? style.rawValue
            self.style = style
            self.title = title
            self.measure = measure
            self.limit = limit
        }
    }

    var name: String
    var scenario: Scenario
    var address: Address
    var requests: Requests
    /// How often the contenders take turns.
    var rounds = 9
    var inFlight = 1
    var session = Session.bare
    /// The length that each response body must have.
    var expect: Int?
    /// The raw client's CURLOPT_BUFFERSIZE where it isn't libcurl's default.
    var rawBuffer: Int?
    /// Whether the children's malloc keeps freed memory instead of returning it to the kernel.
    ///
    /// With bodies of a megabyte glibc gives the top of the heap back and faults it in again as chance places the
    /// blocks, which can double the cost of a request for any contender.
    var keepsFreedMemory = false
    /// `get`: a path of the same server from which bodies are fetched meanwhile, over and over, and how many at once.
    var beside: (path: String, count: Int)?
    /// How long `slow` and `idle` hold the state that they measure.
    var seconds = 1
    /// Bytes of each message over a web socket.
    var messageSize: Int?
    /// Who takes part. The stock module has no web sockets on Debian 12, and no stream tasks.
    var contenders = Contender.allCases
    /// `idle`: suspend every task first.
    var suspends = false
    /// `background`: whose CPU counts.
    var share = Share.both
    /// What a reader of the table must know; printed once, below it.
    var remark: String?
    var rows: [Row]

    /// The states that these measure can be entered once per process.
    var needsFreshProcess: Bool {
        [.slow, .idle, .sockets, .silence].contains(scenario)
    }

    func id(of row: Row) -> String {
        "\(name)/\(row.name)"
    }
}
