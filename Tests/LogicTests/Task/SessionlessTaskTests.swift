import Foundation
import Testing

@testable import CurlNetworking

@Suite("A task without a session")
struct SessionlessTaskTests {
    private final class Delegate: NSObject, URLSessionTaskDelegate {}

    private final class Mock: URLSessionDataTask, @unchecked Sendable {
        override init() { super.init() }
    }

    @Test("A task without a session begins like any other task")
    func defaults() {
        let task = Mock()
        #expect(task.taskDescription == nil && task.earliestBeginDate == nil && task.delegate == nil)
        #expect(task.priority == URLSessionTask.defaultPriority && task.prefersIncrementalDelivery)
        #expect(task.countOfBytesClientExpectsToSend == NSURLSessionTransferSizeUnknown)
        #expect(task.countOfBytesClientExpectsToReceive == NSURLSessionTransferSizeUnknown)
        #expect(URLSessionWebSocketTask().maximumMessageSize == 1024 * 1024)
    }

    @Test("A task without a session keeps what is set on it, for itself")
    func settings() {
        let (task, other) = (Mock(), Mock())
        let (date, delegate) = (Date(timeIntervalSince1970: 1), Delegate())
        task.taskDescription = "description"
        task.priority = 0.75
        task.earliestBeginDate = date
        task.prefersIncrementalDelivery = false
        task.countOfBytesClientExpectsToSend = 5
        task.countOfBytesClientExpectsToReceive = 6
        task.delegate = delegate
        #expect(task.taskDescription == "description" && task.priority == 0.75 && task.earliestBeginDate == date)
        #expect(!task.prefersIncrementalDelivery)
        #expect(task.countOfBytesClientExpectsToSend == 5 && task.countOfBytesClientExpectsToReceive == 6)
        #expect(task.delegate === delegate)
        #expect(other.taskDescription == nil && other.delegate == nil)
        task.delegate = nil
        #expect(task.delegate == nil)
    }

    @Test("A web socket keeps its largest message as well")
    func messageSize() {
        let task = URLSessionWebSocketTask()
        task.maximumMessageSize = 5
        #expect(task.maximumMessageSize == 5)
    }
}
