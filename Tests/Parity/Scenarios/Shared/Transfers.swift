import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

let uploads = Topic("uploads") {
    Scenario("data, with a handler") { stage in
        let server = try stage.serve { .text("got \($0.text)") }
        await stage.upload(URLRequest(server.url("/"), "POST"), from: Data("content".utf8))
    }
    Scenario("no data") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        await stage.upload(URLRequest(server.url("/"), "POST"), from: nil)
    }
    .stockSessionFails("Making the task traps.")
    Scenario("empty data") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        await stage.upload(URLRequest(server.url("/"), "PUT"), from: Data())
    }
    Scenario("a file, with a handler") { stage in
        let server = try stage.serve { .text("got \($0.text)") }
        let file = try stage.file("upload", Data("content".utf8))
        await stage.upload(URLRequest(server.url("/"), "PUT"), fromFile: file)
    }
    Scenario("an empty file") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        let file = try stage.file("upload", Data())
        await stage.upload(URLRequest(server.url("/"), "PUT"), fromFile: file)
    }
    Scenario("a file that is not there") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        let file = stage.directory.appendingPathComponent("missing")
        await stage.upload(URLRequest(server.url("/"), "PUT"), fromFile: file)
    }
    Scenario("1 MiB of data") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        let data = GeneratedBody.bytes(seed: 1, range: 0..<1 << 20)
        await stage.upload(URLRequest(server.url("/"), "POST"), from: data)
    }
    Scenario("the delegate hears how much was sent") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        let recorder = Recorder(stage)
        let request = URLRequest(server.url("/"), "POST")
        stage.session(recorder).uploadTask(with: request, from: Data("content".utf8)).resume()
        try await recorder.completions()
    }
    Scenario("the delegate hears how much of a file was sent") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        let recorder = Recorder(stage)
        let file = try stage.file("upload", GeneratedBody.bytes(seed: 2, range: 0..<200_000))
        stage.session(recorder).uploadTask(with: URLRequest(server.url("/"), "PUT"), fromFile: file).resume()
        try await recorder.completions()
    }
    Scenario("a stream from the delegate") { stage in
        let server = try stage.serve { .text("got \($0.text)") }
        var behaviour = Recorder.Behaviour()
        behaviour.bodyStream = { InputStream(data: Data("streamed".utf8)) }
        let recorder = Recorder(stage, behaviour)
        stage.session(recorder).uploadTask(withStreamedRequest: URLRequest(server.url("/"), "POST")).resume()
        try await recorder.completions()
    }
    .promised(
        "the final response is the task's: an interim one comes before it (RFC 9110 §15.2).",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-15.2"
    ) { $0.count("didReceive response") == 1 && $0.has("didReceive data", ["body": "“got streamed”"]) }
    Scenario("a stream of the request") { stage in
        let server = try stage.serve { .text("got \($0.text)") }
        let recorder = Recorder(stage)
        var request = URLRequest(server.url("/"), "POST")
        request.httpBodyStream = InputStream(data: Data("streamed".utf8))
        stage.session(recorder).uploadTask(withStreamedRequest: request).resume()
        try await recorder.completions()
    }
    .promised(
        "the delegate is asked for the stream; where it has none, the request's own is better than nothing.",
        by: "\(Scenario.foundation)/urlsession/uploadtask(withstreamedrequest:)"
    ) { $0.has("needNewBodyStream") && $0.has("didReceive data", ["body": "“got streamed”"]) }
    Scenario("the request's own body gives way") { stage in
        let server = try stage.serve { .text("got \($0.text)") }
        let request = URLRequest(server.url("/"), "POST", body: "the request's")
        await stage.upload(request, from: Data("the task's".utf8))
    }
    Scenario("a refusal is an answer") { stage in
        let server = try stage.serve { _ in .text("too large", status: 413) }
        await stage.upload(URLRequest(server.url("/"), "POST"), from: Data("content".utf8))
    }
    Scenario("a content type of one's own") { stage in
        let server = try stage.serve { .text("got \($0.bodyLength)") }
        let request = URLRequest(server.url("/"), "POST", headers: ["Content-Type": "application/json"])
        await stage.upload(request, from: Data("{}".utf8))
    }
}

