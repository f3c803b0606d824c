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
        /// How it was when the sink had been given up, and the resume data.
        private(set) var ends: [(received: Int64, resumeData: Data?)] = []
        private(set) lazy var sink = FileSink(self, in: directory.url, for: request, adding: [], on: threads)
        private let request: URLRequest
        private let directory: TemporaryDirectory
        private let threads = WorkThreads(limit: 1)
        private let submitted = Watched<[@Sendable () -> Void]>([])

        init() throws {
            request = try Sample.request()
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
        func accept(at offset: Int64, _ fields: KeyValuePairs<String, String> = [:]) throws {
            let response = URLResponse(
                url: try Sample.url("http://example.com/"),
                mimeType: nil,
                expectedContentLength: -1,
                textEncodingName: nil
            )
            sink.makeRoom(
                for: AcceptedResponse(
                    response: TaskResponse(response),
                    head: Sample.head(200, fields),
                    request: request,
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

        /// As a task that fails.
        func abandon(after code: URLError.Code = .networkConnectionLost, isKept: Bool = true) {
            sink.abandon(after: URLError(code), isKept: isKept) { [self] in ends.append((received, $0)) }
        }

        func remove() async {
            abandon(after: .cancelled, isKept: false)
            await rest()
        }

        func count(_ bytes: Int64, isTold: Bool) { received += bytes }
        func startedOver() { received = 0 }
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

    @Test("A failed download counts what was written, before its end, and its resume data count as much")
    func failing() async throws {
        let rig = try Rig()
        let gate = rig.hold()
        try rig.accept(at: 0, ["ETag": "\"a\""])
        try rig.receive(700)
        rig.abandon()
        #expect(rig.received == 0 && rig.ends.isEmpty)
        gate.open()
        await rig.rest()
        #expect(rig.ends.map { $0.received } == [700] && rig.received == 700)
        let data = try #require(rig.ends.first?.resumeData)
        #expect(try ResumeData(decoding: data).partialFile.length == 700)
    }

    @Test("A failed download that can't be resumed counts what was written as well", arguments: [true, false])
    func failingForGood(isKept: Bool) async throws {
        let rig = try Rig()
        let gate = rig.hold()
        try rig.accept(at: 0)
        try rig.receive(700)
        rig.abandon(isKept: isKept)
        gate.open()
        await rig.rest()
        #expect(rig.ends.map { $0.received } == [700] && rig.received == 700)
        #expect(rig.ends.first?.resumeData == nil)
    }
}
