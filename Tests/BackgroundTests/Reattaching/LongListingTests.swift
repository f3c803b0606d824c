import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

extension BackgroundTests {
    @Suite("Tasks that take long to describe")
    struct LongListings {
        /// In Base64, two such bodies are too long for a message.
        private static let length = 13_000_000

        @Test("A program finds tasks with long bodies that another has made")
        func restoration() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let program = try await rig.readyProgram()
            for name in ["one", "two"] { program.say("post \(rig.url("/")) \(name) \(Self.length)") }
            try await rig.server.waitForRequests(2)
            await program.crash()

            let tasks = await rig.session.allTasks
            #expect(tasks.map(\.taskDescription) == ["one", "two"])
            #expect(tasks.map { $0.originalRequest?.httpBody?.count } == [Self.length, Self.length])
        }

        @Test("A killed agent is replaced by one that has the tasks with long bodies, and takes others")
        func killedAgent() async throws {
            let rig = try BackgroundRig { $0.method == "POST" ? .never : .text("hello") }
            defer { rig.end() }
            for _ in 0..<2 {
                let request = URLRequest(rig.url("/"), method: "POST", body: Data(count: Self.length))
                rig.session.downloadTask(with: request).resume()
            }
            try await rig.server.waitForRequests(2)
            rig.killAgent()
            try await rig.delegate.success(of: rig.download())
            try await rig.server.waitForRequests(5)
            #expect(await rig.session.allTasks.map { $0.originalRequest?.httpMethod } == ["POST", "POST"])
        }

        @Test("However long new tasks are, an agent that reads slowly gets all of them over one connection")
        func slowAgent() async throws {
            let rig = try BackgroundRig()
            let agent = try StagedAgent(in: rig.folder)
            defer { agent.stop() }
            defer { rig.end() }
            _ = rig.download()
            try await agent.greet()
            _ = try await agent.submissions(1)
            agent.stopReading()
            // More than a connection keeps for an end that doesn't read.
            let (count, length) = (12, 20_000_000)
            let request = URLRequest(rig.url("/"), method: "POST", body: Data(count: length))
            for _ in 0..<count { rig.session.downloadTask(with: request).resume() }
            // By the time of the answer, the session has begun to tell the agent of them.
            #expect(await rig.session.allTasks.count == count + 1)
            agent.readOn()
            let submissions = try await agent.submissions(count + 1)
            let lengths = submissions.map { $0.request.body?.count ?? 0 }
            #expect(lengths == [0] + Array(repeating: length, count: count))
            #expect(agent.helloCount == 1)
        }

        @Test("A request that doesn't fit into a message of 32 MiB fails, and the next is loaded")
        func tooLong() async throws {
            let rig = try BackgroundRig { _ in .text("hello") }
            defer { rig.end() }
            // It takes a third more in the message.
            let request = URLRequest(rig.url("/long"), method: "POST", body: Data(count: 26 << 20))
            let task = rig.session.downloadTask(with: request)
            task.resume()
            #expect(try await rig.delegate.completion(of: task)?.code == .dataLengthExceedsMaximum)
            try await rig.delegate.success(of: rig.download("/short"))
            #expect(rig.server.requests.map(\.path) == ["/short"])
        }

        @Test("A redirect that keeps the method keeps the body, and one that doesn't drops it", arguments: [303, 307])
        func redirect(status: Int) async throws {
            let rig = try BackgroundRig { request in
                request.path == "/" ? .redirect(to: "/there", status: status) : .echo(request)
            }
            defer { rig.end() }
            let request = URLRequest(rig.url("/"), method: "POST", body: Data("body".utf8))
            let task = rig.session.downloadTask(with: request)
            task.resume()
            try await rig.delegate.success(of: task)
            #expect(task.currentRequest?.url == rig.url("/there"))
            #expect(task.currentRequest?.httpMethod == (status == 307 ? "POST" : "GET"))
            #expect(task.currentRequest?.httpBody == (status == 307 ? Data("body".utf8) : nil))
        }
    }
}
