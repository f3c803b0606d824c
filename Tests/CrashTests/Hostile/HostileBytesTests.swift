import CurlNetworking
import Foundation
import Testing

@Suite("Servers that answer with invented bytes", .timeLimit(.minutes(2)))
struct HostileBytesTests {
    @Test(
        "Tasks that are answered with invented bytes end once each, with a response or an error",
        arguments: [("task-http1", CurlOptions.HTTPVersion.automatic), ("task-http2", .http2PriorKnowledge)]
    )
    func corpus(name: String, version: CurlOptions.HTTPVersion) async throws {
        let folder = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent()
            .appendingPathComponent("../../Fuzz/Corpus/\(name)", isDirectory: true)
            .standardizedFileURL
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count >= 8)
        let answers = try files.map { try Data(contentsOf: $0) }
        await withCheckedContinuation { continuation in
            // On a thread that may block.
            Thread.detachNewThread {
                let task = TaskUnderFire(version)
                for answer in answers {
                    // Every beginning is an answer that breaks off.
                    for length in stride(from: 0, through: answer.count, by: max(1, answer.count / 24)) {
                        answer.prefix(length).withUnsafeBytes(task.run)
                    }
                    answer.withUnsafeBytes(task.run)
                }
                continuation.resume()
            }
        }
    }
}
