import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage
import Foundation

let streams = Topic("stream tasks") {
    let page = "\(Scenario.foundation)/urlsessionstreamtask"
    Scenario("bytes that come back") { stage in
        let server = try stage.echo()
        await stage.stream(to: server) { stream in
            await stream.write("Hello")
            await stream.read(5, 5)
            await stream.closeWrite()
            await stream.read(1, 10)
        }
    }
    .promised("a stream task reads and writes a TCP connection.", by: page) {
        $0.has("read", ["data": "“Hello”", "end": "false"]) && $0.has("read", ["end": "true"])
    }
    Scenario("a read takes its minimum, and no more than its maximum") { stage in
        let server = try stage.greet(.bytes("Hello, whoever you are"), .never)
        await stage.stream(to: server) { stream in
            await stream.read(7, 7)
            await stream.read(4, 4)
        }
    }
    .promised(
        "a read has at least its minimum and at most its maximum.",
        by: "\(page)/readdata(ofminlength:maxlength:timeout:completionhandler:)"
    ) {
        $0.has("read", ["data": "“Hello, ”"]) && $0.has("read", ["data": "“whoe”"])
    }
    Scenario("the server ends") { stage in
        let server = try stage.greet(.bytes("bye"), .close)
        await stage.stream(to: server) { stream in
            await stream.read(3, 3)
            await stream.read(1, 10)
        }
    }
    .promised(
        "atEOF tells that nothing more comes.",
        by: "\(page)/readdata(ofminlength:maxlength:timeout:completionhandler:)"
    ) {
        $0.has("read", ["end": "true"])
    }
    Scenario("a read that times out") { stage in
        let server = try stage.greet(.never)
        await stage.stream(to: server) { stream in await stream.read(1, 1, timeout: 0.1) }
    }
    .promised(
        "a read that takes longer than its time-out fails.",
        by: "\(page)/readdata(ofminlength:maxlength:timeout:completionhandler:)"
    ) {
        $0.has("read", ["error": "NSURLErrorDomain -1001"])
    }
    Scenario("nobody listens") { stage in
        let url = try stage.nobody()
        await stage.stream(to: url) { stream in await stream.read(1, 1) }
    }
    .promised("an attempt to connect to a host failed.", by: "\(Scenario.foundation)/urlerror/cannotconnecttohost") {
        $0.has("read", ["error": "NSURLErrorDomain -1004"])
    }
}

extension Stage {
    fileprivate func echo() throws -> LoopbackServer {
        var options = LoopbackServer.Options()
        options.allowsHalfClose = true
        return try connect(options: options) { event in
            if case .received(let data) = event { [.bytes(data)] } else { [] }
        }
    }

    fileprivate func stream(to server: LoopbackServer, _ use: (StreamStage) async -> Void) async {
        await stream(to: server.url, use)
    }

    /// Notes what becomes of a stream task's calls; one line where there are no stream tasks.
    fileprivate func stream(to url: URL, _ use: (StreamStage) async -> Void) async {
        let recorder = Recorder(self)
        guard let task = session(recorder).openStream(host: url.host ?? "", port: url.port ?? 0) else {
            return note("unavailable")
        }
        task.resume()
        await use(StreamStage(stage: self, task: task))
        task.cancel()
        try? await recorder.completions()
    }
}

/// Calls of a stream task, and notes of what becomes of them.
private struct StreamStage: Sendable {
    let stage: Stage
    let task: any StreamTask

    func read(_ minimum: Int, _ maximum: Int, timeout: TimeInterval = 0) async {
        await withCheckedContinuation { continuation in
            task.readData(ofMinLength: minimum, maxLength: maximum, timeout: timeout) { data, isAtEnd, error in
                let details = ["data": data.map(Text.body) ?? "nil", "end": "\(isAtEnd)"]
                stage.note("read", details.merging(Describe.error(error)) { $1 })
                continuation.resume()
            }
        }
    }

    func write(_ text: String) async {
        await withCheckedContinuation { continuation in
            task.write(Data(text.utf8), timeout: 0) { error in
                stage.note("wrote", Describe.error(error))
                continuation.resume()
            }
        }
    }

    func closeWrite() async {
        task.closeWrite()
    }
}

/// What a stream task can do, where there is one: see `URLSession.openStream(host:port:)`.
protocol StreamTask: AnyObject, Sendable {
    func resume()
    func cancel()
    func readData(
        ofMinLength minBytes: Int,
        maxLength maxBytes: Int,
        timeout: TimeInterval,
        completionHandler: @escaping @Sendable (Data?, Bool, (any Error)?) -> Void
    )
    func write(_ data: Data, timeout: TimeInterval, completionHandler: @escaping @Sendable ((any Error)?) -> Void)
    func closeWrite()
}
