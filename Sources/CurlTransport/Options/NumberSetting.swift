import CCurlNetworkingLibcurl

/// A tuning option that libcurl takes as a number.
package struct NumberSetting: ConnectionSettings {
    package let option: NamedOption
    /// In libcurl's unit.
    package let value: Int
    /// Only for transfers that send a body.
    package let needsBody: Bool

    package init(_ option: NamedOption, _ value: Int, needsBody: Bool = false) {
        (self.option, self.value, self.needsBody) = (option, value, needsBody)
    }

    package func apply(to easy: EasyHandle) throws(TransferFailure) {
        guard !needsBody || easy.traits.sendsBody else { return }
        try easy.set(option, number: value)
    }
}

extension Duration {
    /// The value in multiples of `unit`, in 32 bits: rounded up, and at least 1, since libcurl takes 0 for its default.
    package func count(of unit: Duration) -> Int {
        Int(min(max(1, self / unit), Double(Int32.max)).rounded(.up))
    }
}
