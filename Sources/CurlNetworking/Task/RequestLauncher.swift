import CurlTransport
import Foundation

/// Turns a complete request into a transfer: makes its body, has the steps encode it, and counts it. Loop only; valid as long as its
/// loader.
struct RequestLauncher {
    private let loader: Loader

    init(_ loader: Loader) {
        self.loader = loader
    }

    /// Returns the transfer, which has yet to be started. Without a place at a host, `request` has a data or file URL.
    func makeTransfer(for request: URLRequest) throws(URLError) -> any Transfer {
        guard let ticket = loader.ticket else {
            let settings = loader.session.settings
            let plan = try TransferPlan(request, ticket: nil, body: nil, settings: settings, keepsCredentials: false)
            return try TransferFactory.make(plan, in: environment(of: request), bufferSize: 0)
        }
        let (handle, steps) = (loader.handle, loader.steps)
        let part = loader.part(of: request)
        let body = try handle.body.make(
            part,
            for: request,
            steps.bodyStream?.take(),
            steps.bodyFile?.take(),
            after: steps.redirect,
            wake: BodyWake.action(for: loader)
        )
        steps.bodyStream?.note(body)
        do throws(URLError) {
            let plan = try steps.plan(request, body: body, loader)
            handle.countRequest(with: body, part)
            let bufferSize = loader.sink.bufferSize ?? loader.pool.receiveBufferSize(for: ticket)
            return try TransferFactory.make(plan, in: environment(of: request), bufferSize: bufferSize)
        } catch {
            body?.close()
            throw error
        }
    }

    private func environment(of request: URLRequest) -> TransferEnvironment {
        let settings = loader.session.settings
        return TransferEnvironment(
            pool: loader.pool,
            settings: settings,
            hooks: settings.hasHooks
                ? TransferHooks(settings, for: request, of: loader.handle.task, over: loader.ticket?.origin) : nil,
            isMeasured: loader.handle.isMeasured,
            delegate: loader,
            port: loader.port,
            decidesOnResponse: loader.sink is DelegateSink
        )
    }
}
