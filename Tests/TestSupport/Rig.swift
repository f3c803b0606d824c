import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer

/// What most tests begin with: a server, and a session to use it with.
///
///     let rig = try Rig { _ in .text("hello") }
///     defer { rig.stop() }
///     #expect(await rig.session.load(rig.url("/")).text == "hello")
package struct Rig: Sendable {
    package let server: LoopbackServer
    package let session: URLSession

    /// Starts a `LoopbackServer` with the first arguments, and makes a `URLSession.forTest` with the others.
    package init(
        answering: LoopbackServer.Answering = .afterBody,
        options: LoopbackServer.Options = LoopbackServer.Options(),
        delegate: (any URLSessionDelegate)? = nil,
        delegateQueue: OperationQueue? = nil,
        handler: @escaping LoopbackServer.Handler,
        configure: (URLSessionConfiguration) -> Void = { _ in }
    ) throws {
        let server = try LoopbackServer(answering: answering, options: options, handler)
        self.init(server, delegate: delegate, delegateQueue: delegateQueue, configure: configure)
    }

    /// With an existing server, which belongs to the rig from here on.
    package init(
        _ server: LoopbackServer,
        delegate: (any URLSessionDelegate)? = nil,
        delegateQueue: OperationQueue? = nil,
        configure: (URLSessionConfiguration) -> Void = { _ in }
    ) {
        self.server = server
        session = .forTest(delegate: delegate, delegateQueue: delegateQueue, configure)
    }

    /// The server's URL with this path and query.
    package func url(_ path: String) -> URL { server.url(path) }

    /// Cancels everything in the session, and stops the server.
    package func stop() {
        session.invalidateAndCancel()
        server.stop()
    }
}
