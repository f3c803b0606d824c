import Foundation

extension ProxyTable {
    /// The proxies of a `connectionProxyDictionary`. An empty one means no proxies.
    init(dictionary: [AnyHashable: Any]) {
        let entries = Entries(values: dictionary)
        do throws(ProxyAddress.Fault) {
            guard try !entries.isTrue(kCFNetworkProxiesProxyAutoConfigEnable) else {
                throw ProxyAddress.Fault("A proxy can't be chosen by a script (ProxyAutoConfigEnable).")
            }
            exceptions = try entries.exceptions()
        } catch {
            otherwise = .unusable("connectionProxyDictionary: \(error.reason)")
            return
        }
        for (scheme, prefix, port) in [(Scheme.http, "HTTP", 80), (.https, "HTTPS", 443), (.ftp, "FTP", 80)] {
            routes[scheme] = entries.route(prefix, .http, port)
        }
        otherwise = entries.route("SOCKS", .socks5h, 1080) ?? .direct
    }

    private struct Entries {
        var values: [AnyHashable: Any]

        /// nil if the proxy isn't enabled.
        func route(_ prefix: String, _ scheme: CurlOptions.ProxyServer.Scheme, _ defaultPort: Int) -> ProxyRoute? {
            do throws(ProxyAddress.Fault) {
                guard try isTrue(prefix + "Enable") else { return nil }
                guard let host = values[prefix + "Proxy"] as? String else {
                    throw ProxyAddress.Fault("\(prefix)Proxy isn't a String.")
                }
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
                return .unusable("connectionProxyDictionary's entries for \(prefix) name no proxy: \(error.reason)")
            }
        }

        /// Texts that aren't rules are ignored.
        func exceptions() throws(ProxyAddress.Fault) -> ProxyExceptions {
            guard let texts = (values[kCFNetworkProxiesExceptionsList] ?? [String]()) as? [String] else {
                throw ProxyAddress.Fault("ExceptionsList isn't an array of Strings.")
            }
            return ProxyExceptions(
                texts,
                namesIncludeSubdomains: false,
                excludesSimpleHostnames: try isTrue(kCFNetworkProxiesExcludeSimpleHostnames)
            )
        }

        func isTrue(_ key: String) throws(ProxyAddress.Fault) -> Bool {
            guard let value = values[key] else { return false }
            if let isTrue = value as? Bool { return isTrue }
            guard let number = integer(value) else { throw ProxyAddress.Fault("\(key) is neither Bool nor number.") }
            return number != 0
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
