/// The transfers that would wait for a socket in vain: nobody watches it, or libcurl forgets them. Loop only.
///
/// `SocketWatch` fills it, and sees to the transfers.
struct MissedSockets {
    var starved = StarvedTransfers()
    var stranded = StrandedTransfers()
    /// Transfers whose attempt to connect to an address has failed: see `CurlQuirks.forgetsNextAddress`.
    var betweenAddresses: [EasyHandle] = []
    /// A socket of libcurl's own that the system refuses to watch: libcurl doesn't hear of names that are looked up.
    var unheard: Int32?

    /// Called when the multi is closed.
    mutating func removeAll() {
        self = MissedSockets()
    }
}
