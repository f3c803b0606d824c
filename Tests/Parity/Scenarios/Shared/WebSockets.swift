import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage
import Foundation

let webSockets = Topic("web sockets") {
    let page = "\(Scenario.foundation)/urlsessionwebsockettask"
    let delegatePage = "\(Scenario.foundation)/urlsessionwebsocketdelegate"
    let echo: LoopbackServer.Handler = { .webSocketEcho($0) }

    Scenario("messages that come back") { stage in
        let socket = try SocketStage(stage, echo)
        await socket.send(.string("Hello"))
        await socket.receive()
        await socket.send(.data(Data([1, 2, 3])))
        await socket.receive()
        try await socket.close()
    }
    .promised("messages are sent and received as text or as data.", by: page) {
        $0.has("received", ["text": "Hello"]) && $0.has("received", ["data": "3 bytes"])
    }
    Scenario("a message in fragments, with a ping between them") { stage in
        let socket = try SocketStage(stage) { request in
            .webSocket(request) { event in
                switch event {
                case .opened:
                    return [
                        .frame(.init(1, Data("Hel".utf8), isFinal: false)), .frame(.ping("p")),
                        .frame(.init(0, Data("lo".utf8))),
                    ]
                case .received(let frame):
                    stage.note("frame", ["opcode": "\(frame.opcode)", "payload": frame.text], lane: "server's end")
                    return frame.opcode == LoopbackServer.WebSocketFrame.Opcode.close
                        ? [.frame(.close(1000)), .close] : []
                case .finished: return []
                }
            }
        }
        await socket.receive()
        try await socket.close()
    }
    .promised("the task puts a message's frames together, and answers pings.", by: page) {
        $0.has("received", ["text": "Hello"]) && $0.has("frame", ["opcode": "10", "payload": "p"])
    }
    Scenario("the protocol that the server has chosen") { stage in
        let socket = try SocketStage(stage, protocols: ["chat", "news"]) {
            .webSocketEcho($0, headers: [("Sec-WebSocket-Protocol", "news")])
        }
        try await socket.recorder.openings()
        try await socket.close()
    }
    .promised("the delegate hears of the handshake and of the protocol picked by the server.", by: delegatePage) {
        $0.has("didOpen", ["protocol": "news"])
    }
    Scenario("the server closes") { stage in
        let socket = try SocketStage(stage) { request in
            .webSocket(request) { event in
                if case .opened = event { [.frame(.text("bye")), .frame(.close(1001, "restart")), .close] } else { [] }
            }
        }
        await socket.receive()
        try await socket.recorder.completions()
        await socket.receive()
    }
    .promised("the delegate hears of the server's close frame, with its code and reason.", by: delegatePage) {
        $0.has("didClose", ["code": "1001", "reason": "restart"]) && $0.has("received", ["text": "bye"])
            && $0.first("didComplete", "error") == nil
    }
    Scenario("the program closes") { stage in
        let socket = try SocketStage(stage) { request in
            .webSocket(request) { event in
                guard case .received(let frame) = event else { return [] }
                let code = frame.closeCode.map { "\($0)" } ?? "none"
                stage.note("frame", ["opcode": "\(frame.opcode)", "code": code], lane: "server's end")
                return [.frame(.close(frame.closeCode)), .close]
            }
        }
        try await socket.recorder.openings()
        socket.task.cancel(with: .goingAway, reason: Data("enough".utf8))
        try await socket.recorder.completions()
        stage.note("closed", ["code": "\(socket.task.closeCode.rawValue)"])
    }
    .promised("closing sends a close frame with the code.", by: "\(page)/cancel(with:reason:)") {
        $0.has("frame", ["opcode": "8", "code": "1001"]) && $0.has("didClose", ["code": "1001"])
    }
    .stockIsUnsteady()
    Scenario("a ping") { stage in
        let socket = try SocketStage(stage, echo)
        await socket.ping()
        try await socket.close()
    }
    .promised("the handler is called when the pong has come.", by: "\(page)/sendping(pongreceivehandler:)") {
        $0.has("pong") && $0.first("pong", "error") == nil
    }
    .stockIsUnsteady()
    Scenario("async calls") { stage in
        let socket = try SocketStage(stage, echo)
        do {
            try await socket.task.send(.string("Hello"))
            socket.note(try await socket.task.receive())
        } catch {
            stage.note("threw", Describe.error(error))
        }
        try await socket.close()
    }
    .promised("async calls send and receive as handlers do.", by: page) { $0.has("received", ["text": "Hello"]) }
    Scenario("a message that is too large") { stage in
        let socket = try SocketStage(stage, resumes: false, echo)
        socket.task.maximumMessageSize = 10
        socket.task.resume()
        await socket.send(.string("longer than that"))
        await socket.receive()
        try await socket.recorder.completions()
        stage.note("closed", ["code": "\(socket.task.closeCode.rawValue)"])
    }
    .promised("a larger message fails the receive, and the task.", by: "\(page)/maximummessagesize") {
        $0.has("closed", ["code": "1009"]) && $0.first("didComplete", "error") != nil
    }
    Scenario("the handshake is refused") { stage in
        let socket = try SocketStage(stage) { _ in .text("no", status: 403) }
        await socket.receive()
        try await socket.recorder.completions()
        stage.note("response", ["status": "\((socket.task.response as? HTTPURLResponse)?.statusCode ?? 0)"])
    }
    .promised("a refused handshake fails the task, whose response tells why.", by: page) {
        $0.has("response", ["status": "403"]) && $0.has("didComplete", ["error": "NSURLErrorDomain -1011"])
    }
    Scenario("a server that breaks the protocol") { stage in
        let socket = try SocketStage(stage) { request in
            .webSocket(request) { event in
                if case .opened = event { [.frame(.init(3)), .never] } else { [] }
            }
        }
        await socket.receive()
        try await socket.recorder.completions()
        stage.note("closed", ["code": "\(socket.task.closeCode.rawValue)"])
    }
    .promised(
        "an endpoint fails the connection then, with 1002.",
        by: "https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1"
    ) {
        $0.has("closed", ["code": "1002"]) && $0.first("didComplete", "error") != nil
    }
    Scenario("cancelling fails what waits") { stage in
        let socket = try SocketStage(stage, echo)
        try await socket.recorder.openings()
        let gate = Gate()
        socket.task.receive { result in
            socket.note(result)
            gate.open()
        }
        socket.task.cancel()
        try await gate.wait()
        try await socket.recorder.completions()
    }
    .promised("a cancelled task fails with the error cancelled.", by: "\(Scenario.foundation)/urlsessiontask/cancel()")
    {
        $0.has("received", ["error": "NSURLErrorDomain -999"])
            && $0.has("didComplete", ["error": "NSURLErrorDomain -999"])
    }
    .stockIsUnsteady()
    Scenario("the request's and the session's fields") { stage in
        let server = try stage.serve { .webSocketEcho($0) }
        let recorder = Recorder(stage)
        let session = stage.session(recorder) { $0.httpAdditionalHeaders = ["X-Session": "yes"] }
        var request = URLRequest(url: try stage.webSocketURL(server.url))
        request.setValue("yes", forHTTPHeaderField: "X-Request")
        let socket = SocketStage(stage, recorder, session.webSocketTask(with: request))
        socket.task.resume()
        await socket.send(.string("Hello"))
        await socket.receive()
        try await socket.close()
        let fields = server.requests.first.map { "\($0.header("X-Session") ?? "no") \($0.header("X-Request") ?? "no")" }
        stage.note("fields", ["seen": fields ?? "no request"])
    }
    .promised("the handshake carries the fields of its request and of its session.", by: page) {
        $0.has("fields", ["seen": "yes yes"])
    }
    Scenario("nobody listens") { stage in
        let url = try stage.nobody()
        let recorder = Recorder(stage)
        let task = stage.session(recorder).webSocketTask(with: try stage.webSocketURL(url))
        let socket = SocketStage(stage, recorder, task)
        socket.task.resume()
        await socket.receive()
        try await recorder.completions()
    }
    .promised("an attempt to connect to a host failed.", by: "\(Scenario.foundation)/urlerror/cannotconnecttohost") {
        $0.has("didComplete", ["error": "NSURLErrorDomain -1004"])
    }
}

