import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

let metrics = Topic("metrics") {
    let page = "\(Scenario.foundation)/urlsessiontaskdelegate/urlsession(_:task:didfinishcollecting:)"
    /// Notes what is the same on every run.
    let noting: @Sendable (Stage) -> @Sendable (URLSessionTaskMetrics) -> Void = { stage in
        { metrics in
            stage.note("didFinishCollecting", ["redirects": "\(metrics.redirectCount)"])
            for transaction in metrics.transactionMetrics {
                let status = (transaction.response as? HTTPURLResponse)?.statusCode
                stage.note(
                    "transaction",
                    [
                        "url": transaction.request.url?.absoluteString ?? "none",
                        "status": status.map { "\($0)" } ?? "none",
                        "protocol": transaction.networkProtocolName ?? "none",
                        "reused": "\(transaction.isReusedConnection)",
                        "fetch": "\(transaction.resourceFetchType.rawValue)",
                        "body": "\(transaction.countOfResponseBodyBytesAfterDecoding)",
                    ]
                )
            }
        }
    }
    Scenario("of a data task") { stage in
        let server = try stage.serve { _ in .text("Hello").header("Cache-Control", "no-store") }
        let decider = Decider(stage)
        decider.onMetrics = noting(stage)
        try await decider.run { $0.dataTask(with: server.url("/")) }
    }
    .promised("the delegate gets a task's metrics when it has finished collecting them.", by: page) {
        $0.has("transaction", ["status": "200", "protocol": "http/1.1", "body": "5"])
            && $0.names().firstIndex(of: "didFinishCollecting") ?? .max < $0.names().firstIndex(of: "didComplete") ?? 0
    }
    Scenario("of a redirected one") { stage in
        let server = try stage.serve { request in
            request.path == "/" ? .redirect(to: "/end") : .text("there").header("Cache-Control", "no-store")
        }
        let decider = Decider(stage)
        decider.onMetrics = noting(stage)
        try await decider.run { $0.dataTask(with: server.url("/")) }
    }
    .promised("there is one transaction for each request that the task made.", by: page) {
        $0.count("transaction") == 2 && $0.has("didFinishCollecting", ["redirects": "1"])
    }
    Scenario("of a failed one") { stage in
        let url = try stage.nobody()
        let decider = Decider(stage)
        decider.onMetrics = noting(stage)
        try await decider.run { $0.dataTask(with: url) }
    }
    .promised("a task that fails has metrics as well.", by: page) {
        $0.has("didFinishCollecting") && $0.has("didComplete", ["error": "NSURLErrorDomain -1004"])
    }
}

/// The stock module has deprecated the property, because there it does nothing.
private protocol Delayable: AnyObject {
    var earliestBeginDate: Date? { get set }
}

extension URLSessionTask: Delayable {}

let beginning = Topic("beginning later") {
    Scenario("a begin date that is over") { stage in
        let server = try stage.serve { _ in .text("Hello").header("Cache-Control", "no-store") }
        let decider = Decider(stage)
        try await decider.run { session in
            let task = session.dataTask(with: server.url("/"))
            (task as any Delayable).earliestBeginDate = Date(timeIntervalSinceNow: -1000)
            return task
        }
    }
    Scenario("a begin date that is to come") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let decider = Decider(stage)
        try await decider.run { session in
            let task = session.dataTask(with: server.url("/"))
            (task as any Delayable).earliestBeginDate = Date(timeIntervalSinceNow: 0.1)
            return task
        }
    }
    .promised(
        "a task doesn't begin before its date, and its delegate is asked when it is to begin.",
        by:
            "\(Scenario.foundation)/urlsessiontaskdelegate/urlsession(_:task:willbegindelayedrequest:completionhandler:)"
    ) { $0.has("willBeginDelayedRequest") && $0.has("didReceive data", ["body": "“Hello”"]) }
    Scenario("a begin date, and another request then") { stage in
        let server = try stage.serve { .text("at \($0.path)") }
        let decider = Decider(stage)
        let other = server.url("/other")
        decider.onDelay = { _ in (.useNewRequest, URLRequest(url: other)) }
        try await decider.run { session in
            let task = session.dataTask(with: server.url("/"))
            (task as any Delayable).earliestBeginDate = Date(timeIntervalSinceNow: 0.1)
            return task
        }
    }
    .promised(
        "the delegate may have another request made in place of the old one.",
        by: "\(Scenario.foundation)/urlsession/delayedrequestdisposition/usenewrequest"
    ) { $0.has("didReceive data", ["body": "“at /other”"]) }
    Scenario("a begin date, and no interest then") { stage in
        let server = try stage.serve { _ in .text("Hello") }
        let decider = Decider(stage)
        decider.onDelay = { _ in (.cancel, nil) }
        try await decider.run { session in
            let task = session.dataTask(with: server.url("/"))
            (task as any Delayable).earliestBeginDate = Date(timeIntervalSinceNow: 0.1)
            return task
        }
    }
    .promised(
        "the delegate may cancel the task instead.",
        by: "\(Scenario.foundation)/urlsession/delayedrequestdisposition/cancel"
    ) { $0.has("didComplete", ["error": "NSURLErrorDomain -999"]) && !$0.has("request") }
}

