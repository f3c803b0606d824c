import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer

/// What the limit of connections to a host means to a slow server's client.
struct Limits {
    private let requests = 128

    func run() async throws {
        let server = try ConnectionTuning.slowServer(.milliseconds(20))
        defer { server.stop() }
        print("\(requests) requests at once to a server that takes 20 ms for each\n\nlimit  in all")
        for limit in [1, 6, 64] {
            let configuration = ConnectionTuning.configuration()
            configuration.httpMaximumConnectionsPerHost = limit
            let session = URLSession(configuration: configuration)
            let duration = try await session.load(server.url("/"), times: requests)
            print("\(limit)".padding(toLength: 6, withPad: " ", startingAt: 0), duration.inMilliseconds)
        }
    }
}
