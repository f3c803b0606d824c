import CurlNetworking
import CurlNetworkingExampleSupport
import Foundation

@main
struct Main {
    static let usage = "usage: curlnetworking-live-ticker URL [LAST-ID]"

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard 1...2 ~= words.count, let url = URL(string: words[0]), url.host != nil,
            let last = words.count == 2 ? Int(words[1]) : 0
        else { fail(usage, code: 64) }
        do {
            try await untilInterrupted {
                var generator = SystemRandomNumberGenerator()
                try await Ticker(url: url, clock: ContinuousClock()).run(after: last, using: &generator) { quote in
                    say("\(quote.id)\t\(quote.symbol)\t\(quote.price)")
                } lost: { error, delay in
                    note("connection lost: \(error.localizedDescription); again in \(delay)")
                }
            }
        } catch is CancellationError {
            fail("interrupted", code: 130)
        } catch Ticker<ContinuousClock>.Failure.refused(let status) {
            fail("the server refuses: \(status)")
        } catch {
            fail("\(error)")
        }
    }
}
