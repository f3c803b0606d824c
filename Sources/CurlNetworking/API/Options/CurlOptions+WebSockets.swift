extension CurlOptions {
    /// Options for web sockets; see <doc:WebSockets>.
    public struct WebSocketOptions: Sendable, Hashable {
        /// The message compression that a web socket offers its server (RFC 7692, permessage-deflate). The server decides whether and how
        /// messages are compressed.
        public struct Compression: Sendable, Hashable {
            /// Whether the server is asked to compress each message independently, which takes less memory and compresses less.
            public var serverNoContextTakeover = false
            /// Whether this side compresses each message independently.
            public var clientNoContextTakeover = false
            /// The largest window that the server may use, as the base-2 logarithm of its bytes: 8 to 15. The default, nil, leaves that to
            /// the server.
            public var serverMaxWindowBits: Int?
            /// The largest window that this side uses, as the base-2 logarithm of its bytes: 9 to 15. The default, nil, leaves that to the
            /// server.
            public var clientMaxWindowBits: Int?

            /// Creates compression with parameters of the server's choice.
            public init() {}
        }

        /// The compression to offer; nil for none. Without zlib (`libz.so.1`), none is offered.
        public var compression: Compression? = Compression()

        /// Whether an open web socket counts towards ``URLSessionConfiguration/httpMaximumConnectionsPerHost``. The default is false, since
        /// web sockets stay open for a long time. Their handshakes always count.
        public var countInConnectionLimits = false

        /// How long the server may take to answer ``URLSessionWebSocketTask/cancel(with:reason:)`` and, before it has all messages sent
        /// earlier, how long it may go without accepting any bytes of them. After that, the connection is closed and the task fails. The
        /// default is 10 seconds.
        public var closeTimeout = Duration.seconds(10)

        /// Creates the default options.
        public init() {}
    }
}

extension CurlOptions.WebSocketOptions {
    func validate(as name: String) throws(CurlOptionsError) {
        guard closeTimeout >= .zero else { throw CurlOptionsError("\(name).closeTimeout", "It must not be negative.") }
        if let bits = compression?.serverMaxWindowBits, !(8...15).contains(bits) {
            throw CurlOptionsError("\(name).compression.serverMaxWindowBits", "It must be 8 to 15.")
        }
        // zlib doesn't compress with a smaller window.
        if let bits = compression?.clientMaxWindowBits, !(9...15).contains(bits) {
            throw CurlOptionsError("\(name).compression.clientMaxWindowBits", "It must be 9 to 15.")
        }
    }
}

extension CurlOptions.WebSocketOptions.Compression {
    var offer: WebSocketCompression.Offer {
        WebSocketCompression.Offer(
            serverForgets: serverNoContextTakeover,
            clientForgets: clientNoContextTakeover,
            serverWindowBits: serverMaxWindowBits,
            clientWindowBits: clientMaxWindowBits
        )
    }
}
