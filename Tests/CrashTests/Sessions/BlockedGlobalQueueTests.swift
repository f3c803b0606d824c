import CurlNetworking
import Foundation
import Testing

@Suite("When a program blocks the threads of a global queue", .timeLimit(.minutes(1)))
struct BlockedGlobalQueueTests {
    @Test("A session with a queue of its own calls a handler that more work waits for than Dispatch has threads")
    func handler() async {
        await #expect(processExitsWith: .success) {
            let handled = DispatchSemaphore(value: 0)
            for _ in 0..<1_000 {
                DispatchQueue.global().async {
                    handled.wait()
                    handled.signal()
                }
            }
            let url = try #require(URL(string: "data:,hello"))
            let data = await withCheckedContinuation { continuation in
                let session = URLSession(configuration: .ephemeral)
                let task = session.dataTask(with: url) { data, _, _ in
                    continuation.resume(returning: data)
                    handled.signal()
                }
                task.resume()
            }
            #expect(data == Data("hello".utf8))
        }
    }
}
