import CurlNetworking
import Foundation

/// HTTP/2 against HTTP/1.1, and cold against kept connections, at a server of the user's choice.
struct Comparison {
    let url: URL
    private let requests = 256
    private let rounds = 20

    func run() async throws {
        print("\(requests) requests at once to \(url.host ?? "")\n\nversion      in all     connections  reused")
        for (name, version) in [("HTTP/1.1", CurlOptions.HTTPVersion.http1), ("automatic", .automatic)] {
            let session = makeSession(version)
            let duration = try await session.load(url, times: requests)
            let origin = await session.connections.first
            let columns = [name, duration.inMilliseconds, "\(origin?.open ?? 0)", "\(origin?.reuseCount ?? 0)"]
            print(columns.map { $0.padding(toLength: 12, withPad: " ", startingAt: 0) }.joined())
        }
        var cold = Duration.zero
        for _ in 0..<rounds { cold += try await makeSession(.automatic).load(url, times: 1) }
        let session = makeSession(.automatic)
        _ = try await session.load(url, times: 1)
        var kept = Duration.zero
        for _ in 0..<rounds { kept += try await session.load(url, times: 1) }
        print(
            "\none request, cold: \((cold / rounds).inMilliseconds), on a kept connection: \((kept / rounds).inMilliseconds)"
        )
    }

    private func makeSession(_ version: CurlOptions.HTTPVersion) -> URLSession {
        let configuration = ConnectionTuning.configuration()
        configuration.curl.httpVersion = version
        return URLSession(configuration: configuration)
    }
}
