import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("What background sessions don't do")
    struct RefusedTasks {
        private let url = URL(string: "http://127.0.0.1:9/")

        @Test("A completion handler in a background session gets an error that says to use the delegate")
        func handlers() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let session = rig.session(RecordingDelegate())
            defer { session.invalidateAndCancel() }
            let result = await session.load(try #require(url))
            #expect(
                result.error?.localizedDescription
                    == "Completion handlers are not supported in background sessions: use the delegate."
            )
            #expect(rig.agentPid == nil)
        }

        @Test("Async calls in a background session throw an error that says to use tasks and the delegate")
        func async() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let session = rig.session(RecordingDelegate())
            defer { session.invalidateAndCancel() }
            let url = try #require(url)
            let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
            #expect(
                error?.localizedDescription
                    == "Async calls are not supported in background sessions: use tasks and the delegate."
            )
        }

        @Test("Data tasks, uploads of data, and downloads over other schemes fail in a background session")
        func kinds() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let url = try #require(url)
            let tasks = [
                rig.session.dataTask(with: url), rig.session.uploadTask(with: URLRequest(url: url), from: Data()),
                rig.session.uploadTask(withStreamedRequest: URLRequest(url: url)),
                rig.session.downloadTask(with: rig.folder),
            ]
            for task in tasks {
                task.resume()
                let error = try await rig.delegate.completion(of: task)
                #expect(error?.code == (task === tasks[3] ? .unsupportedURL : .unknown))
                #expect(error?.localizedDescription.isEmpty == false)
            }
        }

        @Test("Web sockets and stream tasks fail in a background session, and so does what is asked of them")
        func channels() async throws {
            let server = try LoopbackServer { .webSocketEcho($0) }
            defer { server.stop() }
            let rig = try BackgroundRig()
            defer { rig.end() }
            let socket = rig.session.webSocketTask(with: server.url)
            socket.resume()
            let received = await #expect(throws: URLError.self) { try await socket.receive() }
            let stream = rig.session.streamTask(withHostName: "127.0.0.1", port: Int(server.port))
            stream.resume()
            let read = await #expect(throws: URLError.self) {
                try await stream.readData(ofMinLength: 1, maxLength: 1, timeout: 0)
            }
            for (task, error, kind) in [(socket, received, "Web sockets"), (stream, read, "Stream tasks")] {
                let completion = try await rig.delegate.completion(of: task)
                #expect(completion?.localizedDescription == "\(kind) are not supported in background sessions.")
                #expect(error == completion)
            }
            #expect(server.connectionCount == 0)
            #expect(rig.agentPid == nil)
        }

        @Test("A closure in the configuration fails every task of a background session")
        func closures() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate) { $0.curl.configureTransfer = { _, _ in } }
            defer { session.invalidateAndCancel() }
            let task = session.downloadTask(with: try #require(url))
            task.resume()
            let error = try await delegate.completion(of: task)
            #expect(error?.localizedDescription == "curl.configureTransfer can't be sent to a background agent.")
        }

        @Test("Every task of a background session without a delegate fails")
        func noDelegate() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let session = rig.session(nil)
            defer { session.invalidateAndCancel() }
            let delegate = RecordingDelegate()
            let task = session.downloadTask(with: try #require(url))
            task.delegate = delegate
            task.resume()
            #expect(
                try await delegate.completion(of: task)?.localizedDescription
                    == "A background session needs a delegate."
            )
        }

        @Test("Tasks of a background session fail as disconnected if its agent isn't there")
        func noAgent() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let delegate = RecordingDelegate()
            let session = rig.session(delegate) {
                $0.curl.background.agent = rig.directory.url.appendingPathComponent("none")
            }
            defer { session.invalidateAndCancel() }
            let task = session.downloadTask(with: try #require(url))
            task.resume()
            let error = try await delegate.completion(of: task)
            #expect(error?.code == .backgroundSessionWasDisconnected && error?.failingURL == url)
        }

        @Test("Tasks say why the agent can't use the session's folder")
        func unusableFolder() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let lock = StateFolder(rig.folder).url.appendingPathComponent(StateFolder.lockName)
            try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: true)
            let delegate = RecordingDelegate()
            let session = rig.session(delegate)
            defer { session.invalidateAndCancel() }
            let task = session.downloadTask(with: try #require(url))
            task.resume()
            let error = try await delegate.completion(of: task)
            #expect(error?.code == .cannotWriteToFile && error?.failingURL == url)
            #expect(error?.localizedDescription.contains("Is a directory") == true)
        }
    }
}
