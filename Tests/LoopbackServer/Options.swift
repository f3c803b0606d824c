extension LoopbackServer {
    /// When the handler is asked for a response.
    package enum Answering: Sendable {
        /// When the request is complete, its body stored.
        case afterBody
        /// As soon as the head is there; the body is then read while the response is sent, see `Step.waitForBody`. The
        /// server sends no `100 Continue` by itself.
        case atHead
    }

    /// How a server treats its clients.
    package struct Options: Sendable {
        /// The largest head, in bytes; a larger one is answered with 431.
        package var headLimit = 64 * 1024
        /// How much of a request body is stored; the rest is only counted.
        package var bodyLimit = 16 * 1024 * 1024
        /// Whether `Expect: 100-continue` is answered with 100 before the body is read.
        package var sendsContinue = true
        /// Whether a client may close its sending direction and still get its answer. If not, as in most servers, its
        /// FIN ends the connection, even in the middle of an answer.
        package var allowsHalfClose = false
        /// Whether requests are kept in `requests`, to be waited for individually. A benchmark that sends millions turns it
        /// off.
        package var keepsRequests = true
        /// Whether connections are taken from the backlog. If not, the first `backlog` + 1 connect and get no answer, and
        /// the others' attempts aren't even acknowledged.
        package var accepts = true
        /// How many connections the kernel completes before they are accepted; it has its own limit.
        package var backlog = 4096

        package init() {}
    }
}
