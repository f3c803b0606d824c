import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Limits of connections by host", .timeLimit(.minutes(1)))
struct HostConnectionLimitTests {
    @Test("One host has two connections while another has twenty")
    func limits() async throws {
        let gate = Gate()
        let slow = try LoopbackServer { _ in .text("slow").after([.waitFor(gate)]) }
        defer { slow.stop() }
        let fast = try LoopbackServer { _ in .text("fast").after([.waitFor(gate)]) }
        defer { fast.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate) {
            $0.httpMaximumConnectionsPerHost = 20
            $0.curl.hosts["127.0.0.1:\(slow.url("/").port ?? 0)"].maximumConnections = 2
            $0.urlCache = nil
        }
        defer { session.invalidateAndCancel() }
        let tasks = (0..<20).flatMap { _ in
            [session.dataTask(with: slow.url("/")), session.dataTask(with: fast.url("/"))]
        }
        for task in tasks { task.resume() }
        try await fast.waitForRequests(20)
        try await slow.waitForRequests(2)
        await session.flush()
        #expect(slow.requestCount == 2)
        gate.open()
        for task in tasks { try await delegate.success(of: task) }
        #expect(slow.requestCount == 20)
    }
}
