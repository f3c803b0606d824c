import CurlNetworking
import CurlURLProtocol
import Foundation
import FoundationNetworking
import TestSupport
import Testing

@Suite("TLS handshakes of a stock session on our transport", .timeLimit(.minutes(1)))
struct StockHandshakeTests {
    /// Returns the responses' statuses, and the connections that they came on.
    private static func load(
        _ url: URL,
        times: Int,
        in session: FoundationNetworking.URLSession
    ) async throws -> (statuses: [Int], connections: Set<String>) {
        try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for _ in 0..<times {
                group.addTask {
                    let response = try await session.data(from: url).1 as? HTTPURLResponse
                    let connection = response?.value(forHTTPHeaderField: "X-Connection")
                    return (response?.statusCode ?? 0, connection ?? "none")
                }
            }
            var (statuses, connections): ([Int], Set<String>) = ([], [])
            for try await (status, connection) in group {
                statuses.append(status)
                connections.insert(connection)
            }
            return (statuses, connections)
        }
    }

    /// Makes the tests' authority trusted; for a process of its own, since stock sessions share the settings.
    private static func server() throws -> URL {
        let nginx = try TLSNginx.shared()
        let configuration = CurlURLProtocol.configuration
        configuration.curl.tls.additionalTrustRoots = [.file(nginx.site.authority)]
        CurlURLProtocol.configuration = configuration
        return nginx.url(.showing(.good))
    }

    @Test("Tasks share connections without a delegate, and with one that is asked once")
    func many() async {
        await #expect(processExitsWith: .success) {
            let url = try StockHandshakeTests.server()
            for delegate in [nil, StockDelegate()] {
                let session = StockSession.make(delegate: delegate)
                let (statuses, connections) = try await StockHandshakeTests.load(url, times: 30, in: session)
                #expect(statuses == Array(repeating: 200, count: 30))
                #expect(connections.count <= 6 && !connections.contains("none"))
                if let delegate {
                    #expect(delegate.state.value.events.count { $0.hasPrefix("challenge") } == 1)
                }
                session.finishTasksAndInvalidate()
            }
        }
    }

    @Test("Tasks in turn use one connection, without a delegate and with one that is asked once")
    func inTurn() async {
        await #expect(processExitsWith: .success) {
            let url = try StockHandshakeTests.server()
            for delegate in [nil, StockDelegate()] {
                let session = StockSession.make(delegate: delegate)
                var all: Set<String> = []
                for _ in 0..<10 {
                    let (statuses, connections) = try await StockHandshakeTests.load(url, times: 1, in: session)
                    #expect(statuses == [200])
                    all.formUnion(connections)
                }
                #expect(all.count == 1 && !all.contains("none"))
                if let delegate {
                    #expect(delegate.state.value.events.count { $0.hasPrefix("challenge") } == 1)
                }
                session.finishTasksAndInvalidate()
            }
        }
    }
}
