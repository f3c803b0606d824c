import CurlNetworking
import Foundation
import Testing

@Suite("Creating a task on an invalidated session", .timeLimit(.minutes(1)))
struct InvalidatedSessionTests {
    @Test("Is a programming error, however the session was invalidated and whatever the task")
    func traps() async {
        await #expect(processExitsWith: .failure) {
            let session = URLSession(configuration: .ephemeral)
            session.invalidateAndCancel()
            _ = session.dataTask(with: URLRequest(url: URL(fileURLWithPath: "/")))
        }
        await #expect(processExitsWith: .failure) {
            let session = URLSession(configuration: .ephemeral)
            session.finishTasksAndInvalidate()
            _ = session.downloadTask(with: URLRequest(url: URL(fileURLWithPath: "/")))
        }
        await #expect(processExitsWith: .failure) {
            let session = URLSession(configuration: .ephemeral)
            session.invalidateAndCancel()
            _ = session.downloadTask(withResumeData: Data())
        }
        await #expect(processExitsWith: .failure) {
            let session = URLSession(configuration: .ephemeral)
            session.invalidateAndCancel()
            _ = session.uploadTask(with: URLRequest(url: URL(fileURLWithPath: "/")), from: Data())
        }
        await #expect(processExitsWith: .failure) {
            let session = URLSession(configuration: .ephemeral)
            session.invalidateAndCancel()
            _ = try? await session.data(from: URL(fileURLWithPath: "/"))
        }
    }

    @Test("Says why")
    func message() async throws {
        let result = try #require(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let session = URLSession(configuration: .ephemeral)
                session.invalidateAndCancel()
                _ = session.dataTask(with: URL(fileURLWithPath: "/"))
            }
        )
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(text.contains("Task created in a session that has been invalidated"))
    }

    @Test("Is fine on the shared session, which can't be invalidated")
    func shared() async {
        await #expect(processExitsWith: .success) {
            URLSession.shared.invalidateAndCancel()
            URLSession.shared.finishTasksAndInvalidate()
            _ = URLSession.shared.dataTask(with: URL(fileURLWithPath: "/"))
        }
    }

    @Test("Everything else is harmless on an invalidated session")
    func otherCalls() async {
        await #expect(processExitsWith: .success) {
            let session = URLSession(configuration: .ephemeral)
            let task = session.dataTask(with: URL(fileURLWithPath: "/"))
            session.invalidateAndCancel()
            session.invalidateAndCancel()
            session.finishTasksAndInvalidate()
            task.resume()
            task.suspend()
            task.cancel()
            #expect(await session.allTasks.allSatisfy { $0 === task })
            await session.flush()
            await session.reset()
            _ = session.configuration
            #expect(session.sessionDescription == nil)
        }
    }
}
