import CurlNetworking
import Foundation
import Glibc
import CurlNetworkingLoopbackServer

/// A delegate that supplies streams, as many as it has, and records how often it was asked, on which queue, and how tasks ended.
package final class StreamSource: NSObject, URLSessionDataDelegate {
    package struct Record: Sendable {
        package var asked = 0
        package var wasOffTheQueue = false
        package var body = Data()
        package var completions: [URLError?] = []
    }

    package let record = Watched(Record())
    /// Open once a task has had an informational response.
    package let informed = Gate()
    private let makeStream: @Sendable (Int) -> InputStream?

    /// `makeStream` is called with the number of the stream, from 1.
    package init(_ makeStream: @escaping @Sendable (Int) -> InputStream?) {
        self.makeStream = makeStream
    }

    /// Returns when a task has completed, with its error.
    package func completion() async throws -> URLError? {
        try await record.wait { !$0.completions.isEmpty }
        return record.value.completions[0]
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        let number = record.update { record in
            record.asked += 1
            if OperationQueue.current != session.delegateQueue { record.wasOffTheQueue = true }
            return record.asked
        }
        completionHandler(makeStream(number))
    }

    package func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        informed.open()
    }

    package func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        record.update { $0.body.append(data) }
    }

    package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        record.update { $0.completions.append(error.map { $0 as? URLError ?? URLError(.unknown) }) }
    }
}

/// A stream whose readers wait for a gate, and find it empty then. It takes no descriptor.
package final class HeldStream: InputStream {
    private let gate: Gate
    private let readers: Watched<Int>

    /// - Parameter readers: Counts the reads of all streams that have it.
    package init(until gate: Gate, readers: Watched<Int>) {
        (self.gate, self.readers) = (gate, readers)
        super.init(data: Data())
    }

    package override var streamStatus: Status { .open }
    package override var hasBytesAvailable: Bool { true }
    package override func open() {}
    package override func close() {}

    package override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength count: Int) -> Int {
        readers.update { $0 += 1 }
        gate.waitBlocking()
        return 0
    }
}

/// A stream whose reader waits until there is something: bytes are put in by the test.
package final class BlockingStream: @unchecked Sendable {
    // @unchecked: never changes.
    package let stream: InputStream
    private let writer: FileHandle

    /// A pipe in the file system, which a stream opens like a file.
    package init(in directory: TemporaryDirectory, name: String = "pipe-\(UUID().uuidString)") throws {
        let path = directory.url.appendingPathComponent(name).path
        guard mkfifo(path, 0o600) == 0, let stream = InputStream(fileAtPath: path) else {
            throw ChildProcess.Failure(description: "No pipe: errno \(errno)")
        }
        // Open for both, so that opening either end doesn't wait for the other.
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { throw ChildProcess.Failure(description: "No pipe: errno \(errno)") }
        writer = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        self.stream = stream
    }

    package func write(_ data: Data) throws { try writer.write(contentsOf: data) }

    /// The stream's end.
    package func finish() throws { try writer.close() }
}
