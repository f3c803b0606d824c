import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

extension BackgroundTests {
    @Suite("Uploads")
    struct Uploads {
        @Test("A file is sent, and what the server says to it is told")
        func upload() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let server = try LoopbackServer { .echoBody($0) }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate)
            let content = GeneratedBody.bytes(seed: 5, length: 300_000)
            let task = session.uploadTask(
                with: URLRequest(server.url("/"), method: "POST"),
                fromFile: try rig.directory.file(content)
            )
            task.resume()
            try await delegate.success(of: task)
            #expect(server.requests[0].body == content)
            #expect(delegate.body(of: task) == content)
            #expect(task.countOfBytesSent == 300_000)
            session.finishTasksAndInvalidate()
            try await delegate.invalidation()
            try await rig.wait { rig.stateFiles == [] }
        }

        @Test("A file that was changed or removed before it could be sent fails the task", arguments: [true, false])
        func changedFile(isRemoved: Bool) async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let server = try LoopbackServer { .echoBody($0) }
            defer { server.stop() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate)
            let file = try rig.directory.file(Data("before".utf8))
            let task = session.uploadTask(with: URLRequest(server.url("/"), method: "POST"), fromFile: file)
            if isRemoved {
                try FileManager.default.removeItem(at: file)
            } else {
                try Data("afterwards".utf8).write(to: file)
            }
            task.resume()
            let error = try await delegate.completion(of: task)
            #expect(error?.code == (isRemoved ? .fileDoesNotExist : .cannotOpenFile))
            #expect(server.requestCount == 0)
            session.invalidateAndCancel()
        }
    }
}
