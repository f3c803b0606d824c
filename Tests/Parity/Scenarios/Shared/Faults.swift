import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

let connectionFaults = Topic("connection faults") {
    Scenario("nobody listens") { stage in
        await stage.load(try stage.nobody())
    }
    Scenario("nobody listens, with a delegate") { stage in
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: try stage.nobody())
        task.resume()
        try await recorder.completions()
        stage.note("task", Describe.error(task.error))
    }
    Scenario("an unknown host") { stage in
        await stage.load(try stage.url("http://nowhere.invalid/"))
    }
    for (end, ending) in [("closes", LoopbackServer.FaultEnding.close), ("resets", .reset)] {
        Scenario("\(end) before any byte") { stage in
            let server = try stage.serve { _ in .fault(.beforeAnyByte, then: ending) }
            await stage.load(server.url("/"))
        }
        .promised(.networkConnectionLost)
        Scenario("\(end) inside the head") { stage in
            let server = try stage.serve { _ in .fault(.insideHead, then: ending) }
            await stage.load(server.url("/"))
        }
        .promised(.networkConnectionLost)
        Scenario("\(end) behind the head") { stage in
            let server = try stage.serve { _ in .fault(.afterHead(length: 10), then: ending) }
            await stage.load(server.url("/"))
        }
        .promisedResponse()
        Scenario("\(end) inside the body") { stage in
            let server = try stage.serve { _ in .fault(.insideBody(after: 1000, of: 5000), then: ending) }
            await stage.load(server.url("/"))
        }
        .promisedResponse()
        Scenario("\(end) inside the body, with a delegate") { stage in
            let server = try stage.serve { _ in .fault(.insideBody(after: 1000, of: 5000), then: ending) }
            let recorder = Recorder(stage)
            stage.session(recorder).dataTask(with: server.url("/")).resume()
            try await recorder.completions()
        }
        .promised(.networkConnectionLost)
        Scenario("\(end) inside a chunk") { stage in
            let server = try stage.serve { _ in .fault(.insideChunk(after: 100), then: ending) }
            await stage.load(server.url("/"))
        }
        .promisedResponse()
    }
    Scenario("closes between two chunks") { stage in
        let server = try stage.answer(
            .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHello\r\n"),
            .close
        )
        await stage.load(server.url("/"))
    }
    .promised(.networkConnectionLost)
    Scenario("closes at once") { stage in
        let server = try stage.greet(.close)
        await stage.load(server.url("/"))
    }
    .promised(.networkConnectionLost)
    .stockIsUnsteady()
    Scenario("a kept connection that has gone stale") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let session = stage.session()
        await stage.load(server.url("/1"), in: session)
        server.dropIdleConnections()
        try await server.waitUntilNoConnections()
        await stage.load(server.url("/2"), in: session)
    }
    Scenario("a kept connection that ends with the second request") { stage in
        let server = try stage.serve { $0.ordinalOnConnection > 1 ? .fault(.beforeAnyByte) : .text("Hello") }
        let session = stage.session()
        await stage.load(server.url("/1"), in: session)
        await stage.load(server.url("/2"), in: session)
    }
    Scenario("TLS to a server without") { stage in
        let server = try stage.greet(.bytes("HTTP/1.1 400 Bad Request\r\n\r\n"), .close)
        await stage.load(try stage.url("https://127.0.0.1:\(server.port)/"))
    }
    .promised(.secureConnectionFailed)
    Scenario("TLS to a server that closes") { stage in
        let server = try stage.greet(.close)
        await stage.load(try stage.url("https://127.0.0.1:\(server.port)/"))
    }
    .promised(.secureConnectionFailed)
    Scenario("a port that is none") { stage in
        await stage.load(try stage.url("http://127.0.0.1:0/"))
    }
}

/// A head with these fields, and a body.
private func ok(_ fields: String, _ body: String = "OK") -> String { "HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n\(body)" }

