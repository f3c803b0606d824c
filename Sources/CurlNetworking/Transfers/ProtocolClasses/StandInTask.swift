import Foundation

/// A stock task that represents one of this module's, for a stock protocol class that expects to see its task. It shows the request that
/// the class is to load, and forwards the class's calls.
package protocol StandInTask: FoundationNetworking.URLSessionTask {}

extension URLSessionTask {
    /// A stock task of the same kind; nil if this one has no request.
    var standIn: FoundationNetworking.URLSessionTask? {
        guard let request = engine?.requestWithBody ?? currentRequest else { return nil }
        return switch self {
        case is URLSessionDownloadTask: StandInDownloadTask(self, request)
        case is URLSessionUploadTask: StandInUploadTask(self, request)
        default: StandInDataTask(self, request)
        }
    }

    fileprivate var stockState: FoundationNetworking.URLSessionTask.State {
        FoundationNetworking.URLSessionTask.State(rawValue: state.rawValue) ?? .completed
    }
}

// There are three stock task classes, and Swift can't override them all in one place.

/// `@unchecked Sendable`: immutable.
private final class StandInDataTask: FoundationNetworking.URLSessionDataTask, StandInTask, @unchecked Sendable {
    private let task: URLSessionTask
    private let request: URLRequest

    init(_ task: URLSessionTask, _ request: URLRequest) {
        (self.task, self.request) = (task, request)
        super.init()
    }

    override var originalRequest: URLRequest? { request }
    override var currentRequest: URLRequest? { request }
    override var taskIdentifier: Int { task.taskIdentifier }
    override var response: URLResponse? { task.response }
    override var state: FoundationNetworking.URLSessionTask.State { task.stockState }
    override func resume() { task.resume() }
    override func suspend() { task.suspend() }
    override func cancel() { task.cancel() }
}

/// `@unchecked Sendable`: immutable.
private final class StandInUploadTask: FoundationNetworking.URLSessionUploadTask, StandInTask, @unchecked Sendable {
    private let task: URLSessionTask
    private let request: URLRequest

    init(_ task: URLSessionTask, _ request: URLRequest) {
        (self.task, self.request) = (task, request)
        super.init()
    }

    override var originalRequest: URLRequest? { request }
    override var currentRequest: URLRequest? { request }
    override var taskIdentifier: Int { task.taskIdentifier }
    override var response: URLResponse? { task.response }
    override var state: FoundationNetworking.URLSessionTask.State { task.stockState }
    override func resume() { task.resume() }
    override func suspend() { task.suspend() }
    override func cancel() { task.cancel() }
}

/// `@unchecked Sendable`: immutable.
private final class StandInDownloadTask: FoundationNetworking.URLSessionDownloadTask, StandInTask, @unchecked Sendable {
    private let task: URLSessionTask
    private let request: URLRequest

    init(_ task: URLSessionTask, _ request: URLRequest) {
        (self.task, self.request) = (task, request)
        super.init()
    }

    override var originalRequest: URLRequest? { request }
    override var currentRequest: URLRequest? { request }
    override var taskIdentifier: Int { task.taskIdentifier }
    override var response: URLResponse? { task.response }
    override var state: FoundationNetworking.URLSessionTask.State { task.stockState }
    override func resume() { task.resume() }
    override func suspend() { task.suspend() }
    override func cancel() { task.cancel() }
}
