import Foundation

extension CurlOptions {
    /// An ear for what libcurl says about each transfer: its words, the heads that go out and come in, TLS's records, and
    /// optionally the bodies. Like `curl --verbose`, task by task.
    ///
    /// ```swift
    /// configuration.curl.trace = .init { task, event in print(task.taskIdentifier, event) }
    /// ```
    ///
    /// Without one, nothing is installed and nothing is paid for. See <doc:EscapeHatches>.
    ///
    /// libcurl: [CURLOPT_DEBUGFUNCTION](https://curl.se/libcurl/c/CURLOPT_DEBUGFUNCTION.html).
    public struct Trace: Sendable {
        /// Whether the bodies are delivered too, as they are on the wire; the default is false. Nothing in them is redacted.
        public var includesBodies = false

        /// Whether credentials are replaced by `<redacted>`; the default is true.
        ///
        /// They are the values of ``redactedFields``, user names and passwords in URLs, and FTP's passwords. A secret elsewhere, such
        /// as in a query, is not recognised.
        public var redactsCredentials = true

        /// The header fields whose values are replaced; case makes no difference. Add a program's own: `X-Api-Key`.
        public var redactedFields: Set<String> = [
            "Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "Set-Cookie", "Set-Cookie2",
        ]

        let handler: @Sendable (URLSessionTask, CurlTraceEvent) -> Void

        /// A trace.
        ///
        /// - Parameter handler: Called on a serial queue of the session's own, one event at a time and in libcurl's order, neither
        ///   with the delegate's messages nor on the event loop. Events wait for a slow handler up to 4 MiB of them; more are left
        ///   out, and an event of the kind ``CurlTraceEvent/Kind/omitted`` says so.
        public init(_ handler: @escaping @Sendable (URLSessionTask, CurlTraceEvent) -> Void) {
            self.handler = handler
        }
    }
}

/// Something that libcurl says about a transfer.
public struct CurlTraceEvent: Sendable, Hashable, CustomStringConvertible {
    /// What an event is.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// A line of libcurl's own words.
        case text
        /// A line of a head that has come in, or of an FTP server's replies; the empty line ends a head.
        case headerIn
        /// A line of a head that goes out, or an FTP command.
        case headerOut
        /// Bytes of a body that has come in, as on the wire; with ``CurlOptions/Trace/includesBodies`` alone.
        case bodyIn
        /// Bytes of a body that goes out; with ``CurlOptions/Trace/includesBodies`` alone.
        case bodyOut
        /// A message of the TLS handshake, or the head of a TLS record, that has come in.
        case tlsIn
        /// The same that goes out.
        case tlsOut
        /// Events were left out, because the handler was too slow; ``CurlTraceEvent/text`` says how many.
        case omitted
    }

    /// What it is.
    public let kind: Kind
    /// When libcurl said it.
    public let time: Date
    /// The bytes; a line without its end.
    public let bytes: Data

    init(_ kind: Kind, time: Date, _ bytes: Data) {
        self.kind = kind
        self.time = time
        self.bytes = bytes
    }

    /// The bytes as UTF-8, with replacement characters for what is none.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// One line, in the manner of `curl --verbose`.
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
