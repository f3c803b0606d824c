import Foundation

extension CurlOptions {
    /// A handler for libcurl's log of each transfer: its messages, the heads sent and received, TLS records and, optionally, bodies; like
    /// `curl --verbose`, but per task.
    ///
    /// ```swift
    /// configuration.curl.trace = .init { task, event in print(task.taskIdentifier, event) }
    /// ```
    ///
    /// A trace costs nothing unless it is set. See <doc:EscapeHatches>.
    ///
    /// Source: [CURLOPT_DEBUGFUNCTION](https://curl.se/libcurl/c/CURLOPT_DEBUGFUNCTION.html).
    public struct Trace: Sendable {
        /// Whether bodies are included, as they are on the wire; the default is false. Nothing in them is redacted. Web sockets'
        /// messages and the bytes of streams are never included.
        public var includesBodies = false

        /// Whether credentials are replaced by `<redacted>`; the default is true.
        ///
        /// This covers the values of ``redactedFields``, user names and passwords in URLs, and FTP passwords. Secrets elsewhere, such as in
        /// a query, aren't recognised.
        public var redactsCredentials = true

        /// The header fields whose values are replaced; case doesn't matter. Add your own, such as `X-Api-Key`.
        public var redactedFields: Set<String> = [
            "Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "Set-Cookie", "Set-Cookie2",
        ]

        let handler: @Sendable (URLSessionTask, CurlTraceEvent) -> Void

        /// Creates a trace.
        ///
        /// - Parameter handler: Called on a private serial queue of the session (not the delegate queue or the event loop), one event at a
        ///   time and in libcurl's order. Up to 4 MiB of events wait for a slow handler; further ones are dropped, which an event of the
        ///   kind ``CurlTraceEvent/Kind/omitted`` reports.
        public init(_ handler: @escaping @Sendable (URLSessionTask, CurlTraceEvent) -> Void) {
            self.handler = handler
        }
    }
}

/// An event in libcurl's log of a transfer.
public struct CurlTraceEvent: Sendable, Hashable, CustomStringConvertible {
    /// The kinds of events.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// One of libcurl's messages, or why a Kerberos token couldn't be made, on one line.
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
        /// Events were dropped because the handler was too slow; ``CurlTraceEvent/text`` says how many. This event takes their place, with
        /// the task and time of the first; the others may have concerned other tasks.
        case omitted
    }

    /// The kind of event.
    public let kind: Kind
    /// The time libcurl logged the event.
    public let time: Date
    /// The bytes; for a line, without its line ending.
    public let bytes: Data

    init(_ kind: Kind, time: Date, _ bytes: Data) {
        self.kind = kind
        self.time = time
        self.bytes = bytes
    }

    /// The bytes decoded as UTF-8; anything else becomes replacement characters.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The event on one line, as `curl --verbose` would print it.
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
