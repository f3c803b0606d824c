import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer

/// One slow host is limited to two connections while another runs at 64.
struct Hosts {
    private let requests = 256

    func run() async throws {
        let slow = try ConnectionTuning.slowServer(.milliseconds(20))
        let fast = try ConnectionTuning.slowServer(.milliseconds(20))
        defer { for server in [slow, fast] { server.stop() } }
        let configuration = ConnectionTuning.configuration()
        configuration.httpMaximumConnectionsPerHost = 64
        configuration.curl.hosts["127.0.0.1:\(slow.port)"].maximumConnections = 2
        let session = URLSession(configuration: configuration)
        print("\(requests) requests to each of two hosts, 20 ms each. While they run:\n")
        print("host     limit   open  in use  waiting  reused")
        async let slowTime = session.load(slow.url("/"), times: requests)
        async let fastTime = session.load(fast.url("/"), times: requests)
        try await fast.waitForRequests(requests / 2)
        for (name, server, limit) in [("limited", slow, 2), ("other", fast, 64)] {
            guard let origin = await session.connections.first(where: { $0.port == server.port }) else { continue }
            let numbers = [limit, origin.open, origin.inUse, origin.waiting, origin.reuseCount]
            print(name.padding(toLength: 8, withPad: " ", startingAt: 0), Self.columns(numbers))
        }
        print("\nother: \(try await fastTime.inMilliseconds), limited: \(try await slowTime.inMilliseconds) in all;")
        print("the servers saw \(fast.connectionCount) and \(slow.connectionCount) connections")
    }

    private static func columns(_ numbers: [Int]) -> String {
        zip(numbers, [5, 6, 7, 8, 7]).map { String(repeating: " ", count: max(0, $1 - "\($0)".count)) + "\($0)" }
            .joined(separator: " ")
    }
}
