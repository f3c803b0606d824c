import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

let statusCodes = Topic("status codes") {
    for status in [
        200, 201, 202, 203, 206, 226, 299, 300, 400, 403, 404, 405, 410, 416, 418, 429, 451, 500, 503, 599,
    ] {
        Scenario("\(status)") { stage in
            let server = try stage.serve { _ in .text("body", status: status) }
            await stage.load(server.url("/"))
        }
    }
    for status in [204, 304] {
        Scenario("\(status) without a body") { stage in
            let server = try stage.answer(.bytes("HTTP/1.1 \(status) Whatever\r\nX-Field: value\r\n\r\n"))
            await stage.load(server.url("/"))
        }
    }
    Scenario("205 with a length of zero") { stage in
        let server = try stage.serve { _ in .status(205) }
        await stage.load(server.url("/"))
    }
    Scenario("305") { stage in
        let server = try stage.serve { _ in .text("body", status: 305) }
        await stage.load(server.url("/"))
    }
    .promisedBody(
        "body",
        "the data returned by the server: 305 is no redirect.",
        by: "\(Scenario.foundation)/urlsession/"
            + "datatask(with:completionhandler:)"
    )
    Scenario("a reason of its own") { stage in
        let server = try stage.serve { _ in .status(200, reason: "Fine, thank you") }
        await stage.load(server.url("/"))
    }
    Scenario("100 before the answer") { stage in
        let server = try stage.answer(
            .bytes("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello")
        )
        await stage.load(server.url("/"))
    }
    Scenario("103 before the answer, with a delegate") { stage in
        let server = try stage.answer(
            .bytes("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello")
        )
        let recorder = Recorder(stage)
        stage.session(recorder).dataTask(with: server.url("/")).resume()
        try await recorder.completions()
    }
    .promised(
        "the final response is the task's: an interim one comes before it (RFC 9110 §15.2).",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-15.2"
    ) {
        $0.count("didReceive response") == 1 && $0.first("didReceive response", "status") == "200"
            && $0.has("didReceive data", ["body": "“Hello”"])
    }
}

