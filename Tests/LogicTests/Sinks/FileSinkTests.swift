import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The sink of a download, on a slow file system", .timeLimit(.minutes(1)))
struct FileSinkTests {
    /// A sink whose only thread can be held up, and a task that counts what the sink tells. What is to run on the loop waits for the test.
    ///
    /// `@unchecked Sendable`: used by one test, but for `submit`.
    private final class Rig: SinkOwner, @unchecked Sendable {
        /// As the task shows it, in bytes.
        private(set) var received: Int64 = 0
        private(set) lazy var sink = FileSink(self, in: directory.url, for: nil, adding: [], on: threads)
        private let directory: TemporaryDirectory
        private let threads = WorkThreads(limit: 1)
        private let submitted = Watched<[@Sendable () -> Void]>([])

        init() throws {
            directory = try TemporaryDirectory()
        }

        func hold() -> Gate { threads.hold() }

        /// Does everything that is left to do, on the thread and on the loop.
        func rest() async {
            await threads.rest()
            let bodies = submitted.value
            submitted.update { $0.removeFirst(bodies.count) }
            for body in bodies { body() }
        }

        /// As a task takes a response whose body begins there.
        func accept(at offset: Int64) throws {
            let response = URLResponse(
                url: try Sample.url("http://example.com/"),
                mimeType: nil,
                expectedContentLength: -1,
                textEncodingName: nil
            )
            sink.makeRoom(
                for: AcceptedResponse(
                    response: TaskResponse(response),
                    head: nil,
                    request: nil,
                    offset: offset,
                    expected: NSURLSessionTransferSizeUnknown
                )
            )
            received = offset
        }

        func receive(_ count: Int) throws {
            try Data(count: count).withUnsafeBytes { bytes in try sink.receive(bytes) }
            sink.settle()
        }

        func remove() async {
            sink.abandon(after: URLError(.cancelled), isKept: false) { _ in }
            await rest()
        }

        func count(_ bytes: Int64, isTold: Bool) { received += bytes }
        func submit(_ body: @escaping @Sendable () -> Void) { submitted.update { $0.append(body) } }

        var wantsCopy: Bool { false }
        func ask(about response: TaskResponse, dividing sink: DelegateSink?) {}
        func deliver(_ bytes: UnsafeRawBufferPointer) {}
        func deliver(counted bytes: UnsafeRawBufferPointer) {}
        func beginPart(_ head: PartHead) throws(URLError) {}
        func read(_ bytes: UnsafeRawBufferPointer, from stream: ByteStream) {}
        func whenShown(_ action: @escaping () -> Void) {}
        func setBehind(_ isBehind: Bool) {}
        func sinkFailed(_ error: URLError) {}
    }

    @Test("Bytes that have yet to be written when the next part comes are counted once")
    func parts() async throws {
        let rig = try Rig()
        let gate = rig.hold()
        try rig.accept(at: 0)
        try rig.receive(700)
        #expect(rig.received == 0 && rig.sink.length == 700)
        try rig.accept(at: 700)
        try rig.receive(200)
        gate.open()
        await rig.rest()
        #expect(rig.received == 900)
        try rig.receive(100)
        await rig.rest()
        #expect(rig.received == 1000 && rig.sink.length == 1000)
        await rig.remove()
    }

    @Test("Bytes of a file that was given up before they were written don't count for the next one")
    func startingOver() async throws {
        let rig = try Rig()
        let gate = rig.hold()
        try rig.accept(at: 0)
        try rig.receive(700)
        rig.sink.startOver()
        try rig.accept(at: 0)
        try rig.receive(300)
        gate.open()
        await rig.rest()
        #expect(rig.received == 300 && rig.sink.length == 300)
        await rig.remove()
    }
}
