import CurlNetworking
import Foundation

/// `trace URL DOH`: loads URL, its name asked of DOH, with a trace, and says whether there was any.
enum TraceCommand {
    static func run(_ arguments: [String]) async {
        guard arguments.count == 2, let url = URL(string: arguments[0]) else { return Parent.say("trace URL DOH") }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.names.dnsOverHTTPS = URL(string: arguments[1])
        let (events, continuation) = AsyncStream<CurlTraceEvent>.makeStream()
        configuration.curl.trace = .init { _, event in continuation.yield(event) }
        _ = try? await URLSession(configuration: configuration).data(from: url)
        for await event in events where event.kind == .text { return Parent.say("traced") }
    }
}