let downloads = Topic("downloads") {
    Scenario("with a handler") { stage in
        let server = try stage.serve { _ in .text("to a file") }
        await stage.download(server.url("/"))
    }
    Scenario("the file is gone after the handler") { stage in
        let server = try stage.serve { _ in .text("to a file") }
        let location: URL? = await withCheckedContinuation { continuation in
            let session = stage.session()
            session.downloadTask(with: server.url("/")) { file, response, error in
                stage.noteDownload(file, response, error)
                session.delegateQueue.addOperation { continuation.resume(returning: file) }
            }.resume()
        }
        // The removal may come a moment after the handler's return.
        try await Task.sleep(for: .milliseconds(200))
        stage.note("afterwards", ["file": Describe.file(location)])
    }
    .promised(
        "the file must be moved or opened before the handler returns: then it is deleted.",
        by: "\(Scenario.foundation)/urlsession/downloadtask(with:completionhandler:)"
    ) { $0.has("afterwards", ["file": "not there"]) }
    Scenario("the order of calls") { stage in
        let server = try stage.serve { _ in .generated(length: 100_000) }
        let recorder = Recorder(stage)
        stage.session(recorder).downloadTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    Scenario("the delegate may move the file") { stage in
        let server = try stage.serve { _ in .text("to be moved") }
        let target = stage.directory.appendingPathComponent("moved")
        var behaviour = Recorder.Behaviour()
        behaviour.onFile = { try? FileManager.default.moveItem(at: $0, to: target) }
        let recorder = Recorder(stage, behaviour)
        stage.session(recorder).downloadTask(with: server.url("/")).resume()
        try await recorder.completions()
        stage.note("moved", ["file": Describe.file(target)])
    }
    Scenario("an empty body, with a handler") { stage in
        let server = try stage.serve { _ in .data(Data()) }
        await stage.download(server.url("/"))
    }
    Scenario("an empty body, with a delegate") { stage in
        let server = try stage.serve { _ in .data(Data()) }
        let recorder = Recorder(stage)
        stage.session(recorder).downloadTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    Scenario("404 is downloaded") { stage in
        let server = try stage.serve { _ in .text("not here", status: 404) }
        await stage.download(server.url("/"))
    }
    Scenario("an unknown length") { stage in
        let server = try stage.serve { _ in .chunked(["one, ", "two"]) }
        let recorder = Recorder(stage)
        stage.session(recorder).downloadTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    Scenario("cut off, with a handler") { stage in
        let server = try stage.serve { _ in .fault(.insideBody(after: 1000, of: 5000)) }
        await stage.download(server.url("/"))
    }
    .promised(.networkConnectionLost)
    Scenario("cut off, with a delegate") { stage in
        let server = try stage.serve { _ in .fault(.insideBody(after: 1000, of: 5000)) }
        let recorder = Recorder(stage)
        stage.session(recorder).downloadTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    .promised(.networkConnectionLost)
    Scenario("a name from Content-Disposition") { stage in
        let server = try stage.serve { _ in
            .text("content").header("Content-Disposition", "attachment; filename=\"song.m4a\"")
        }
        await stage.download(server.url("/download?id=1"))
    }
    Scenario("a compressed body") { stage in
        let server = try stage.serve { _ in .data(Coded.gzip).header("Content-Encoding", "gzip") }
        await stage.download(server.url("/"))
    }
    .promised(
        "the expected length of the response's content, which here isn't the one on the wire.",
        by: "\(Scenario.foundation)/urlresponse/expectedcontentlength"
    ) { $0.first("handler", "length") == "-1" }
    Scenario("nobody listens") { stage in
        await stage.download(try stage.nobody())
    }
    Scenario("a POST") { stage in
        let server = try stage.serve { .text("got \($0.text)") }
        await stage.download(URLRequest(server.url("/"), "POST", body: "please"))
    }
    Scenario("cancelled under way") { stage in
        let server = try stage.serve { _ in .fault(.insideBody(after: 1000, of: 5000), then: .hang) }
        var behaviour = Recorder.Behaviour()
        behaviour.onData = { $0.cancel() }
        let recorder = Recorder(stage, behaviour)
        stage.session(recorder).downloadTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    Scenario("the shared session") { stage in
        let server = try stage.serve { _ in .text("to a file") }
        await stage.download(server.url("/"), in: .shared)
    }
}

let resuming = Topic("resuming") {
    let page = "https://developer.apple.com/documentation/foundation/pausing-and-resuming-downloads"
    Scenario("cancelling gives resume data") { stage in
        let server = try stage.serve { _ in
            .raw([
                .bytes("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nETag: \"v1\"\r\nAccept-Ranges: bytes\r\n\r\n"),
                .body(.generated(length: 1000)), .never,
            ])
        }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).downloadTask(with: server.url("/"))
        task.resume()
        try await recorder.calls("didWrite")
        await withCheckedContinuation { continuation in
            task.cancel { data in
                stage.note("resume data", ["given": data == nil ? "no" : "yes"])
                continuation.resume()
            }
        }
        try await recorder.completions()
    }
    .promised("resume data from a server that gives a validator and takes ranges.", by: page) {
        $0.has("resume data", ["given": "yes"])
    }
    Scenario("a cut-off download's error carries resume data") { stage in
        let server = try stage.serve { _ in
            .raw([
                .bytes("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nETag: \"v1\"\r\nAccept-Ranges: bytes\r\n\r\n"),
                .body(.generated(length: 1000)), .close,
            ])
        }
        let recorder = Recorder(stage)
        stage.session(recorder).downloadTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    .promised("the error's `userInfo` holds the data to resume a failed download with.", by: page) {
        $0.first("didComplete", "userInfo")?.contains("NSURLSessionDownloadTaskResumeData") ?? false
    }
    Scenario("going on from resume data") { stage in
        let gate = Gate()
        let server = try stage.serve { request in
            guard request.ordinal == 1 else {
                return .resource(.generated(length: 300_000), for: request, etag: "v1")
            }
            return .raw([
                .bytes("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\nETag: \"v1\"\r\nAccept-Ranges: bytes\r\n\r\n"),
                .body(.generated(length: 1000)), .never,
            ])
        }
        let recorder = Recorder(stage)
        let session = stage.session(recorder)
        let task = session.downloadTask(with: server.url("/")).named("first")
        task.resume()
        try await recorder.calls("didWrite")
        nonisolated(unsafe) var resumeData: Data?
        task.cancel { data in
            resumeData = data
            gate.open()
        }
        try await gate.wait()
        try await recorder.completions()
        guard let resumeData else { return stage.note("no resume data") }
        await withCheckedContinuation { continuation in
            session.downloadTask(withResumeData: resumeData) { file, _, error in
                let whole = GeneratedBody.bytes(seed: 0, range: 0..<300_000)
                let content = file.flatMap { try? Data(contentsOf: $0) }
                stage.note("resumed", ["whole": content == whole ? "yes" : "no"])
                continuation.resume()
            }.resume()
        }
        stage.note("asked for the rest", ["range": server.requests.last?.header("Range") == nil ? "no" : "yes"])
    }
    .promised("a download goes on from its resume data where it stopped.", by: page) {
        $0.has("resumed", ["whole": "yes"]) && $0.has("asked for the rest", ["range": "yes"])
    }
    .stockHangs()
    .stockIsUnsteady()
}

/// "Hello, compressed world! " four times, in codings.
enum Coded {
    static let gzip = decode("H4sIAAAAAAACA/NIzcnJ11FIzs8tKEotLk5NUSjPL8pJUVTwoJ4EAHZ8l/xkAAAA")
    static let zlib = decode("eNrzSM3JyddRSM7PLShKLS5OTVEozy/KSVFU8KCeBAAj/SP5")

    private static func decode(_ text: String) -> Data { Data(base64Encoded: text) ?? Data() }
}
