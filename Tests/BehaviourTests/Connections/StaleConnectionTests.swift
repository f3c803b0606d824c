import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Kept connections that have died", .timeLimit(.minutes(1)))
struct StaleConnectionTests {
    @Test("Any number of dead connections are replaced without the program noticing")
    func many() async throws {
        let gate = Gate()
        let rig = try Rig {
            $0.ordinal <= 6 ? .text("hello").after([.waitFor(gate)]) : .text("hello")
        } configure: {
            $0.urlCache = nil
        }
        defer { rig.stop() }
        for isFirst in [true, false] {
            if !isFirst { rig.server.dropIdleConnections() }
            await withTaskGroup(of: HandlerResult.self) { group in
                for _ in 0..<6 { group.addTask { await rig.session.load(rig.url("/")) } }
                if isFirst {
                    try? await rig.server.waitForRequests(6)
                    gate.open()
                }
                for await result in group { #expect(result.text == "hello", "\(result.error?.userInfo as Any)") }
            }
        }
        #expect(rig.server.requestCount == 12)
    }

    @Test(
        "A kept connection that dies at the request, without a byte, is replaced",
        arguments: ["GET", "DELETE", "POST"]
    )
    func withoutByte(method: String) async throws {
        let rig = try Rig {
            $0.ordinal == 2 ? .raw([.close]) : .text("\($0.ordinal)")
        } configure: {
            $0.urlCache = nil
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "1")
        #expect(await rig.session.load(URLRequest(rig.url("/"), method: method)).text == "3")
        #expect(rig.server.requests.map(\.connection) == [1, 1, 2])
    }

    @Test(
        "A kept connection that dies when the answer has begun isn't replaced",
        arguments: ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"]
    )
    func begun(answer: String) async throws {
        let rig = try Rig {
            $0.ordinal == 2 ? .raw([.bytes(answer), .close]) : .text("hello")
        } configure: {
            $0.urlCache = nil
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "hello")
        #expect(await rig.session.load(rig.url("/")).error?.code == .networkConnectionLost)
        #expect(rig.server.requestCount == 2)
    }

    @Test(
        "A kept connection that dies within the status line is replaced only for methods that may be repeated",
        arguments: [("GET", true), ("PUT", true), ("POST", false), ("PATCH", false)]
    )
    func partOfLine(method: String, isReplaced: Bool) async throws {
        let rig = try Rig {
            $0.ordinal == 2 ? .raw([.bytes("HTTP/1.1 201"), .close]) : .text("\($0.ordinal)")
        } configure: {
            $0.urlCache = nil
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "1")
        let body = method == "GET" ? nil : Data("an order".utf8)
        let result = await rig.session.load(URLRequest(rig.url("/"), method: method, body: body))
        #expect(result.text == (isReplaced ? "3" : nil))
        #expect(result.error?.code == (isReplaced ? nil : .networkConnectionLost))
        #expect(rig.server.requestCount == (isReplaced ? 3 : 2))
    }

    @Test("A dead connection's replacement isn't replaced in turn")
    func once() async throws {
        let rig = try Rig {
            $0.ordinal == 1 ? .text("hello") : .raw([.close])
        } configure: {
            $0.urlCache = nil
        }
        defer { rig.stop() }
        #expect(await rig.session.load(rig.url("/")).text == "hello")
        #expect(await rig.session.load(rig.url("/")).error?.code == .networkConnectionLost)
        #expect(rig.server.requests.map(\.connection) == [1, 1, 2])
    }
}
