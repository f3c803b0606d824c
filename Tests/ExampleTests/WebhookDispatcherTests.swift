import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import curlnetworking_webhook_dispatcher

@Suite("The example of a webhook dispatcher", .timeLimit(.minutes(1)))
struct WebhookDispatcherTests {
    private static let secret = Data("a secret of some length".utf8)
    private static let environment = ["WEBHOOK_SECRET": secret.base64EncodedString()]

    @Test("The webhook dispatcher signs each message, and sends none twice that was answered")
    func sign() async throws {
        let server = try LoopbackServer { request in
            if request.path == "/gone" { return .status(410) }
            if request.path == "/moved" { return .redirect(to: "/elsewhere", status: 307) }
            return .status(204)
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let lines =
            (0..<40).map { "\(server.url("/\($0)").absoluteString) {\"number\": \($0)}" }
            + ["\(server.url("/gone").absoluteString) {}", "\(server.url("/moved").absoluteString) {}"]
        let file = try directory.file("deliveries", Data(lines.joined(separator: "\n").utf8))
        let dispatcher = try ExampleProgram.start(
            "webhook-dispatcher",
            file.path,
            environment: Self.environment,
            mergesErrors: true
        )
        let said = await dispatcher.remainingLines()
        #expect(await dispatcher.ending() == .exit(1))
        #expect(said.dropLast().count { $0.hasSuffix(" delivered") } == 40)
        #expect(said.contains { $0.hasSuffix("/gone failed: status 410") })
        #expect(said.contains { $0.hasSuffix("/moved failed: status 307") })
        #expect(said.last == "2 of 42 could not be delivered")
        let requests = server.requests
        #expect(requests.count == 42)
        #expect(Set(requests.compactMap { $0.header("webhook-id") }).count == 42)
        for request in requests {
            let id = try #require(request.header("webhook-id"))
            let timestamp = try #require(request.header("webhook-timestamp").flatMap { Int($0) })
            let signature = Signature.make(id: id, timestamp: timestamp, body: request.body, secret: Self.secret)
            #expect(request.header("webhook-signature") == signature)
        }
        #expect(requests.first { $0.path == "/7" }?.text == #"{"number": 7}"#)
    }

    @Test("The webhook dispatcher tries again, with the same identifier for the same message")
    func retry() async throws {
        let server = try LoopbackServer { $0.ordinal < 3 ? .status(503) : .status(200) }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.file("deliveries", Data("\(server.url.absoluteString) {}".utf8))
        let dispatcher = try ExampleProgram.start("webhook-dispatcher", file.path, environment: Self.environment)
        #expect(await dispatcher.remainingLines().first?.hasSuffix(" delivered") == true)
        #expect(await dispatcher.ending() == .exit(0))
        #expect(server.requestCount == 3)
        #expect(Set(server.requests.compactMap { $0.header("webhook-id") }).count == 1)
    }

    @Test("The webhook dispatcher shows its certificate to servers that ask for one, and delivers nothing without it")
    func mutualTLS() async throws {
        let nginx = try TLSNginx.shared()
        let directory = try TemporaryDirectory()
        let path = "/webhooks-\(UUID().uuidString)"
        let url = nginx.url(.asking, path).absoluteString
        let file = try directory.file("deliveries", Data("\(url) {\"a\": 1}\n\(url) {\"a\": 2}\n".utf8))
        let authority = nginx.site.authority.path
        let known = try ExampleProgram.start(
            "webhook-dispatcher",
            "--identity",
            nginx.site.clientWithKey.path,
            "--authority",
            authority,
            file.path,
            environment: Self.environment
        )
        let lines = await known.remainingLines()
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasSuffix("\(path) delivered") })
        #expect(await known.ending() == .exit(0))
        let unknown = try ExampleProgram.start(
            "webhook-dispatcher",
            "--authority",
            authority,
            file.path,
            environment: Self.environment
        )
        let refusals = await unknown.remainingLines()
        #expect(refusals.count == 2 && refusals.allSatisfy { $0.hasSuffix("\(path) failed: status 400") })
        #expect(await unknown.ending() == .exit(1))
        let untrusting = try ExampleProgram.start("webhook-dispatcher", file.path, environment: Self.environment)
        let complaints = await untrusting.remainingLines()
        #expect(complaints.count == 2)
        #expect(complaints.allSatisfy { $0.contains(" failed: ") && !$0.contains("status") })
        #expect(await untrusting.ending() == .exit(1))
    }

    @Test("The signature is that of the specification's example")
    func signature() throws {
        let secret = try #require(Data(base64Encoded: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = Signature.make(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp: 1_614_265_330,
            body: Data(#"{"test": 2432232314}"#.utf8),
            secret: secret
        )
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }
}
