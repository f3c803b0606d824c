import CurlNetworkingLoopbackServer

extension LoopbackServer {
    /// Keeps nothing of a request's body, and answers with its length.
    package static func counting() throws -> LoopbackServer {
        var options = Options()
        options.bodyLimit = 0
        return try LoopbackServer(options: options) { .text("\($0.bodyLength)") }
    }

    /// Accepts no connection. The kernel connects the first one or two, which get no answer; the others' attempts aren't even acknowledged.
    package static func deaf() throws -> LoopbackServer {
        try LoopbackServer(options: .deaf) { _ in .never }
    }
}

extension LoopbackServer.Options {
    package static var deaf: Self {
        var options = Self()
        options.accepts = false
        options.backlog = 0
        return options
    }
}
