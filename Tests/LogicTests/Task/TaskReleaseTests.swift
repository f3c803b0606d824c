import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

/// A program's stream that does something as it goes.
private final class LastWordStream: InputStream {
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
        super.init(data: Data())
    }

    deinit {
        onEnd()
    }
}

@Suite("What a task lets go of, whose end may look at the task")
struct TaskReleaseTests {
    private let handle: TaskHandle
    /// For each stream that has gone, whether the task's lock was free.
    private let wasFree = Watched<[Bool]>([])

    init() throws {
        let task = try URLSession.forTest().dataTask(with: Sample.url("http://example.com/"))
        handle = try #require(task.engine as? TaskHandle)
    }

    private func requestWithStream() throws -> URLRequest {
        let (handle, wasFree) = (handle, wasFree)
        var request = try Sample.request()
        request.httpBodyStream = LastWordStream {
            let isFree = handle.shared.withLockIfAvailable { _ in true } ?? false
            wasFree.update { $0.append(isFree) }
        }
        return request
    }

    @Test("A request is released without the task's lock when another one replaces it")
    func replacedRequest() throws {
        try handle.showRequest(requestWithStream(), isBodyKept: true)
        try handle.showRequest(Sample.request(), isBodyKept: true)
        #expect(wasFree.value == [true])
    }

    @Test("A message that a cancelled task's delegate gets no more is released without the task's lock")
    func discardedMessage() throws {
        try handle.post(.question(.delayedRequest(requestWithStream()) { _, _ in }))
        handle.drop(handle.shared.withLock { $0.mailbox.discard() })
        #expect(wasFree.value == [true])
    }
}
