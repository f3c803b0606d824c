import CurlNetworkingLoopbackServer

extension LoopbackServer {
    /// Keeps nothing of a request's body, and answers with its length.
    package static func counting() throws -> LoopbackServer {
        var options = Options()
        options.bodyLimit = 0
        return try LoopbackServer(options: options) { .text("\($0.bodyLength)") }
    }
}
