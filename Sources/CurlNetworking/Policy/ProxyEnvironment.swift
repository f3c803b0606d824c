import Foundation
import Glibc

/// The proxy that libcurl takes from the environment. https://curl.se/libcurl/c/CURLOPT_PROXY.html
enum ProxyEnvironment {
    /// The proxy that a request to `url` goes to openly, as a proxy's challenge has shown that it does. To https servers there
    /// is a tunnel, and what the proxy says about that is libcurl's.
    static func proxy(for url: URL) -> Origin? {
        guard url.scheme?.lowercased() == "http" else { return nil }
        let names = ["http_proxy", "all_proxy", "ALL_PROXY"]
        return names.lazy.compactMap { getenv($0).map { String(cString: $0) } }.first { !$0.isEmpty }.flatMap(origin)
    }

    /// "host:port", or a URL with a host; the default port is libcurl's.
    static func origin(of proxy: String) -> Origin? {
        guard let url = URL(string: proxy.contains("://") ? proxy : "http://\(proxy)"),
            let host = url.host(percentEncoded: true)
        else { return nil }
        return URL(string: "http://\(host):\(url.port ?? 1080)").flatMap(Origin.init)
    }
}
