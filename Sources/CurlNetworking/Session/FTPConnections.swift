import CurlTransport

/// A session's connections to FTP servers, on a loop that only FTP uses: libcurl blocks while it waits for the replies that end a transfer
/// or a connection, so a slow server delays other FTP transfers but nothing else.
///
/// `@unchecked Sendable`: the variables are accessed only on the loop.
final class FTPConnections: @unchecked Sendable {
    let loop = EventLoopGroup.ftp.next()
    let quirks = CurlQuirks.current
    private let limits: ConnectionLimits
    private var multi: Multi?
    /// Multis that finish their transfers but get no new ones.
    private var retired: [Multi] = []

    init(limits: ConnectionLimits) {
        self.limits = limits
    }

    /// The multi handle for a new transfer. Loop only.
    func currentMulti() throws(TransferFailure) -> Multi {
        retired.closeIdle()
        if let multi { return multi }
        let multi = try Multi(loop: loop, limits: limits)
        self.multi = multi
        return multi
    }

    /// Makes later transfers use new connections. Any thread.
    func renew() {
        loop.submit {
            if let multi = self.multi.take() { self.retired.append(multi) }
            self.retired.closeIdle()
        }
    }

    /// Closes everything; called once. Any thread.
    func close() {
        loop.submit {
            self.multi.take()?.close()
            self.retired.closeAll()
        }
    }
}
