import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("A task in its agent")
    struct AgentTasks {
        @Test("One that is suspended while its attempt fails begins no other before it is resumed")
        func suspended() throws {
            let server = try LoopbackServer { _ in .never }
            defer { server.stop() }
            let directory = try TemporaryDirectory()
            let folder = SessionFolder(url: directory.url, log: .none)
            try folder.prepare()
            let settings = SessionDescription(.background(withIdentifier: "test"), delegate: nil)
            let queue = DispatchQueue(label: "agent")
            let session = AgentSession(SessionRecord(identifier: "test", settings: settings), in: folder, on: queue) {}
            var wish = TaskWish(isSuspended: false, cancellation: nil, settings: TaskSettings())
            let submission = TaskSubmission(
                key: UUID(),
                identifier: 1,
                kind: .download,
                request: try #require(RequestDescription(URLRequest(url: server.url("/")))),
                resumeData: nil,
                cookies: [],
                wish: wish
            )
            let attempt = URLSession.shared.downloadTask(with: server.url("/"))
            queue.sync {
                let task = AgentTask(StoredTask(TaskRecord(submission), in: folder, batch: nil), in: session)
                task.start()
                wish.isSuspended = true
                task.change(to: wish)
                task.completed(attempt, URLError(.networkConnectionLost))
                task.retryNow()
                wish.cancellation = .discardingBody
                task.change(to: wish)
                // The end of an attempt would have to be waited for.
                #expect(task.hasEnded)
                session.close()
            }
        }
    }
}
