import Foundation

extension CurlOptions {
    /// Receives what libcurl logs about each transfer: its messages, the heads sent and received, TLS records, and optionally the bodies.
    /// Like `curl --verbose`, task by task.
    ///
    /// ```swift
    /// configuration.curl.trace = .init { task, event in print(task.taskIdentifier, event) }
    /// ```
    ///
    /// Costs nothing unless it is set. See <doc:EscapeHatches>.
    ///
    /// Source: [CURLOPT_DEBUGFUNCTION](https://curl.se/libcurl/c/CURLOPT_DEBUGFUNCTION.html).
    public struct Trace: Sendable {
        /// Whether bodies are included, as they are on the wire; the default is false. Nothing in them is redacted.
        public var includesBodies = false

        /// Whether credentials are replaced by `<redacted>`; the default is true.
        ///
        /// Replaced are the values of ``redactedFields``, user names and passwords in URLs, and FTP passwords. A secret elsewhere, such as
        /// in a query, isn't recognised.
        public var redactsCredentials = true

        /// The header fields whose values are replaced, in any case. Add your own, such as `X-Api-Key`.
        public var redactedFields: Set<String> = [
            "Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "Set-Cookie", "Set-Cookie2",
        ]

        let handler: @Sendable (URLSessionTask, CurlTraceEvent) -> Void

        /// A trace.
        ///
        /// - Parameter handler: Called on a serial queue of the session's own, one event at a time and in libcurl's order; neither on the
        ///   delegate queue nor on the event loop. Up to 4 MiB of events wait for a slow handler. Further ones are left out, and an event of
        ///   the kind ``CurlTraceEvent/Kind/omitted`` says so.
        public init(_ handler: @escaping @Sendable (URLSessionTask, CurlTraceEvent) -> Void) {
            self.handler = handler
        }
    }
}

/// Something that libcurl logged about a transfer.
public struct CurlTraceEvent: Sendable, Hashable, CustomStringConvertible {
    /// What an event is.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// One of libcurl's messages, one line.
        case text
        /// A line of a received head, or of an FTP server's reply; an empty line ends a head.
        case headerIn
        /// A line of a sent head, or an FTP command.
        case headerOut
        /// Bytes of a received body, as on the wire; only with ``CurlOptions/Trace/includesBodies``.
        case bodyIn
        /// Bytes of a sent body; only with ``CurlOptions/Trace/includesBodies``.
        case bodyOut
        /// A received message of the TLS handshake, or the header of a received TLS record.
        case tlsIn
        /// A sent message of the TLS handshake, or the header of a sent TLS record.
        case tlsOut
        /// Events were left out because the handler was too slow; ``CurlTraceEvent/text`` says how many. It comes in their place, with the
        /// task and the time of the first of them; the others may have been about other tasks.
        case omitted
    }

    /// What kind of event it is.
    public let kind: Kind
    /// When libcurl logged it.
    public let time: Date
    /// The bytes; a line without its line end.
    public let bytes: Data

    init(_ kind: Kind, time: Date, _ bytes: Data) {
        self.kind = kind
        self.time = time
        self.bytes = bytes
    }

    /// The bytes as UTF-8, with replacement characters for anything else.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// One line, as `curl --verbose` would print it.
    public var description: String {
        switch kind {
        case .text, .omitted: "* \(text)"
        case .headerIn: "< \(text)"
        case .headerOut: "> \(text)"
        case .bodyIn: "{ [\(bytes.count) bytes of a body]"
        case .bodyOut: "} [\(bytes.count) bytes of a body]"
        case .tlsIn: "{ [\(bytes.count) bytes of TLS]"
        case .tlsOut: "} [\(bytes.count) bytes of TLS]"
        }
    }
}