let responseHeaders = Topic("response headers") {
    for (title, fields) in [
        ("their case", "x-lower: a\r\nX-UPPER: b\r\nX-Mixed-cAse: c\r\n"),
        (
            "known ones in odd case",
            "content-type: text/html\r\nETAG: \"1\"\r\nlast-modified: yesterday\r\n"
        ),

        ("an empty value", "X-Empty:\r\n"), ("a colon in the value", "X-Time: 12:30:45\r\n"),
        ("UTF-8 in the value", "X-Text: äöü\r\n"),
        ("a media type without charset", "Content-Type: application/json\r\n"),
        ("a media type with charset", "Content-Type: Text/HTML; charset=\"ISO-8859-1\"\r\n"),
        ("a media type with other parameters", "Content-Type: multipart/mixed; boundary=\"a;b\"; x=y\r\n"),
        ("an empty media type", "Content-Type: \r\n"),
        ("a file name", "Content-Disposition: attachment; filename=report.pdf\r\n"),
        ("a quoted file name", "Content-Disposition: attachment; filename=\"my report.pdf\"\r\n"),
        ("a file name with a path", "Content-Disposition: attachment; filename=\"../../etc/passwd\"\r\n"),
        ("a file name in UTF-8", "Content-Disposition: attachment; filename*=UTF-8''%C3%A4.txt\r\n"),
    ] {
        Scenario(title) { stage in
            let server = try stage.answer(.bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(fields)\r\nOK"))
            await stage.load(server.url("/path/name.txt"))
        }
    }
    Scenario("a repeated field") { stage in
        let server = try stage.serve { _ in .text("Hello").headers(["X-Twice": "1", "X-Twice": "2"]) }
        await stage.load(server.url("/"))
    }
    .promised(
        "a list in several lines means the same as in one (RFC 9110 §5.2): no value is lost.",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-5.2"
    ) { ($0.first("handler", "headers") ?? "").contains("X-Twice: 1, 2") }
    Scenario("blanks around the value") { stage in
        let server = try stage.answer(.bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Blanks:   a   \r\n\r\nOK"))
        await stage.load(server.url("/"))
    }
    .promised(
        "blanks around a field's value are no part of it.",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-5.5"
    ) {
        $0.first("handler", "headers")?.hasSuffix("X-Blanks: a") ?? false
    }
    Scenario("a folded field") { stage in
        let server = try stage.answer(
            .bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Folded: one,\r\n  two\r\n\r\nOK")
        )
        await stage.load(server.url("/"))
    }
    Scenario("Latin-1 in the value") { stage in
        let head = Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Latin: ".utf8) + [0xe4, 0xf6]
        let server = try stage.answer(.bytes(head + Data("\r\n\r\nOK".utf8)))
        await stage.load(server.url("/"))
    }
    .promised(
        "bytes beyond ASCII in a value are opaque data (RFC 9110 §5.5): the response stays readable.",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-5.5"
    ) { $0.has("handler", ["status": "200", "body": "“OK”"]) }
    Scenario("two hundred fields") { stage in
        let server = try stage.serve { _ in
            (1...200).reduce(LoopbackServer.Response.text("Hello")) { $0.header("X-\($1)", "\($1)") }
        }
        await stage.load(server.url("/"))
    }
    Scenario("no content type") { stage in
        let server = try stage.serve { _ in .data(Data("Hello".utf8), contentType: nil) }
        await stage.load(server.url("/name.txt"))
    }
    Scenario("trailers") { stage in
        let server = try stage.serve { _ in .chunked(["Hello"], trailers: ["X-Trailer": "late"]) }
        await stage.load(server.url("/"))
    }
    Scenario("HTTP/1.0") { stage in
        let server = try stage.answer(.bytes("HTTP/1.0 200 OK\r\nX-Old: yes\r\n\r\nHello"), .close)
        await stage.load(server.url("/"))
    }
    Scenario("values by name in any case") { stage in
        let server = try stage.serve { _ in .text("Hello").header("X-Field", "value") }
        let (_, response) = try await stage.session().data(from: server.url("/"))
        guard let response = response as? HTTPURLResponse else { return stage.note("no response") }
        for name in ["X-Field", "x-field", "X-FIELD", "content-TYPE", "X-Other"] {
            stage.note("value", [name: response.value(forHTTPHeaderField: name) ?? "nil"])
        }
    }
}

let contentCodings = Topic("content codings") {
    Scenario("gzip") { stage in
        let server = try stage.serve { _ in .data(Coded.gzip).header("Content-Encoding", "gzip") }
        await stage.load(server.url("/"))
    }
    .promised(
        "the expected length of the response's content, which here isn't the one on the wire.",
        by: "\(Scenario.foundation)/urlresponse/expectedcontentlength"
    ) { $0.first("handler", "length") == "-1" }
    Scenario("gzip, with a delegate") { stage in
        let server = try stage.serve { _ in .data(Coded.gzip).header("Content-Encoding", "gzip") }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/"))
        task.resume()
        try await recorder.completions()
    }
    .promised(
        "the expected length of the response's content, which here isn't the one on the wire.",
        by: "\(Scenario.foundation)/urlresponse/expectedcontentlength"
    ) { $0.first("didReceive response", "length") == "-1" }
    Scenario("deflate") { stage in
        let server = try stage.serve { _ in .data(Coded.zlib).header("Content-Encoding", "deflate") }
        await stage.load(server.url("/"))
    }
    .promised(
        "the expected length of the response's content, which here isn't the one on the wire.",
        by: "\(Scenario.foundation)/urlresponse/expectedcontentlength"
    ) { $0.first("handler", "length") == "-1" }
    Scenario("x-gzip") { stage in
        let server = try stage.serve { _ in .data(Coded.gzip).header("Content-Encoding", "x-gzip") }
        await stage.load(server.url("/"))
    }
    .promised(
        "the expected length of the response's content, which here isn't the one on the wire.",
        by: "\(Scenario.foundation)/urlresponse/expectedcontentlength"
    ) { $0.first("handler", "length") == "-1" }
    Scenario("identity") { stage in
        let server = try stage.serve { _ in .text("Hello").header("Content-Encoding", "identity") }
        await stage.load(server.url("/"))
    }
    Scenario("gzip, chunked") { stage in
        let server = try stage.serve { _ in
            .chunked([.bytes(Coded.gzip.prefix(10)), .bytes(Coded.gzip.dropFirst(10))])
                .header("Content-Encoding", "gzip")
        }
        await stage.load(server.url("/"))
    }
    Scenario("one that nobody knows") { stage in
        let server = try stage.serve { _ in .text("Hello").header("Content-Encoding", "rot13") }
        await stage.load(server.url("/"))
    }
    .promisedBody(
        "Hello",
        "a content coding that the recipient doesn't know is a characteristic of the representation, which is delivered as it came.",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-8.4"
    )
    Scenario("gzip that was not asked for") { stage in
        let server = try stage.serve { _ in .data(Coded.gzip).header("Content-Encoding", "gzip") }
        await stage.load(URLRequest(server.url("/"), headers: ["Accept-Encoding": "identity"]))
    }
    .promised(
        "the expected length of the response's content, which here isn't the one on the wire.",
        by: "\(Scenario.foundation)/urlresponse/expectedcontentlength"
    ) { $0.first("handler", "length") == "-1" }
    Scenario("gzip cut short") { stage in
        let server = try stage.serve { _ in .data(Coded.gzip.prefix(20)).header("Content-Encoding", "gzip") }
        await stage.load(server.url("/"))
    }
    .promised(.cannotDecodeRawData)
    Scenario("gzip that is none") { stage in
        let server = try stage.serve { _ in .text("Hello, this is not gzip").header("Content-Encoding", "gzip") }
        await stage.load(server.url("/"))
    }
    .promised(.cannotDecodeRawData)
}

let redirects = Topic("redirects") {
    for (status, method) in [
        (301, "GET"), (301, "POST"), (301, "HEAD"), (302, "GET"), (302, "POST"), (302, "HEAD"), (303, "GET"),
        (303, "POST"), (303, "PUT"), (307, "GET"), (307, "HEAD"), (308, "GET"), (308, "HEAD"),
    ] {
        Scenario("\(status) of a \(method)") { stage in
            let server = try stage.serve { request in
                request.path == "/end" ? .text("there") : .redirect(to: "/end", status: status)
            }
            let body = method == "POST" || method == "PUT" ? Data("content".utf8) : nil
            await stage.load(URLRequest(server.url("/start"), method, body: body))
        }
    }
    for (status, method) in [
        (301, "PUT"), (302, "PUT"), (307, "POST"), (307, "PUT"), (308, "POST"), (308, "PUT"),
    ] {
        Scenario("\(status) of a \(method)") { stage in
            let server = try stage.serve { request in
                request.path == "/end" ? .text("got \(request.text)") : .redirect(to: "/end", status: status)
            }
            await stage.load(URLRequest(server.url("/start"), method, body: "content"))
        }
        .promisedBody(
            "got content",
            "a redirected request is the same request, its content included; only a POST may become a GET.",
            by: "https://www.rfc-editor.org/rfc/rfc9110#section-15.4"
        )
    }
    Scenario("303 of a HEAD") { stage in
        let server = try stage.serve { request in
            request.path == "/end" ? .text("there") : .redirect(to: "/end", status: 303)
        }
        await stage.load(URLRequest(server.url("/start"), "HEAD"))
    }
    .promised(
        "303 turns every method but GET and HEAD into GET (Fetch §4.4).",
        by: "https://fetch.spec.whatwg.org/#http-redirect-fetch"
    ) { timeline in timeline.events.filter { $0.lane == "server" }.last?.details["line"] == "HEAD /end HTTP/1.1" }
    Scenario("to a whole URL elsewhere") { stage in
        let other = try stage.serve { _ in .text("elsewhere") }
        let server = try stage.serve { _ in .redirect(to: other.url("/end")) }
        await stage.load(server.url("/start"))
    }
    Scenario("to a name beside") { stage in
        let server = try stage.serve { request in
            request.path == "/a/start" ? .redirect(to: "end") : .text("at \(request.path)")
        }
        await stage.load(server.url("/a/start"))
    }
    .promised(
        "a relative reference is resolved against the request's URL (RFC 9110 §10.2.2).",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2"
    ) { $0.has("handler", ["body": "“at /a/end”"]) }
    Scenario("to a query") { stage in
        let server = try stage.serve { request in
            request.query == nil ? .redirect(to: "?b=1") : .text("at \(request.target)")
        }
        await stage.load(server.url("/a/start"))
    }
    .promised(
        "a relative reference is resolved against the request's URL (RFC 9110 §10.2.2).",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2"
    ) { $0.has("handler", ["body": "“at /a/start?b=1”"]) }
    Scenario("to a host without a scheme") { stage in
        let other = try stage.serve { _ in .text("elsewhere") }
        let server = try stage.serve { _ in .redirect(to: "//127.0.0.1:\(other.port)/end") }
        await stage.load(server.url("/start"))
    }
    Scenario("five in a row") { stage in
        let server = try stage.serve { request in
            request.ordinal > 5 ? .text("at \(request.path)") : .redirect(to: "/\(request.ordinal)")
        }
        await stage.load(server.url("/start"))
    }
    Scenario("without end") { stage in
        let server = try stage.serve { _ in .redirect(to: "/again") }
        await stage.load(server.url("/start"))
    }
    Scenario("without a location") { stage in
        let server = try stage.serve { _ in .text("lost", status: 302) }
        await stage.load(server.url("/start"))
    }
    .promisedBody(
        "lost",
        "the data returned by the server.",
        by: "\(Scenario.foundation)/urlsession/datatask(with:completionhandler:)"
    )
    Scenario("with a body of its own") { stage in
        let server = try stage.serve { request in
            request.path == "/end"
                ? .text("there") : .text("please go on", status: 302).header("Location", "/end")
        }
        let recorder = Recorder(stage)
        stage.session(recorder).dataTask(with: server.url("/start")).resume()
        try await recorder.completions()
    }
    Scenario("the task knows both requests") { stage in
        let server = try stage.serve { request in
            request.path == "/end" ? .text("there") : .redirect(to: "/end")
        }
        let recorder = Recorder(stage)
        let task = stage.session(recorder).dataTask(with: server.url("/start"))
        task.resume()
        try await recorder.completions()
        stage.note(task, as: "task")
    }
    Scenario("fields of one's own go along") { stage in
        let server = try stage.serve { request in
            request.path == "/end" ? .text("there") : .redirect(to: "/end")
        }
        await stage.load(URLRequest(server.url("/start"), headers: ["X-Mine": "1", "Authorization": "Bearer token"]))
    }
    Scenario("credentials stay with their origin") { stage in
        let other = try stage.serve { _ in .text("elsewhere") }
        let server = try stage.serve { _ in .redirect(to: other.url("/end")) }
        await stage.load(URLRequest(server.url("/start"), headers: ["X-Mine": "1", "Authorization": "Bearer token"]))
    }
    .promised(
        "Authorization is removed from a request to another origin (Fetch §4.4).",
        by: "https://fetch.spec.whatwg.org/#http-redirect-fetch"
    ) { timeline in
        !timeline.events.contains {
            $0.lane == "server" && ($0.details["headers"] ?? "").contains("Authorization")
        }
    }
    Scenario("an upload from a file, 307") { stage in
        let server = try stage.serve { request in
            request.path == "/end" ? .text("got \(request.text)") : .redirect(to: "/end", status: 307)
        }
        let file = try stage.file("upload", Data("content".utf8))
        await stage.upload(URLRequest(server.url("/start"), "PUT"), fromFile: file)
    }
    .promisedBody(
        "got content",
        "a 307 asks for the same request, its content included.",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-15.4.8"
    )
    Scenario("a download") { stage in
        let server = try stage.serve { request in
            request.path == "/end" ? .text("there") : .redirect(to: "/end")
        }
        await stage.download(server.url("/start"))
    }
    Scenario("to where nobody listens") { stage in
        let nobody = try stage.nobody()
        let server = try stage.serve { _ in .redirect(to: nobody) }
        await stage.load(server.url("/start"))
    }
    .promised("the URL which caused a load to fail.", by: "\(Scenario.foundation)/urlerror/failingurl") {
        $0.has("handler", ["failing": "http://nobody/"])
    }
    Scenario("a fragment is inherited") { stage in
        let server = try stage.serve { request in
            request.path == "/end" ? .text("there") : .redirect(to: "/end")
        }
        await stage.load(try stage.url(server.url.absoluteString + "/start#part"))
    }
    .promised(
        "a location without a fragment inherits that of the request's URL (RFC 9110 §10.2.2).",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-10.2.2"
    ) { ($0.first("handler", "url") ?? "").hasSuffix("/end#part") }
    Scenario("to a location that is no URL") { stage in
        let server = try stage.serve { _ in .redirect(to: "http://[broken") }
        await stage.load(server.url("/start"))
    }
    .promised(.redirectToNonExistentLocation)
}