extension Stage {
    /// The same address with the scheme of web sockets.
    fileprivate func webSocketURL(_ url: URL) throws -> URL {
        try self.url(url.absoluteString.replacingOccurrences(of: "http:", with: "ws:"))
    }
}

/// A web-socket task, its delegate, and notes of what becomes of its calls.
private struct SocketStage: Sendable {
    let stage: Stage
    let recorder: Recorder
    let task: URLSessionWebSocketTask

    init(_ stage: Stage, _ recorder: Recorder, _ task: URLSessionWebSocketTask) {
        (self.stage, self.recorder, self.task) = (stage, recorder, task)
    }

    /// A task that has been resumed, to a server of its own. Its handshake is full of random numbers.
    init(
        _ stage: Stage,
        protocols: [String] = [],
        resumes: Bool = true,
        _ handler: @escaping LoopbackServer.Handler
    ) throws {
        let server = try stage.serve(isLogged: false, handler)
        let recorder = Recorder(stage)
        let url = try stage.webSocketURL(server.url)
        let session = stage.session(recorder)
        self.init(
            stage,
            recorder,
            protocols.isEmpty
                ? session.webSocketTask(with: url) : session.webSocketTask(with: url, protocols: protocols)
        )
        if resumes { task.resume() }
    }

    func send(_ message: URLSessionWebSocketTask.Message) async {
        await withCheckedContinuation { continuation in
            task.send(message) { error in
                stage.note("sent", Describe.error(error))
                continuation.resume()
            }
        }
    }

    func receive() async {
        await withCheckedContinuation { continuation in
            task.receive { result in
                note(result)
                continuation.resume()
            }
        }
    }

    func ping() async {
        await withCheckedContinuation { continuation in
            task.sendPing { error in
                stage.note("pong", Describe.error(error))
                continuation.resume()
            }
        }
    }

    func note(_ result: Result<URLSessionWebSocketTask.Message, any Error>) {
        switch result {
        case .success(let message): note(message)
        case .failure(let error): stage.note("received", Describe.error(error))
        }
    }

    func note(_ message: URLSessionWebSocketTask.Message) {
        switch message {
        case .string(let text): stage.note("received", ["text": text])
        case .data(let data): stage.note("received", ["data": "\(data.count) bytes"])
        @unknown default: stage.note("received", ["unknown": "yes"])
        }
    }

    /// Closes the web socket, and returns when its task is over.
    func close() async throws {
        task.cancel(with: .normalClosure, reason: nil)
        try await recorder.completions()
    }
}
