import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

/// Says what cookies it was sent, and sets those in the query.
private let cookieServer: LoopbackServer.Handler = { request in
    let answer = LoopbackServer.Response.text("sent \(request.header("Cookie") ?? "none")")
    guard let cookie = request.query?.removingPercentEncoding else { return answer }
    return answer.header("Set-Cookie", cookie)
}

let cookies = Topic("cookies") {
    let rfc = "https://www.rfc-editor.org/rfc/rfc6265#section-"
    let rfcNext = "https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-"
    Scenario("set and sent again") { stage in
        let server = try stage.serve(cookieServer)
        let session = stage.session()
        await stage.load(server.url("/?a=b"), in: session)
        await stage.load(server.url("/next"), in: session)
    }
    for (title, cookie, path) in [
        ("another path's are not sent", "a=b; Path=/here", "/there"),
        ("an expired one is not kept", "a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "/"),
        ("one that lives no longer is not kept", "a=b; Max-Age=0", "/"),
        ("a secure one is not sent over http", "a=b; Secure", "/"),
        ("another domain's is not kept", "a=b; Domain=example.com", "/"),
    ] {
        Scenario(title) { stage in
            let server = try stage.serve(cookieServer)
            let session = stage.session()
            let query = cookie.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            await stage.load(server.url("/?\(query)"), in: session)
            await stage.load(server.url(path), in: session)
        }
        .promised("a cookie is sent where its attributes say, and nowhere else.", by: rfc + "5.4") {
            $0.count("handler", ["body": "“sent none”"]) == 2
        }
    }
    for (title, cookie) in [
        ("one from http doesn't replace a secure one", "a=b; Path=/"),
        ("nor does it delete one", "a=; Path=/; Max-Age=0"),
    ] {
        Scenario(title) { stage in
            let server = try stage.serve(cookieServer)
            let session = stage.session()
            let storage = session.configuration.httpCookieStorage
            let secure = HTTPCookie(properties: [
                .name: "a", .value: "secure", .domain: "127.0.0.1", .path: "/", .secure: "TRUE",
            ])
            if let secure { storage?.setCookie(secure) }
            let query = cookie.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            await stage.load(server.url("/?\(query)"), in: session)
            stage.note("stored", ["values": "\(storage?.cookies?.map(\.value) ?? [])"])
        }
        .promised("cookies from http leave secure ones alone.", by: rfcNext + "5.7") {
            $0.has("stored", ["values": "[\"secure\"]"])
        }
    }
    Scenario("a session that sets none") { stage in
        let server = try stage.serve(cookieServer)
        let session = stage.session { $0.httpShouldSetCookies = false }
        await stage.load(server.url("/?a=b"), in: session)
        await stage.load(server.url("/"), in: session)
    }
    Scenario("a session that takes none") { stage in
        let server = try stage.serve(cookieServer)
        let session = stage.session { $0.httpCookieAcceptPolicy = .never }
        await stage.load(server.url("/?a=b"), in: session)
        await stage.load(server.url("/"), in: session)
    }
    Scenario("a session without a storage") { stage in
        let server = try stage.serve(cookieServer)
        let session = stage.session { $0.httpCookieStorage = nil }
        await stage.load(server.url("/?a=b"), in: session)
        await stage.load(server.url("/"), in: session)
    }
    Scenario("a request that wants none") { stage in
        let server = try stage.serve(cookieServer)
        let session = stage.session()
        await stage.load(server.url("/?a=b"), in: session)
        var request = URLRequest(server.url("/"))
        request.httpShouldHandleCookies = false
        await stage.load(request, in: session)
    }
    .promised(
        "if httpShouldHandleCookies is false, no cookies are sent with the request.",
        by: "\(Scenario.foundation)/urlrequest/httpshouldhandlecookies"
    ) { $0.count("handler", ["body": "“sent none”"]) == 2 }
    Scenario("one set on the way of a redirect") { stage in
        let server = try stage.serve { request in
            request.path == "/start"
                ? .redirect(to: "/end").header("Set-Cookie", "a=b")
                : .text("sent \(request.header("Cookie") ?? "none")")
        }
        await stage.load(server.url("/start"))
    }
    .promised("user agents may process the cookies of responses of any status.", by: rfc + "3") {
        $0.has("handler", ["body": "“sent a=b”"])
    }
    Scenario("a field set by hand") { stage in
        let server = try stage.serve(cookieServer)
        await stage.load(URLRequest(server.url("/"), headers: ["Cookie": "mine=1"]))
    }
}

let caching = Topic("cache") {
    let rfc = "https://www.rfc-editor.org/rfc/rfc9111#section-"
    /// Counts its answers, and lets them be stored as the query says.
    let counting: LoopbackServer.Handler = { request in
        let directives = request.query?.removingPercentEncoding ?? "max-age=1000"
        return .text("answer \(request.ordinal)").header("Cache-Control", directives)
    }
    Scenario("a fresh response is used again") { stage in
        let server = try stage.serve(counting)
        let session = stage.session()
        await stage.load(server.url("/"), in: session)
        await stage.load(server.url("/"), in: session)
    }
    .promised("a fresh stored response may be used without asking.", by: rfc + "4.2") {
        $0.count("handler", ["body": "“answer 1”"]) == 2 && $0.count("request") == 1
    }
    Scenario("no-store is not stored") { stage in
        let server = try stage.serve(counting)
        let session = stage.session()
        await stage.load(server.url("/?no-store"), in: session)
        await stage.load(server.url("/?no-store"), in: session)
    }
    Scenario("what is stale and can't be confirmed is loaded again") { stage in
        let server = try stage.serve(counting)
        let session = stage.session()
        await stage.load(server.url("/?max-age%3D0"), in: session)
        await stage.load(server.url("/?max-age%3D0"), in: session)
    }
    Scenario("a validator confirms it") { stage in
        let server = try stage.serve { request in
            request.header("If-None-Match") == "\"v1\""
                ? .status(304).header("ETag", "\"v1\"")
                : .text("content").header("ETag", "\"v1\"").header("Cache-Control", "no-cache")
        }
        let session = stage.session()
        await stage.load(server.url("/"), in: session)
        await stage.load(server.url("/"), in: session)
    }
    .promised("a 304 means that the stored response is to be used.", by: rfc + "4.3.3") {
        $0.count("handler", ["body": "“content”"]) == 2 && $0.count("request") == 2
            && $0.events.contains { $0.details["headers"]?.contains("If-None-Match: \"v1\"") ?? false }
    }
    Scenario("Vary tells requests apart") { stage in
        let server = try stage.serve { request in
            .text("for \(request.header("X-Kind") ?? "")").header("Vary", "X-Kind")
                .header("Cache-Control", "max-age=1000")
        }
        let session = stage.session()
        for kind in ["a", "a", "b"] {
            await stage.load(URLRequest(server.url("/"), headers: ["X-Kind": kind]), in: session)
        }
    }
    .promised("a stored response answers requests with the same values in the fields that Vary names.", by: rfc + "4.1")
    {
        $0.count("request") == 2 && $0.has("handler", ["body": "“for b”"])
    }
    Scenario("a policy of reloading") { stage in
        let server = try stage.serve(counting)
        let session = stage.session()
        await stage.load(server.url("/"), in: session)
        var request = URLRequest(server.url("/"))
        request.cachePolicy = .reloadIgnoringLocalCacheData
        await stage.load(request, in: session)
    }
    Scenario("a policy of not loading, with nothing stored") { stage in
        let server = try stage.serve(counting)
        var request = URLRequest(server.url("/"))
        request.cachePolicy = .returnCacheDataDontLoad
        await stage.load(request)
    }
    .promised(
        "if there is no existing data in the cache, no attempt is made to load it from the source.",
        by: "\(Scenario.foundation)/nsurlrequest/cachepolicy/returncachedatadontload"
    ) { !$0.has("request") && $0.events.contains { $0.details["error"]?.hasPrefix("NSURLErrorDomain") ?? false } }
    Scenario("a policy of stale data rather than none") { stage in
        let server = try stage.serve(counting)
        let session = stage.session()
        var request = URLRequest(server.url("/?max-age%3D0"))
        request.cachePolicy = .returnCacheDataElseLoad
        await stage.load(request, in: session)
        await stage.load(request, in: session)
    }
    .promised(
        "existing cache data is used, regardless of its age or expiration date.",
        by: "\(Scenario.foundation)/nsurlrequest/cachepolicy/returncachedataelseload"
    ) { $0.count("handler", ["body": "“answer 1”"]) == 2 }
    Scenario("the delegate is asked before") { stage in
        let server = try stage.serve(counting)
        let decider = Decider(stage)
        try await decider.run { $0.dataTask(with: server.url("/")) }
    }
    .promised(
        "the delegate is asked whether the response is to be stored.",
        by: "\(Scenario.foundation)/urlsessiondatadelegate/urlsession(_:datatask:willcacheresponse:completionhandler:)"
    ) { $0.has("willCacheResponse", ["body": "“answer 1”"]) }
    Scenario("a POST makes what is stored worthless") { stage in
        let server = try stage.serve(counting)
        let session = stage.session()
        await stage.load(server.url("/"), in: session)
        await stage.load(URLRequest(server.url("/"), "POST", body: "change"), in: session)
        await stage.load(server.url("/"), in: session)
    }
    Scenario("downloads are not stored") { stage in
        let server = try stage.serve(counting)
        let session = stage.session()
        await stage.download(server.url("/"), in: session)
        await stage.download(server.url("/"), in: session)
    }
    Scenario("without a cache") { stage in
        let server = try stage.serve(counting)
        let session = stage.session { $0.urlCache = nil }
        await stage.load(server.url("/"), in: session)
        await stage.load(server.url("/"), in: session)
    }
}
