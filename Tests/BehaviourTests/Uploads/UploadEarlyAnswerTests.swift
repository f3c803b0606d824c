import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Answers that come before the body is sent", .timeLimit(.minutes(1)))
struct UploadEarlyAnswerTests {
    private func upload(_ session: URLSession, to url: URL, length: Int = 64 << 20) async -> HandlerResult {
        await withCheckedContinuation { continuation in
            session.uploadTask(with: URLRequest(url, method: "PUT"), from: Data(count: length)) {
                continuation.resume(returning: HandlerResult($0, $1, $2))
            }.resume()
        }
    }

    @Test(
        "A refusal is the task's response, whether the server reads on, stops reading or closes",
        arguments: [413, 401, 500],
        ["reads", "stops", "closes"]
    )
    func refusal(status: Int, manner: String) async throws {
        let rig = try Rig(answering: .atHead) { _ in
            let answer = LoopbackServer.Response.text("no", status: status)
            return switch manner {
            case "reads": answer
            case "stops": answer.closing().after([.stopReading])
            default: answer.closing()
            }
        }
        defer { rig.stop() }
        let result = await upload(rig.session, to: rig.url("/"))
        #expect(result.response?.statusCode == status)
        #expect(result.text == "no")
        #expect(result.error == nil)
        // The connection is no good for another request, or has been emptied: either way the next is answered.
        #expect(await upload(rig.session, to: rig.url("/"), length: 0).response?.statusCode == status)
    }

    @Test("If a reset takes the answer with it, the error is a lost connection")
    func reset() async throws {
        let rig = try Rig(answering: .atHead) { _ in
            .raw([.stopReading, .bytes("HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno"), .reset])
        }
        defer { rig.stop() }
        let result = await upload(rig.session, to: rig.url("/"))
        if let error = result.error {
            #expect(error.code == .networkConnectionLost)
        } else {
            #expect(result.response?.statusCode == 413)
            #expect(result.text == "no")
        }
        #expect(rig.server.requestCount == 1)
    }

    @Test("A success before the body was sent counts, even if the server then goes away")
    func success() async throws {
        let rig = try Rig(answering: .atHead) { _ in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"), .close])
        }
        defer { rig.stop() }
        let result = await upload(rig.session, to: rig.url("/"))
        #expect(result.text == "fine")
        #expect(result.error == nil)
    }

    @Test("A compressed success before the body was sent counts, even if the server then goes away")
    func compressedSuccess() async throws {
        let content = storedGzip(Data("fine".utf8))
        let rig = try Rig(answering: .atHead) { _ in
            let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(content.count)\r\n\r\n"
            return .raw([.bytes(Data(head.utf8) + content), .close])
        }
        defer { rig.stop() }
        let result = await upload(rig.session, to: rig.url("/"))
        #expect(result.text == "fine")
        #expect(result.error == nil)
    }

    @Test("An early success that breaks off is a lost connection")
    func brokenSuccess() async throws {
        let rig = try Rig(answering: .atHead) { _ in
            .raw([.bytes("HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\nfine"), .close])
        }
        defer { rig.stop() }
        #expect(await upload(rig.session, to: rig.url("/")).error?.code == .networkConnectionLost)
    }
}
