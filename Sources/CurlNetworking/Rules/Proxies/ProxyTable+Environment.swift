extension ProxyTable {
    /// The proxies in `http_proxy` and the like, read as libcurl does: an empty variable is ignored, and so is HTTP_PROXY in upper case,
    /// because web servers put a request's `Proxy` field there for CGI programs (https://httpoxy.org).
    /// https://curl.se/libcurl/c/libcurl-env.html
    init(environment variable: (String) -> String?) {
        func first(_ names: String...) -> (name: String, value: String)? {
            for name in names {
                if let value = variable(name), !value.isEmpty { return (name, value) }
            }
            return nil
        }
        func route(_ names: (name: String, value: String)?) -> ProxyRoute? {
            guard let (name, value) = names else { return nil }
            do {
                return .through(try ProxyAddress.server(value))
            } catch {
                return .unusable("The environment's \(name) names no proxy: \(error.reason)")
            }
        }
        routes[.http] = route(first("http_proxy"))
        routes[.https] = route(first("https_proxy", "HTTPS_PROXY"))
        routes[.ftp] = route(first("ftp_proxy", "FTP_PROXY"))
        routes[.ftps] = route(first("ftps_proxy", "FTPS_PROXY"))
        otherwise = route(first("all_proxy", "ALL_PROXY")) ?? .direct
        let exceptions = first("no_proxy", "NO_PROXY")?.value ?? ""
        self.exceptions = ProxyExceptions(exceptions.split { $0 == "," || $0.isWhitespace }.map(String.init))
    }
}
