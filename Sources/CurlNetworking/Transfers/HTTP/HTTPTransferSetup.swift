import CurlTransport

/// The input of `HTTPTransfer.start()`. A class, because a payload of an enum is copied on every access.
final class HTTPTransferSetup {
    let options: TransferOptions
    let hooks: TransferHooks?
    let multi: Multi
    /// The HTTP version that is spoken without TLS.
    let plainVersion: ConnectionVersion

    init(options: TransferOptions, hooks: TransferHooks?, multi: Multi) {
        plainVersion = ConnectionVersion(withoutTLS: options, hooks)
        self.options = options
        self.hooks = hooks
        self.multi = multi
    }
}
