/// Some of what libcurl is told about the connections to one origin; `ConnectionProfile` holds all of it.
package protocol ConnectionSettings: Sendable {
    /// Fails with libcurl's code for the first option that it refuses.
    func apply(to easy: EasyHandle) throws(TransferFailure)
}

/// What libcurl is told about every connection to one origin, beyond the defaults. Made once for each origin, and shared by all
/// transfers there: a transfer pays for what its profile sets, and one without a profile pays nothing.
package final class ConnectionProfile: Sendable {
    package let settings: [any ConnectionSettings]

    package init(_ settings: [any ConnectionSettings]) {
        self.settings = settings
    }

    func apply(to easy: EasyHandle) throws(TransferFailure) {
        for setting in settings { try setting.apply(to: easy) }
    }
}
