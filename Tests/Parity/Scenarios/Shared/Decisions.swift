import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

let redirectDecisions = Topic("redirect decisions") {
    let page =
        "\(Scenario.foundation)/urlsessiontaskdelegate/urlsession(_:task:willperformhttpredirection:newrequest:completionhandler:)"
    let redirecting: LoopbackServer.Handler = { request in
        switch request.path {
        case "/start": .text("moved", status: 302).header("Location", "/end")
        default: .text("\(request.method) \(request.path)").header("Cache-Control", "no-store")
        }
    }
    Scenario("followed") { stage in
        let server = try stage.serve(redirecting)
        let decider = Decider(stage)
        try await decider.run { $0.dataTask(with: server.url("/start")) }
    }
    Scenario("a POST's request is shown as the GET it becomes") { stage in
        let server = try stage.serve(redirecting)
        let decider = Decider(stage)
        let request = URLRequest(server.url("/start"), "POST", body: "content")
        try await decider.run { $0.dataTask(with: request) }
    }
    Scenario("another request instead") { stage in
        let server = try stage.serve(redirecting)
        let decider = Decider(stage)
        let other = server.url("/other")
        decider.onRedirect = { _ in URLRequest(url: other) }
        try await decider.run { $0.dataTask(with: server.url("/start")) }
    }
    Scenario("refused") { stage in
        let server = try stage.serve(redirecting)
        let decider = Decider(stage)
        decider.onRedirect = { _ in nil }
        try await decider.run { $0.dataTask(with: server.url("/start")) }
    }
    .promised("nil refuses the redirect and returns the body of the redirect response.", by: page) {
        $0.has("didReceive response", ["status": "302"]) && $0.has("didReceive data", ["body": "“moved”"])
    }
    .stockHangs()
    Scenario("one after the other") { stage in
        let server = try stage.serve { request in
            let number = Int(request.path.dropFirst()) ?? 0
            return number < 3
                ? .redirect(to: "/\(number + 1)") : .text("at \(request.path)").header("Cache-Control", "no-store")
        }
        let decider = Decider(stage)
        try await decider.run { $0.dataTask(with: server.url("/0")) }
    }
}

let informational = Topic("informational responses") {
    let page =
        "\(Scenario.foundation)/urlsessiontaskdelegate/urlsession(_:task:didreceiveinformationalresponse:)"
    for (status, text, fields) in [
        (103, "Early Hints", "Link: </a.css>\r\n"), (102, "Processing", ""), (199, "Own", "Link: <b>\r\n"),
    ] {
        Scenario("\(status)") { stage in
            let server = try stage.answer(
                .bytes("HTTP/1.1 \(status) \(text)\r\n\(fields)\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"),
                .close
            )
            let decider = Decider(stage)
            try await decider.run { $0.dataTask(with: server.url("/")) }
        }
        .promised("the delegate hears of informational responses, and the final one is the task's.", by: page) {
            $0.names(lane: "client").prefix(2) == ["didReceive informational", "didReceive response"]
                && $0.has("didReceive informational", ["status": "\(status)"])
        }
    }
    Scenario("103, with a handler") { stage in
        let server = try stage.answer(
            .bytes("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"),
            .close
        )
        await stage.load(server.url("/"))
    }
    .promised(
        "the final response is the task's: an interim one comes before it (RFC 9110 §15.2).",
        by: "https://www.rfc-editor.org/rfc/rfc9110#section-15.2"
    ) { $0.has("handler", ["status": "200", "body": "“OK”"]) }
}