let malformedAnswers = Topic("malformed answers") {
    // Byte for byte; the server closes behind them.
    let chunked = "Transfer-Encoding: chunked"
    for (title, answer) in [
        ("status 999", "HTTP/1.1 999 Many\r\nContent-Length: 2\r\n\r\nOK"),
        ("a chunk extension", ok(chunked, "2;a=b\r\nOK\r\n0\r\n\r\n")),
        ("more than the length says", ok("Content-Length: 2", "OK and more")),
        ("a second answer that nobody asked for", ok("Content-Length: 2", "OKHTTP/1.1 404 No\r\n\r\n")),
        ("204 with a body", "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nOK"),
        ("304 with a body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nOK"),
        ("101 that nobody asked for", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nOK"),
    ] {
        Scenario(title) { stage in
            let server = try stage.answer(.bytes(answer), .close)
            await stage.load(server.url("/"))
        }
    }
    for (title, answer, length) in [
        ("the same length twice", ok("Content-Length: 2\r\nContent-Length: 2"), "2"),
        ("length and chunks", ok("\(chunked)\r\nContent-Length: 9", "2\r\nOK\r\n0\r\n\r\n"), "-1"),
    ] {
        Scenario(title) { stage in
            let server = try stage.answer(.bytes(answer), .close)
            await stage.load(server.url("/"))
        }
        .promised(
            "the expected length of the response's content, which the server has said in an odd way, or not at all.",
            by: "\(Scenario.foundation)/urlresponse/expectedcontentlength"
        ) { $0.first("handler", "length") == length }
    }
    for (title, answer) in [
        ("no HTTP at all", "This is no HTTP at all.\r\n\r\n"), ("a mail server's greeting", "220 mail ready\r\n"),
        ("an empty line", "\r\n"), ("HTTP/0.9", "<html>Hello</html>"),
        ("an unknown version", "HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nOK"),
        ("no version number", "HTTP 200 OK\r\nContent-Length: 2\r\n\r\nOK"),
        ("a status that is no number", "HTTP/1.1 abc OK\r\nContent-Length: 2\r\n\r\nOK"),
        ("a status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nOK"),
        ("a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nOK"),
        ("status 000", "HTTP/1.1 000 Zero\r\nContent-Length: 2\r\n\r\nOK"),
    ] {
        Scenario(title) { stage in
            let server = try stage.answer(.bytes(answer), .close)
            await stage.load(server.url("/"))
        }
        .promised(.cannotParseResponse)
    }
    for (title, answer) in [
        ("a field without a colon", ok("Nonsense\r\nContent-Length: 2")),
        ("a continuation as the first field", "HTTP/1.1 200 OK\r\n folded\r\nContent-Length: 2\r\n\r\nOK"),
        ("NUL in a value", ok("X-Nul: a\0b\r\nContent-Length: 2")), ("a negative length", ok("Content-Length: -2")),
        ("a length that is no number", ok("Content-Length: two")), ("an empty length", ok("Content-Length: ")),
        ("a head of a million bytes", ok("X-Long: \(String(repeating: "x", count: 1_000_000))")),
    ] {
        Scenario(title) { stage in
            let server = try stage.answer(.bytes(answer), .close)
            await stage.load(server.url("/"))
        }
        .promised(.badServerResponse)
    }
    for (title, answer) in [
        ("two different lengths", ok("Content-Length: 2\r\nContent-Length: 3")),
        ("a length beyond all numbers", ok("Content-Length: 99999999999999999999")),
        ("a chunk's size that is no number", ok(chunked, "hello\r\nOK\r\n")),
        ("a chunk's size beyond all numbers", ok(chunked, "fffffffffffffffff\r\nOK\r\n")),
        ("a chunk longer than its size", ok(chunked, "1\r\nOK\r\n0\r\n\r\n")),
    ] {
        Scenario(title) { stage in
            let server = try stage.answer(.bytes(answer), .close)
            await stage.load(server.url("/"))
        }
        .promised(.badServerResponse)
    }
    Scenario("an unknown transfer coding") { stage in
        let server = try stage.answer(.bytes(ok("Transfer-Encoding: rot13")), .close)
        await stage.fail(server.url("/"))
    }
    .promisedKnownError()
    for (title, answer) in [
        ("chunks without the last one's end", ok(chunked, "2\r\nOK\r\n0\r\n")),
        ("100 and nothing more", "HTTP/1.1 100 Continue\r\n\r\n"),
    ] {
        Scenario(title) { stage in
            let server = try stage.answer(.bytes(answer), .close)
            await stage.load(server.url("/"))
        }
        .promised(.networkConnectionLost)
    }
    let http = "https://www.rfc-editor.org/rfc/rfc9112#section-"
    for (title, answer, promise, section) in [
        (
            "no reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nOK",
            "a client ignores the reason: it may be missing.", "4"
        ),
        (
            "a blank before the colon", ok("X-Blank : a\r\nContent-Length: 2"),
            "only a server must refuse a blank before the colon; in a response it is removed.", "5.1"
        ),
        (
            "no blank before the value", ok("X-Tight:a\r\nContent-Length: 2"),
            "the blank before a field's value is optional.", "5"
        ),
        (
            "a field without a name", ok(": value\r\nContent-Length: 2"),
            "lines that can't be read may be left out for the sake of the rest.", "2.2"
        ),
        (
            "line feeds alone", "HTTP/1.1 200 OK\nContent-Length: 2\nX-Field: a\n\nOK",
            "a recipient may take a single line feed for a line's end.", "2.2"
        ),
    ] {
        Scenario(title) { stage in
            let server = try stage.answer(.bytes(answer), .close)
            await stage.load(server.url("/"))
        }
        .promisedBody("OK", promise, by: http + section)
    }
    Scenario("no HTTP at all, with a delegate") { stage in
        let server = try stage.serve { _ in .fault(.garbage) }
        let recorder = Recorder(stage)
        stage.session(recorder).dataTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    .promised(.cannotParseResponse)
    Scenario("a chunk's size that is no number, downloaded") { stage in
        let server = try stage.serve { _ in .fault(.malformedChunk) }
        await stage.download(server.url("/"))
    }
    .promised(.badServerResponse)
    Scenario("an answer to HEAD with a body") { stage in
        let server = try stage.answer(.bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"), .close)
        await stage.load(URLRequest(server.url("/"), "HEAD"))
    }
    Scenario("an answer before the request") { stage in
        let server = try stage.greet(.bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"), .never)
        await stage.load(server.url("/"))
    }
}

let urls = Topic("URLs") {
    let uri = "https://www.rfc-editor.org/rfc/rfc3986#section-"
    for target in [
        "", "/", "?a=1", "/a/b/c", "/a//b", "/a/", "/a%20b", "/a%2Fb", "/%E4", "/%C3%A4", "/a?b=c&d=e%20f",
        "/a?b=c+d",
        "/a;b=c", "/a,b", "/~a", "/a'b", "/(a)", "/a!$&*", "/a:b@c", "/a?b=/c?d", "/a?b=[c]", "/a|b", "/%", "/a%zz",
    ] {
        Scenario("target \(target.debugDescription)") { stage in
            let server = try stage.serve { .text("at \($0.target)") }
            await stage.load(try stage.url(server.url.absoluteString + target))
        }
    }
    for target in ["/?", "/a/../b", "/a/./b", "/../a", "/a/.."] {
        Scenario("target \(target.debugDescription)") { stage in
            let server = try stage.serve { .text("at \($0.target)") }
            await stage.load(try stage.url(server.url.absoluteString + target))
        }
        .promisedBody(
            "at \(target)",
            "the target is the URL's path as the program wrote it.",
            by: "https://www.rfc-editor.org/rfc/rfc9112#section-3.2.1"
        )
    }
    Scenario("a fragment is not sent") { stage in
        let server = try stage.serve { .text("at \($0.target)") }
        await stage.load(try stage.url(server.url.absoluteString + "/a?b=c#part"))
    }
    Scenario("the scheme in capitals") { stage in
        let server = try stage.serve { .text("at \($0.target)") }
        await stage.load(try stage.url("HTTP://127.0.0.1:\(server.port)/a"))
    }
    .promisedBody("at /a", "a scheme's case means nothing.", by: uri + "3.1")
    Scenario("a name for the host") { stage in
        let server = try stage.serve { .text("to \(($0.header("Host") ?? "").prefix(9))") }
        await stage.load(try stage.url("http://LocalHost:\(server.port)/"))
    }
    Scenario("an IPv6 address") { stage in
        let server = try stage.serve(host: "::1") { .text("at \($0.target)") }
        await stage.load(server.url("/a"))
    }
    .promisedBody("at /a", "a host may be an IPv6 address in brackets.", by: uri + "3.2.2")
    Scenario("user name and password") { stage in
        let server = try stage.serve { .text("as \($0.header("Authorization") ?? "nobody")") }
        await stage.load(try stage.url("http://user:pass@127.0.0.1:\(server.port)/"))
    }
    Scenario("a user name with an encoded @") { stage in
        let server = try stage.serve { .text("as \($0.header("Authorization") ?? "nobody")") }
        await stage.load(try stage.url("http://u%40x:p%3Ass@127.0.0.1:\(server.port)/"))
    }
    Scenario("a path of 8000 bytes") { stage in
        let server = try stage.serve { .text("of \($0.target.utf8.count)") }
        await stage.load(try stage.url(server.url.absoluteString + "/" + String(repeating: "a", count: 8000)))
    }
    Scenario("a relative URL with its base") { stage in
        let server = try stage.serve { .text("at \($0.target)") }
        guard let url = URL(string: "b?c=d", relativeTo: server.url("/a/x")) else { return stage.note("no URL") }
        await stage.load(url)
    }
    Scenario("no host") { stage in
        await stage.load(try stage.url("http:///path"))
    }
}
