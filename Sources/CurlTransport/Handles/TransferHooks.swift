import CCurlNetworkingLibcurl

/// A program's additions to one transfer: its own options, and a tracer.
///
/// `@unchecked Sendable`: mutable state is touched only on the loop that runs the transfer.
package final class TransferHooks: @unchecked Sendable {
    /// Called on the transfer's loop after all options are set and before it starts; if it throws, the transfer doesn't start.
    package let configure: ((EasyHandle) throws -> ConfiguredOptions)?
    let tracer: TransferTracer?
    /// The options that `configure` has set.
    package private(set) var options = ConfiguredOptions()
    /// The error that `configure` threw.
    package private(set) var error: (any Error)?

    package init(configure: ((EasyHandle) throws -> ConfiguredOptions)?, tracer: TransferTracer?) {
        self.configure = configure
        self.tracer = tracer
    }

    func configure(_ easy: EasyHandle) throws(TransferFailure) {
        do {
            if let configure { options = try configure(easy) }
        } catch {
            self.error = error
            throw TransferFailure(code: .abortedByCallback, text: "\(error)")
        }
    }
}

/// Receives libcurl's debug output for one transfer. Called within libcurl, on the transfer's loop.
package final class TransferTracer {
    package enum Kind: Sendable, Hashable, CaseIterable {
        case text, headerIn, headerOut, bodyIn, bodyOut, tlsIn, tlsOut
    }

    let record: (Kind, UnsafeRawBufferPointer) -> Void
    /// Called once, last.
    let end: () -> Void

    package init(record: @escaping (Kind, UnsafeRawBufferPointer) -> Void, end: @escaping () -> Void) {
        self.record = record
        self.end = end
    }

    /// Records what libcurl says, but for a line such as "reached easy.c:1271", with which 7.88 reports each read on a channel.
    func hear(_ kind: Kind, _ bytes: UnsafeRawBufferPointer) {
        if kind == .text, bytes.starts(with: "reached ".utf8), Self.namesSource(bytes) { return }
        record(kind, bytes)
    }

    private static func namesSource(_ bytes: UnsafeRawBufferPointer) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains("easy.c:")
    }
}

extension TransferTracer.Kind {
    init?(_ type: curl_infotype) {
        switch type {
        case CURLINFO_TEXT: self = .text
        case CURLINFO_HEADER_IN: self = .headerIn
        case CURLINFO_HEADER_OUT: self = .headerOut
        case CURLINFO_DATA_IN: self = .bodyIn
        case CURLINFO_DATA_OUT: self = .bodyOut
        case CURLINFO_SSL_DATA_IN: self = .tlsIn
        case CURLINFO_SSL_DATA_OUT: self = .tlsOut
        default: return nil
        }
    }
}
