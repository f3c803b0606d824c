/// A group of options for the connections to one origin; `ConnectionProfile` holds them all.
package protocol ConnectionSettings: Sendable {
    /// Throws libcurl's code for the first option that it refuses.
    func apply(to easy: EasyHandle) throws(TransferFailure)
}

/// All options, beyond the defaults, for connections to one origin. Made once for each origin and shared by all transfers to it: a transfer
/// pays only for what its profile sets, and one without a profile pays nothing.
package final class ConnectionProfile: Sendable {
    package let settings: [any ConnectionSettings]

    package init(_ settings: [any ConnectionSettings]) {
        self.settings = settings
    }

    func apply(to easy: EasyHandle) throws(TransferFailure) {
        for setting in settings { try setting.apply(to: easy) }
    }
}