let authentication = Topic("authentication") {
    let page = "\(Scenario.foundation)/urlsession/authchallengedisposition"
    /// Lets in whoever brings user and secret.
    let basic: LoopbackServer.Handler = { request in
        request.header("Authorization") == "Basic dXNlcjpzZWNyZXQ="
            ? .text("welcome") : .text("who?", status: 401).header("WWW-Authenticate", "Basic realm=\"here\"")
    }
    let credential = URLCredential(user: "user", password: "secret", persistence: .none)
    Scenario("Basic, with the right credential") { stage in
        let server = try stage.serve(basic)
        let decider = Decider(stage)
        decider.onChallenge = { _ in (.useCredential, credential) }
        try await decider.run { $0.dataTask(with: server.url("/")) }
    }
    .promised("the response to a challenge that was answered is not the task's.", by: page) {
        $0.count("didReceive response") == 1 && $0.has("didReceive data", ["body": "“welcome”"])
    }
    Scenario("Basic, with the wrong one first") { stage in
        let server = try stage.serve(basic)
        let decider = Decider(stage)
        decider.onChallenge = { challenge in
            let wrong = URLCredential(user: "user", password: "wrong", persistence: .none)
            return (.useCredential, challenge.previousFailureCount == 0 ? wrong : credential)
        }
        try await decider.run { $0.dataTask(with: server.url("/")) }
    }
    .promised("the response to a challenge that was answered is not the task's.", by: page) {
        $0.count("didReceive response") == 1 && $0.has("didReceive data", ["body": "“welcome”"])
    }
    Scenario("Negotiate and Basic, with one password for both") { stage in
        let server = try stage.serve { request in
            request.header("Authorization") == "Basic dXNlcjpzZWNyZXQ="
                ? .text("welcome")
                : .text("who?", status: 401).header("WWW-Authenticate", "Negotiate, Basic realm=\"here\"")
        }
        let decider = Decider(stage)
        decider.onChallenge = { _ in (.useCredential, credential) }
        try await decider.run { $0.dataTask(with: server.url("/")) }
    }
    .promised("the response to a challenge that was answered is not the task's.", by: page) {
        $0.count("didReceive response") == 1 && $0.has("didReceive data", ["body": "“welcome”"])
    }
    Scenario("nobody answers: the 401 is the response") { stage in
        let server = try stage.serve(basic)
        await stage.load(server.url("/"))
    }
    .promised("the default handling answers as if there were no delegate: the response is delivered.", by: page) {
        $0.has("handler", ["status": "401", "body": "“who?”"])
    }
    .stockHangs()
    Scenario("the default handling") { stage in
        let server = try stage.serve(basic)
        let decider = Decider(stage)
        try await decider.run { $0.dataTask(with: server.url("/")) }
    }
    .promised("the default handling answers as if there were no delegate: the response is delivered.", by: page) {
        $0.has("didReceive response", ["status": "401"]) && $0.has("didReceive data", ["body": "“who?”"])
    }
    .stockHangs()
    Scenario("the protection space is rejected") { stage in
        let server = try stage.serve(basic)
        let decider = Decider(stage)
        decider.onChallenge = { _ in (.rejectProtectionSpace, nil) }
        try await decider.run { $0.dataTask(with: server.url("/")) }
    }
    .promised("rejecting the only protection space leaves the 401 as the response, which is no failure.", by: page) {
        $0.has("didReceive response", ["status": "401"]) && $0.first("didComplete", "error") == nil
    }
    .stockHangs()
    Scenario("cancelled") { stage in
        let server = try stage.serve(basic)
        let decider = Decider(stage)
        decider.onChallenge = { _ in (.cancelAuthenticationChallenge, nil) }
        try await decider.run { $0.dataTask(with: server.url("/")) }
    }
    .promised("cancelling the challenge cancels the task.", by: page) {
        $0.has("didComplete", ["error": "NSURLErrorDomain -999"]) && !$0.has("didReceive response")
    }
    .stockHangs()
    Scenario("Digest") { stage in
        let server = try stage.serve { request in
            (request.header("Authorization") ?? "").hasPrefix("Digest username=\"user\"")
                ? .text("welcome")
                : .text("who?", status: 401)
                    .header("WWW-Authenticate", "Digest realm=\"here\", nonce=\"abc\", qop=\"auth\", algorithm=MD5")
        }
        let decider = Decider(stage)
        decider.onChallenge = { _ in (.useCredential, credential) }
        try await decider.run { $0.dataTask(with: server.url("/")) }
        stage.note("requests", ["count": "\(server.requestCount)"])
    }
    .promised(
        "HTTP Digest authentication is one of the methods.",
        by: "\(Scenario.foundation)/nsurlauthenticationmethodhttpdigest"
    ) { $0.has("didReceive data", ["body": "“welcome”"]) }
    Scenario("a scheme that nobody knows") { stage in
        let server = try stage.serve { _ in
            .text("who?", status: 401).header("WWW-Authenticate", "Secret realm=\"here\"")
        }
        await stage.load(server.url("/"))
    }
    Scenario("a 401 without a challenge") { stage in
        let server = try stage.serve { _ in .text("who?", status: 401) }
        await stage.load(server.url("/"))
    }
    Scenario("a field set by hand is sent, and its refusal delivered") { stage in
        let server = try stage.serve(basic)
        await stage.load(URLRequest(server.url("/"), headers: ["Authorization": "Basic bm9ib2R5OmE="]))
    }
    .promised("the default handling answers as if there were no delegate: the response is delivered.", by: page) {
        $0.has("handler", ["status": "401"])
    }
    .stockHangs()
}
