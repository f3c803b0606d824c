import CurlNetworking
import CurlNetworkingLoopbackServer
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

/// A stream task, and what its delegate has written down.
///
///     let rig = try StreamTaskRig()
///     defer { rig.stop() }
struct StreamTaskRig: Sendable {
    let server: LoopbackServer
    let recorder = StreamRecorder()
    let session: URLSession
    /// It has been resumed.
    let task: URLSessionStreamTask

    /// - Parameter server: nil for one that answers with what it gets.
    init(to server: LoopbackServer? = nil) throws {
        self.server = try server ?? .echo()
        session = URLSession.forTest(delegate: recorder)
        task = session.streamTask(withHostName: "127.0.0.1", port: self.server.port)
        task.resume()
    }

    /// Cancels the task, and stops the server.
    func stop() {
        session.invalidateAndCancel()
        server.stop()
    }
}