let schemes = Topic("schemes") {
    Scenario("a data URL") { stage in
        await stage.load(try stage.url("data:text/plain;charset=utf-8,Hello%20there"))
    }
    .promisedBody("Hello there", "what the URL itself holds.", by: "https://www.rfc-editor.org/rfc/rfc2397")
    Scenario("a data URL in base64") { stage in
        await stage.load(try stage.url("data:;base64,SGVsbG8="))
    }
    .promised(
        "if the media type is omitted, it defaults to text/plain;charset=US-ASCII.",
        by: "https://www.rfc-editor.org/rfc/rfc2397"
    ) { $0.has("handler", ["body": "“Hello”", "encoding": "US-ASCII"]) }
    Scenario("a file") { stage in
        let file = try stage.file("text", Data("in a file".utf8))
        let session = stage.session()
        await withCheckedContinuation { continuation in
            session.dataTask(with: file) { data, _, error in
                stage.note("handler", Describe.result(data, nil, nil).merging(["failed": "\(error != nil)"]) { $1 })
                continuation.resume()
            }.resume()
        }
    }
    .promisedBody(
        "in a file",
        "URLSession natively supports the data, file, ftp, http and https schemes.",
        by: "\(Scenario.foundation)/urlsession"
    )
    for scheme in ["unknown", "mailto", "ws2"] {
        Scenario("\(scheme): is unsupported") { stage in
            await stage.load(try stage.url("\(scheme)://example/"))
        }
    }
}

/// Answers for hosts named "mock".
private class Mock: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "mock" }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        switch request.url?.path {
        case "/redirect": redirect()
        case "/failure": client?.urlProtocol(self, didFailWithError: NSError(domain: "Own", code: 7))
        case "/pieces": answer(["one, ", "two, ", "three"])
        case "/fields": answer([request.value(forHTTPHeaderField: "Cookie") ?? "none"])
        case "/body": answer([request.httpBody.map { String(decoding: $0, as: UTF8.self) } ?? "none"])
        default: answer(["mocked"])
        }
    }

    override func stopLoading() {}

    private func answer(_ pieces: [String]) {
        guard let response = response(200) else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        for piece in pieces { client?.urlProtocol(self, didLoad: Data(piece.utf8)) }
        client?.urlProtocolDidFinishLoading(self)
    }

    private func redirect() {
        guard let response = response(302), let url = URL(string: "http://mock/end") else { return }
        client?.urlProtocol(self, wasRedirectedTo: URLRequest(url: url), redirectResponse: response)
    }

    private func response(_ status: Int) -> HTTPURLResponse? {
        request.url.flatMap {
            HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: ["X-Mock": "yes"])
        }
    }
}

private final class Everything: Mock {
    override class func canInit(with request: URLRequest) -> Bool { true }
}

