import CurlNetworking
import Foundation
import Testing

@Suite("Creating a task on an invalidated session", .timeLimit(.minutes(1)))
struct InvalidatedSessionTests {
    enum Call: String, CaseIterable, Codable {
        case data, download, resumedDownload, upload, async

        func make(in session: URLSession) async {
            let url = URL(fileURLWithPath: "/")
            switch self {
            case .data: _ = session.dataTask(with: URLRequest(url: url))
            case .download: _ = session.downloadTask(with: URLRequest(url: url))
            case .resumedDownload: _ = session.downloadTask(withResumeData: Data())
            case .upload: _ = session.uploadTask(with: URLRequest(url: url), from: Data())
            case .async: _ = try? await session.data(from: url)
            }
        }
    }

    @Test("Creating any task on an invalidated session is a programming error that says why", arguments: Call.allCases)
    func traps(call: Call) async throws {
        let ending = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [call] in
            let session = URLSession(configuration: .ephemeral)
            if call == .download { session.finishTasksAndInvalidate() } else { session.invalidateAndCancel() }
            await call.make(in: session)
        }
        let text = String(decoding: try #require(ending).standardErrorContent, as: UTF8.self)
        #expect(text.contains("Task created in a session that has been invalidated"))
    }

    @Test("Tasks can be created on the shared session, which can't be invalidated")
    func shared() async {
        await #expect(processExitsWith: .success) {
            URLSession.shared.invalidateAndCancel()
            URLSession.shared.finishTasksAndInvalidate()
            _ = URLSession.shared.dataTask(with: URL(fileURLWithPath: "/"))
        }
    }

    @Test("Every other call on an invalidated session is harmless")
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
