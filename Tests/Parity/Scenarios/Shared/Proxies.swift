import Foundation
import CurlNetworkingLoopbackServer
import CurlNetworkingParityStage

let proxies = Topic("proxies") {
    Scenario("the dictionary's") { stage in
        let proxy = try stage.serve { .text("openly \($0.target)") }
        let session = stage.session { $0.connectionProxyDictionary = dictionary(proxy) }
        await stage.load(try stage.url("http://proxied.invalid/a"), in: session)
    }
    .promised(
        "a dictionary containing information about the proxy to use within this session.",
        by: "\(Scenario.foundation)/urlsessionconfiguration/connectionproxydictionary"
    ) { $0.has("handler", ["status": "200"]) }
    Scenario("an exception of the dictionary's") { stage in
        let server = try stage.serve { .text("directly \($0.target)") }
        let proxy = try stage.serve { .text("openly \($0.target)") }
        let session = stage.session {
            $0.connectionProxyDictionary = dictionary(proxy)
                .merging(["ExceptionsList": ["127.0.0.1"]]) { $1 }
        }
        await stage.load(server.url("/a"), in: session)
    }
    Scenario("an entry that is not enabled") { stage in
        let server = try stage.serve { .text("directly \($0.target)") }
        let proxy = try stage.serve { .text("openly \($0.target)") }
        let session = stage.session {
            $0.connectionProxyDictionary = dictionary(proxy).merging(["HTTPEnable": 0]) { $1 }
        }
        await stage.load(server.url("/a"), in: session)
    }
    Scenario("an empty dictionary") { stage in
        let server = try stage.serve { .text("directly \($0.target)") }
        let session = stage.session { $0.connectionProxyDictionary = [:] }
        await stage.load(server.url("/a"), in: session)
    }
}

private func dictionary(_ proxy: LoopbackServer) -> [AnyHashable: Any] {
    ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": proxy.port]
}