let protocols = Topic("protocol classes") {
    let page = "\(Scenario.foundation)/urlprotocol"
    let client = "\(Scenario.foundation)/urlprotocolclient"
    let mocked: @Sendable (Stage) -> URLSession = { stage in stage.session { $0.protocolClasses = [Mock.self] } }
    Scenario("a data task") { stage in
        await stage.load(try stage.url("http://mock/"), in: mocked(stage))
    }
    Scenario("a data task, async") { stage in
        let session = mocked(stage)
        let url = try stage.url("http://mock/")
        await stage.attempt { try await session.data(from: url) }
    }
    Scenario("with a delegate") { stage in
        let decider = Decider(stage)
        let url = try stage.url("http://mock/")
        try await decider.run({ $0.dataTask(with: url) }, { $0.protocolClasses = [Mock.self] })
    }
    Scenario("several pieces of data") { stage in
        await stage.load(try stage.url("http://mock/pieces"), in: mocked(stage))
    }
    .promisedBody("one, two, three", "every piece reported is the client's.", by: "\(client)/urlprotocol(_:didload:)")
    Scenario("a request's body") { stage in
        await stage.load(URLRequest(try stage.url("http://mock/body"), "POST", body: "content"), in: mocked(stage))
    }
    Scenario("an error of its own") { stage in
        await stage.load(try stage.url("http://mock/failure"), in: mocked(stage))
    }
    Scenario("an upload's data") { stage in
        let request = URLRequest(try stage.url("http://mock/body"), "POST")
        await stage.upload(request, from: Data("content".utf8), in: mocked(stage))
    }
    .promised("an upload task's class can tell what is to be uploaded.", by: page) {
        $0.has("handler", ["body": "“content”"])
    }
    Scenario("a download") { stage in
        await stage.download(try stage.url("http://mock/"), in: mocked(stage))
    }
    .promised("protocol classes load for download tasks as well.", by: page) {
        $0.has("handler", ["file": "“mocked”"])
    }
    .stockHangs()
    Scenario("a redirect") { stage in
        await stage.load(try stage.url("http://mock/redirect"), in: mocked(stage))
    }
    .promised(
        "the class tells its client of a redirect, and the new request is loaded.",
        by: "\(client)/urlprotocol(_:wasredirectedto:redirectresponse:)"
    ) { $0.has("handler", ["body": "“mocked”", "url": "http://mock/end"]) }
    .stockHangs()
    .stockSessionFails("The session traps when a protocol class tells of a redirect.")
    Scenario("what no class takes") { stage in
        let server = try stage.serve { _ in .text("real") }
        let session = stage.session { $0.protocolClasses = [Mock.self] + ($0.protocolClasses ?? []) }
        await stage.load(server.url("/"), in: session)
    }
    Scenario("properties of a request") { stage in
        let request = NSMutableURLRequest(url: try stage.url("http://mock/"))
        URLProtocol.setProperty("handled", forKey: "state", in: request)
        let copy = request as URLRequest
        let value = URLProtocol.property(forKey: "state", in: copy) as? String
        stage.note("property", ["value": value ?? "none"])
    }
    .promised("properties stay with a request, and with its copies.", by: "\(page)/setproperty(_:forkey:in:)") {
        $0.has("property", ["value": "handled"])
    }
    Scenario("registering, and a session of one's own") { stage in
        let server = try stage.serve { _ in .text("real") }
        _ = URLProtocol.registerClass(Everything.self)
        await stage.load(server.url("/"), in: stage.session())
        URLProtocol.unregisterClass(Everything.self)
    }
    Scenario("the session's fields and cookies") { stage in
        let session = stage.session { configuration in
            configuration.protocolClasses = [Mock.self]
            let cookie = HTTPCookie(properties: [.name: "name", .value: "value", .domain: "mock", .path: "/"])
            if let cookie { configuration.httpCookieStorage?.setCookie(cookie) }
            configuration.httpAdditionalHeaders = ["X-Session": "yes"]
        }
        await stage.load(try stage.url("http://mock/fields"), in: session)
    }
    Scenario("registering") { stage in
        stage.note("registered", ["Mock": "\(URLProtocol.registerClass(Mock.self))"])
        stage.note("registered", ["NSObject": "\(URLProtocol.registerClass(NSObject.self))"])
        // No URL that our transport takes: below the stock session it is registered before.
        await stage.load(try stage.url("mock://mock/"), in: .shared)
        URLProtocol.unregisterClass(Mock.self)
    }
    .promised(
        "registering a class makes it visible to the URL loading system.",
        by: "\(page)/registerclass(_:)"
    ) { $0.has("handler", ["body": "“mocked”"]) }
}
