import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Progress and counters of bodies that are sent", .timeLimit(.minutes(1)))
struct TaskProgressUploadTests {
    @Test("How much is to be sent is known when the task is created", arguments: 0..<6)
    func expectedAtCreation(kind: Int) throws {
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("body")
        try Data(count: 1234).write(to: file)
        var streamed = URLRequest(url, method: "PUT")
        streamed.httpBodyStream = InputStream(data: Data(count: 10))
        let (task, expected): (URLSessionTask, Int64) =
            switch kind {
            case 0: (session.uploadTask(with: URLRequest(url, method: "PUT"), from: Data(count: 1000)), 1000)
            case 1: (session.uploadTask(with: URLRequest(url, method: "PUT"), fromFile: file), 1234)
            case 2: (session.dataTask(with: URLRequest(url, method: "POST", body: Data(count: 77))), 77)
            case 3: (session.dataTask(with: url), 0)
            case 4: (session.dataTask(with: streamed), NSURLSessionTransferSizeUnknown)
            default:
                (
                    session.uploadTask(with: URLRequest(url, method: "PUT"), fromFile: directory.url),
                    NSURLSessionTransferSizeUnknown
                )
            }
        #expect(task.countOfBytesExpectedToSend == expected)
        #expect(task.countOfBytesSent == 0)
    }

    @Test("An upload's Progress moves while the body is sent, and isn't done before the response")
    func movesWhileSending() async throws {
        let gate = Gate()
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { _ in .text("done").after([.waitFor(gate)]) }
        defer { rig.stop() }
        let whole = Progress(totalUnitCount: 1)
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "PUT"), from: Data(count: 1000))
        #expect(task.progress.totalUnitCount == 1000)
        whole.addChild(task.progress, withPendingUnitCount: 1)
        task.resume()
        try await delegate.wait(for: task) { $0 == .sent(1000, total: 1000, expected: 1000) }
        #expect(task.progress.completedUnitCount == 999)
        #expect(!task.progress.isFinished && !whole.isFinished)
        gate.open()
        try await delegate.success(of: task)
        #expect(task.progress.isFinished && task.progress.fractionCompleted == 1)
        #expect(whole.completedUnitCount == 1 && whole.fractionCompleted == 1)
    }

    @Test("A redirect that drops the body begins the Progress anew, and no fraction is above 1")
    func redirectDropsBody() async throws {
        let fractions = Watched<[Double]>([])
        let delegate = RecordingDelegate(onEvent: { task, _ in
            guard let task else { return }
            fractions.update { $0.append(task.progress.fractionCompleted) }
        })
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/" ? .redirect(to: "/next", status: 303) : .generated(length: 251)
        }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), from: Data(count: 1000))
        task.resume()
        try await delegate.success(of: task)
        // By the next call of the delegate, the last fraction has been noted, too.
        rig.session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        #expect(task.countOfBytesSent == 0 && task.countOfBytesExpectedToSend == 0)
        #expect(task.countOfBytesReceived == 251)
        #expect(fractions.value.allSatisfy { (0...1).contains($0) })
        #expect(fractions.value.last == 1)
        for case .sent(_, let total, let expected) in delegate.events(of: task) { #expect(total <= expected) }
    }

    @Test("A redirect that repeats the body counts it anew in the Progress")
    func redirectRepeatsBody() async throws {
        let delegate = RecordingDelegate()
        let rig = try Rig(delegate: delegate) { request in
            request.path == "/" ? .redirect(to: "/next", status: 307) : .echoBody(request)
        }
        defer { rig.stop() }
        let task = rig.session.uploadTask(with: URLRequest(rig.url("/"), method: "POST"), from: Data(count: 1000))
        task.resume()
        try await delegate.success(of: task)
        #expect(task.countOfBytesSent == 1000 && task.countOfBytesExpectedToSend == 1000)
        #expect(task.progress.fractionCompleted == 1)
        let sent = delegate.events(of: task).compactMap { event -> [Int64]? in
            if case .sent(let growth, let total, let expected) = event { [growth, total, expected] } else { nil }
        }
        #expect(sent.allSatisfy { $0[0] > 0 && $0[0] <= $0[1] && $0[1] <= $0[2] })
        #expect(sent.last == [1000, 1000, 1000])
    }
}
