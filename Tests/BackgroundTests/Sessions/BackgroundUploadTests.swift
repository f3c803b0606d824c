import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("Uploads")
    struct Uploads {
        @Test("A file is sent, and the delegate is told what the server answers")
        func upload() async throws {
            let rig = try BackgroundRig { .echoBody($0) }
            defer { rig.end() }
            let content = GeneratedBody.bytes(seed: 5, length: 300_000)
            let task = rig.session.uploadTask(
                with: URLRequest(rig.url("/"), method: "POST"),
                fromFile: try rig.directory.file(content)
            )
            task.resume()
            try await rig.delegate.success(of: task)
            #expect(rig.server.requests[0].body == content)
            #expect(rig.delegate.body(of: task) == content)
            #expect(task.countOfBytesSent == 300_000)
            try await rig.finish()
        }

        @Test("A response whose parts replace each other comes undivided")
        func parts() async throws {
            let body = "--frame\r\n\r\npart 1\r\n--frame\r\n\r\npart 2\r\n--frame--"
            let type = "multipart/x-mixed-replace; boundary=frame"
            let rig = try BackgroundRig { _ in .text(body, contentType: type) }
            defer { rig.end() }
            let task = rig.session.uploadTask(
                with: URLRequest(rig.url("/"), method: "POST"),
                fromFile: try rig.directory.file(Data("dear".utf8))
            )
            task.resume()
            try await rig.delegate.success(of: task)
            #expect(rig.delegate.body(of: task) == Data(body.utf8))
            #expect((task.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Type") == type)
            try await rig.finish()
        }

        @Test("An upload isn't sent again because the server's answer breaks off, and what came of that is told")
        func brokenAnswer() async throws {
            let rig = try BackgroundRig { _ in
                .raw([.bytes("HTTP/1.1 201 Created\r\nContent-Length: 1000\r\n\r\ncreated"), .close])
            }
            defer { rig.end() }
            let task = rig.session.uploadTask(
                with: URLRequest(rig.url("/"), method: "POST"),
                fromFile: try rig.directory.file(Data("dear".utf8))
            )
            task.resume()
            #expect(try await rig.delegate.completion(of: task)?.code == .networkConnectionLost)
            #expect((task.response as? HTTPURLResponse)?.statusCode == 201)
            #expect(rig.delegate.body(of: task) == Data("created".utf8))
            #expect(rig.server.requestCount == 1)
            try await rig.finish()
        }

        @Test("An upload that is cancelled amid a long response ends, and the delegate gets no more of the response")
        func cancelledResponse() async throws {
            let rig = try BackgroundRig { _ in .generated(length: 2_000_000, seed: 9) }
            defer { rig.end() }
            let delegate = RecordingDelegate(onEvent: { task, event in
                guard let task, event.name == "data" else { return }
                // After that, as much waits for the delegate as may.
                (task.engine as? BackgroundEngine)?.client.queue.sync {}
                task.cancel()
            })
            let session = rig.session(delegate)
            let task = session.uploadTask(
                with: URLRequest(rig.url("/"), method: "POST"),
                fromFile: try rig.directory.file(Data("dear".utf8))
            )
            task.resume()
            #expect(try await delegate.completion(of: task)?.code == .cancelled)
            #expect(delegate.events(of: task).count { $0.name == "data" } == 1)
            session.finishTasksAndInvalidate()
            try await delegate.invalidation()
            try await rig.wait { rig.stateFiles == [] }
        }

        @Test("A file that was changed or removed before it could be sent fails the task", arguments: [true, false])
        func changedFile(isRemoved: Bool) async throws {
            let rig = try BackgroundRig { .echoBody($0) }
            defer { rig.end() }
            let file = try rig.directory.file(Data("before".utf8))
            let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), fromFile: file)
            if isRemoved {
                try FileManager.default.removeItem(at: file)
            } else {
                try Data("afterwards".utf8).write(to: file)
            }
            task.resume()
            let error = try await rig.delegate.completion(of: task)
            #expect(error?.code == (isRemoved ? .fileDoesNotExist : .cannotOpenFile))
            #expect(rig.server.requestCount == 0)
        }

        @Test("A file that was changed while the task waited for its turn fails the task", arguments: [true, false])
        func changedWhileWaiting(mayBeResumed: Bool) async throws {
            let gate = Gate()
            let rig = try BackgroundRig(configure: {
                $0.httpMaximumConnectionsPerHost = 1
                if !mayBeResumed { $0.curl.uploadInteropVersion = nil }
            }) {
                $0.path == "/held" ? .text("held").after([.waitFor(gate)]) : .echoBody($0)
            }
            defer { rig.end() }
            let held = rig.download("/held")
            try await rig.server.waitForRequests(1)
            let file = try rig.directory.file("letter", Data("before".utf8))
            let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), fromFile: file)
            task.resume()
            // The agent has begun it by then.
            await rig.session.flush()
            try Data("afterwards".utf8).write(to: file)
            gate.open()
            try await rig.delegate.success(of: held)
            #expect(try await rig.delegate.completion(of: task)?.code == .cannotOpenFile)
            #expect(rig.server.requestCount == 1)
            try await rig.finish()
        }

        @Test("A file that was changed while no agent was there fails the task")
        func changedInBetween() async throws {
            let rig = try BackgroundRig { _ in .never }
            defer { rig.end() }
            let file = try rig.directory.file("letter", Data("dear".utf8))
            let first = try await rig.readyProgram()
            first.say("upload \(rig.url("/")) \(file.path)")
            _ = try await rig.server.request(number: 1)
            await first.crash()
            rig.killAgent()
            try Data("dearest".utf8).write(to: file)
            let second = try rig.program()
            try await second.line(beginningWith: "completed letter \(URLError.Code.cannotOpenFile.rawValue)")
            #expect(rig.server.requestCount == 1)
            await second.crash()
        }
    }
}
