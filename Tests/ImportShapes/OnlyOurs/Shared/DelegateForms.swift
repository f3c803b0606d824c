// Every method of the delegates, in every form that Apple's headers have.

import CurlNetworking
import Foundation

package enum DelegateForms {
    /// What was called of a delegate whose questions have completion handlers, one with async questions, and one of each that only knows
    /// streams from an offset.
    package static func called(at base: URL) async -> [[String]] {
        var calls: [[String]] = []
        let handlers = HandlerForms()
        await Course(handlers, handlers.calls, base).runAll()
        calls.append(handlers.calls.sorted)
        let asyncs = AsyncForms()
        await Course(asyncs, asyncs.calls, base).runQuestions()
        calls.append(asyncs.calls.sorted)
        let offset = OffsetHandler()
        await Course(offset, offset.calls, base).upload()
        calls.append(offset.calls.sorted)
        let asyncOffset = AsyncOffset()
        await Course(asyncOffset, asyncOffset.calls, base).upload()
        calls.append(asyncOffset.calls.sorted)
        return calls
    }
}

/// The names of the methods that were called.
private final class Calls: @unchecked Sendable {
    // @unchecked: behind a lock.
    private let lock = NSLock()
    private var names: Set<String> = []
    private let stream = AsyncStream<String>.makeStream()

    func note(_ name: String) {
        lock.lock()
        names.insert(name)
        lock.unlock()
        stream.continuation.yield(name)
    }

    var sorted: [String] {
        lock.lock()
        defer { lock.unlock() }
        return names.sorted()
    }

    func wait(for name: String) async {
        for await next in stream.stream where next == name { return }
    }
}

/// Tasks that give a delegate cause for every message.
private struct Course {
    let calls: Calls
    let base: URL
    let session: URLSession

    init(_ delegate: any URLSessionDelegate, _ calls: Calls, _ base: URL) {
        self.calls = calls
        self.base = base
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        configuration.waitsForConnectivity = true
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    func runQuestions() async {
        await run(session.dataTask(with: url("start")))
        await run(session.dataTask(with: url("ntlm")))
        let delayed = session.dataTask(with: url("hints"))
        delayed.earliestBeginDate = Date(timeIntervalSinceNow: 0.05)
        await run(delayed)
        await upload()
    }

    func runAll() async {
        await runQuestions()
        await run(session.dataTask(with: url("become")))
        let paused = session.downloadTask(with: url("paused"))
        paused.resume()
        await calls.wait(for: "didWriteData")
        if let data = await paused.cancelByProducingResumeData() {
            await calls.wait(for: "didComplete")
            await run(session.downloadTask(withResumeData: data))
        }
        if let nowhere = URL(string: "http://127.0.0.1:1/") {
            let task = session.dataTask(with: nowhere)
            task.resume()
            await calls.wait(for: "taskIsWaitingForConnectivity")
            task.cancel()
            await calls.wait(for: "didComplete")
        }
        session.finishTasksAndInvalidate()
        await calls.wait(for: "didBecomeInvalid")
    }

    func upload() async {
        var request = URLRequest(url: url("upload"))
        request.httpMethod = "PUT"
        await run(session.uploadTask(withStreamedRequest: request))
    }

    private func run(_ task: URLSessionTask) async {
        task.resume()
        await calls.wait(for: "didComplete")
    }

    private func url(_ path: String) -> URL {
        base.appendingPathComponent(path)
    }
}

private func makeStream() -> InputStream { InputStream(data: Data("streamed".utf8)) }

private let credential = URLCredential(user: "me", password: "secret", persistence: .none)

// MARK: - Completion handlers

private final class HandlerForms: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
    let calls = Calls()

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        calls.note("didBecomeInvalid")
    }

    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        calls.note("session didReceive challenge")
        completionHandler(.performDefaultHandling, nil)
    }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        calls.note("didCreateTask")
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        calls.note("willBeginDelayedRequest")
        completionHandler(.continueLoading, nil)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        calls.note("taskIsWaitingForConnectivity")
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        calls.note("willPerformHTTPRedirection")
        completionHandler(request)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        calls.note("task didReceive challenge")
        completionHandler(.useCredential, credential)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        calls.note("needNewBodyStream")
        completionHandler(makeStream())
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        calls.note("didSendBodyData")
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        calls.note("didReceiveInformationalResponse")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        calls.note("didFinishCollecting")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        calls.note("didComplete")
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        calls.note("didReceive response")
        completionHandler(response.url?.lastPathComponent == "become" ? .becomeDownload : .allow)
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    ) {
        calls.note("didBecome downloadTask")
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        calls.note("didReceive data")
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        calls.note("willCacheResponse")
        completionHandler(proposedResponse)
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    ) {
        calls.note("didFinishDownloadingTo")
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {
        calls.note("didWriteData")
    }

    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        calls.note("didResumeAtOffset")
    }
}

private final class OffsetHandler: NSObject, URLSessionTaskDelegate {
    let calls = Calls()

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        let isOnQueue = OperationQueue.current === session.delegateQueue
        calls.note("needNewBodyStreamFrom \(offset)\(isOnQueue ? " on the delegate queue" : "")")
        completionHandler(makeStream())
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        calls.note("didComplete")
    }
}

// MARK: - Async

private final class AsyncForms: NSObject, URLSessionDataDelegate {
    let calls = Calls()

    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        calls.note("session didReceive challenge")
        return (.performDefaultHandling, nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest
    ) async -> (URLSession.DelayedRequestDisposition, URLRequest?) {
        calls.note("willBeginDelayedRequest")
        return (.continueLoading, nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        calls.note("willPerformHTTPRedirection")
        return request
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        calls.note("task didReceive challenge")
        return (.useCredential, credential)
    }

    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        calls.note("needNewBodyStream")
        return makeStream()
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        calls.note("didReceive response")
        return .allow
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse
    ) async -> CachedURLResponse? {
        calls.note("willCacheResponse")
        return proposedResponse
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        calls.note("didComplete")
    }
}

private final class AsyncOffset: NSObject, URLSessionTaskDelegate {
    let calls = Calls()

    func urlSession(
        _ session: URLSession,
        needNewBodyStreamForTask task: URLSessionTask,
        from offset: Int64
    ) async -> InputStream? {
        calls.note("needNewBodyStreamFrom \(offset)")
        return makeStream()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        calls.note("didComplete")
    }
}
