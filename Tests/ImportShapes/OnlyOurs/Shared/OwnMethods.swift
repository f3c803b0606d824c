// A program whose session and tasks have members of their own by the names of ours, as long as the stock module had none.

import CurlNetworking
import Foundation

/// Answers without a network.
package final class SilentSession: URLSession, @unchecked Sendable {
    package func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        guard let url = request.url else { throw URLError(.badURL) }
        return try await data(from: url)
    }

    package func data(from url: URL) async throws -> (Data, URLResponse) {
        (Data(), URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil))
    }

    package func flush() async {}
    package func reset() async {}

    package let tasks: [SilentTask] = [SilentTask()]
    package let allTasks = 1
    package let connections = ["one"]
    package let taskExecutor: Int? = nil

    package func download(
        resumeFrom resumeData: Data,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        throw URLError(.unknown)
    }

    package func upload(
        resumeFrom resumeData: Data,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        throw URLError(.unknown)
    }

    package func streamTask(withHostName name: String, port: Int) -> URLSessionStreamTask { URLSessionStreamTask() }
}

/// Is sent messages without a network.
package final class SilentTask: URLSessionWebSocketTask, @unchecked Sendable {
    package let messages: [Message] = [.string("a")]
    package let closeStatus: Int? = 1000

    package func cancel(withStatus status: Int, reason: Data?) {}
}

private final class SilentDownload: URLSessionDownloadTask, @unchecked Sendable {
    func cancelByProducingResumeData() async -> Data? { Data() }
    func checkpoint() async -> Data? { Data() }
}

private final class SilentUpload: URLSessionUploadTask, @unchecked Sendable {
    func cancelByProducingResumeData() async -> Data? { Data() }
}

extension URLSession {
    /// A substitute, as libraries have it.
    package func bytes(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncThrowingStream<UInt8, any Error>, URLResponse) {
        guard let url = request.url else { throw URLError(.badURL) }
        let stream = AsyncThrowingStream<UInt8, any Error> { $0.finish() }
        return (stream, URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil))
    }
}

extension OnlyOurs {
    /// The size of what such a session answers.
    package static func loadFromSilentSession(_ url: URL) async throws -> Int {
        let session = SilentSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        await session.flush()
        await session.reset()
        for try await _ in try await session.bytes(for: URLRequest(url: url)).0 {}
        guard session.tasks.map(\.messages.count) == [session.allTasks], session.tasks[0].closeStatus == 1000,
            session.connections == ["one"], session.taskExecutor == nil,
            await SilentDownload().checkpoint() == SilentUpload().cancelByProducingResumeData()
        else { return -1 }
        return try await session.data(from: url).0.count + session.data(for: URLRequest(url: url)).0.count
    }
}
