import CurlNetworking
import Foundation
import TestSupport
import Testing

/// A data task that has become a stream task, and what its delegate has written down.
///
///     let rig = try await StreamRig(request)
///     defer { rig.stop() }
struct StreamRig: Sendable {
    let recorder: StreamRecorder
    let session: URLSession
    let dataTask: URLSessionDataTask
    let task: URLSessionStreamTask

    /// Returns when the data task's response is there.
    init(
        _ request: URLRequest,
        session makeSession: (StreamRecorder) -> URLSession = { .forTest(delegate: $0) }
    ) async throws {
        recorder = StreamRecorder()
        session = makeSession(recorder)
        dataTask = session.dataTask(with: request)
        dataTask.resume()
        try await recorder.wait(for: .becameStream)
        task = try #require(recorder.record.value.streamTask)
    }

    /// Cancels the task.
    func stop() {
        session.invalidateAndCancel()
    }
}
