import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Cancelling Swift tasks", .timeLimit(.minutes(1)))
struct AsyncCancellationTests {
    enum Call: CaseIterable {
        case data, upload, download, bytes
    }

    private func perform(_ call: Call, _ session: URLSession, _ url: URL) async throws {
        switch call {
        case .data: _ = try await session.data(from: url)
        case .upload: _ = try await session.upload(for: URLRequest(url, method: "PUT"), from: Data("body".utf8))
        case .download: _ = try await session.download(from: url)
        case .bytes: for try await _ in try await session.bytes(from: url).0 {}
        }
    }

    @Test("Cancelling before the head cancels the transfer and closes the connection", arguments: Call.allCases)
    func beforeHead(call: Call) async throws {
        let rig = try Rig { _ in .never }
        defer { rig.stop() }
        let task = Task { try await perform(call, rig.session, rig.url("/")) }
        try await rig.server.waitForRequests(1)
        task.cancel()
        let error = await #expect(throws: URLError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        try await rig.server.waitUntilNoConnections()
        #expect(await rig.session.allTasks.isEmpty)
    }

    @Test("Cancelling within the body cancels the transfer and closes the connection", arguments: Call.allCases)
    func insideBody(call: Call) async throws {
        let rig = try Rig { _ in .fault(.insideBody(after: 1000, of: 5000), then: .hang) }
        defer { rig.stop() }
        let task = Task { try await perform(call, rig.session, rig.url("/")) }
        try await rig.server.waitForBytesSent(1000)
        await rig.session.flush()
        task.cancel()
        let error = await #expect(throws: URLError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        try await rig.server.waitUntilNoConnections()
    }

    @Test("A task that is cancelled already throws at once, and nothing is sent", arguments: Call.allCases)
    func beforehand(call: Call) async throws {
        let rig = try Rig { _ in .never }
        defer { rig.stop() }
        let gate = Gate()
        let task = Task {
            // Cancelled while it waits, and so before it calls.
            try? await gate.wait()
            try await perform(call, rig.session, rig.url("/"))
        }
        task.cancel()
        let error = await #expect(throws: URLError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(rig.server.requestCount == 0)
    }

    @Test("A call that is cancelled at any moment ends once, with its data or as cancelled")
    func anyMoment() async throws {
        let server = try LoopbackServer { _ in .generated(length: 50_000, seed: 1) }
        defer { server.stop() }
        let session = URLSession.forTest()
        let expected = GeneratedBody.bytes(seed: 1, length: 50_000)
        for round in 0..<200 {
            let task = Task { try await session.data(from: server.url("/")).0 }
            onOtherThread {
                usleep(UInt32(round * 5))
                task.cancel()
            }
            switch await task.result {
            case .success(let data): #expect(data == expected)
            case .failure(let error): #expect((error as? URLError)?.code == .cancelled)
            }
        }
        #expect(await session.allTasks.isEmpty)
        session.finishTasksAndInvalidate()
        try await server.waitUntilNoConnections()
    }
}
