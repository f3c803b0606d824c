import Foundation

extension ProxyTable {
    /// The proxies of a `connectionProxyDictionary`. An empty one means no proxies.
    init(dictionary: [AnyHashable: Any]) {
        let entries = Entries(values: dictionary)
        if entries.isTrue(kCFNetworkProxiesProxyAutoConfigEnable) {
            otherwise = .unusable(
                "connectionProxyDictionary: a proxy can't be chosen by a script (ProxyAutoConfigEnable)."
            )
            return
        }
        for (scheme, prefix, port) in [(Scheme.http, "HTTP", 80), (.https, "HTTPS", 443), (.ftp, "FTP", 80)] {
            routes[scheme] = entries.route(prefix, .http, port)
        }
        otherwise = entries.route("SOCKS", .socks5h, 1080) ?? .direct
        exceptions = ProxyExceptions(
            entries.values[kCFNetworkProxiesExceptionsList] as? [String] ?? [],
            namesIncludeSubdomains: false,
            excludesSimpleHostnames: entries.isTrue(kCFNetworkProxiesExcludeSimpleHostnames)
        )
    }

    private struct Entries {
        var values: [AnyHashable: Any]

        /// nil if the proxy isn't enabled.
        func route(_ prefix: String, _ scheme: CurlOptions.ProxyServer.Scheme, _ defaultPort: Int) -> ProxyRoute? {
            guard isTrue(prefix + "Enable") else { return nil }
            let key = prefix + "Proxy"
            do throws(ProxyAddress.Fault) {
                guard let host = values[key] as? String else { throw ProxyAddress.Fault("There is no String.") }
                // A whole URL can say what Apple's keys can't: TLS to the proxy, or another version of SOCKS.
                var server =
                    host.contains("://")
                    ? try ProxyAddress.server(host)
                    : CurlOptions.ProxyServer(scheme, host: host, port: defaultPort)
                if let port = values[prefix + "Port"] { server.port = integer(port) ?? 0 }
                if let user = values[kCFProxyUsernameKey] as? String { server.user = user }
                if let password = values[kCFProxyPasswordKey] as? String { server.password = password }
                if let reason = ProxyAddress.fault(of: server) { throw ProxyAddress.Fault(reason) }
                return .through(server)
            } catch {
                return .unusable("connectionProxyDictionary's \(key) names no proxy: \(error.reason)")
            }
        }

        func isTrue(_ key: String) -> Bool {
            guard let value = values[key] else { return false }
            return value as? Bool ?? integer(value).map { $0 != 0 } ?? false
        }

        /// Programs use all types of numbers, and text.
        private func integer(_ value: Any) -> Int? {
            switch value {
            case let number as NSNumber: number.intValue
            case let number as any BinaryInteger: Int(exactly: number)
            case let text as String: Int(text)
            default: nil
            }
        }
    }
}
