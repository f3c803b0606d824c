import CurlNetworking
import CurlNetworkingExampleSupport
import Foundation

/// Delivers the messages in a file, a URL and a JSON text in each line. The secret that signs them is in the environment, in base64.
@main
struct Main {
    static let usage = """
        usage: WEBHOOK_SECRET=BASE64 curlnetworking-webhook-dispatcher [--identity PEM-FILE] [--authority PEM-FILE] FILE
        """

    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        let identity = takeOption("--identity", from: &words)
            .map { TLSIdentity.pem(certificates: .file(URL(fileURLWithPath: $0))) }
        let authority = takeOption("--authority", from: &words).map { URL(fileURLWithPath: $0) }
        let secret = ProcessInfo.processInfo.environment["WEBHOOK_SECRET"].flatMap { Data(base64Encoded: $0) }
        guard words.count == 1, let secret, !secret.isEmpty else { fail(usage, code: 64) }
        do {
            let deliveries = try deliveries(in: words[0])
            let dispatcher = try Dispatcher(secret: secret, identity: identity, authority: authority)
            let failures = try await untilInterrupted { try await dispatch(deliveries, with: dispatcher) }
            if failures > 0 { fail("\(failures) of \(deliveries.count) could not be delivered") }
        } catch is CancellationError {
            fail("interrupted", code: 130)
        } catch {
            fail("\(error)")
        }
    }

    static func dispatch(_ deliveries: [Delivery], with dispatcher: Dispatcher) async throws -> Int {
        try await dispatcher.dispatch(deliveries) { delivery, failure in
            let outcome = failure.map { "failed: \($0)" } ?? "delivered"
            say("\(delivery.id) \(delivery.url.absoluteString) \(outcome)")
        }
    }

    static func deliveries(in file: String) throws -> [Delivery] {
        try String(contentsOfFile: file, encoding: .utf8).split(whereSeparator: \.isNewline).map { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let url = URL(string: String(parts[0])), url.host != nil else {
                throw Refusal(description: "neither URL nor message: \(line)")
            }
            return Delivery(url: url, body: Data(parts[1].utf8))
        }
    }
}
