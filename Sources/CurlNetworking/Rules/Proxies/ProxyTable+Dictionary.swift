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
                guard let host = try text(prefix + "Proxy") else {
                    throw ProxyAddress.Fault("There is no \(prefix)Proxy.")
                }
                // A whole URL can say what Apple's keys can't: TLS to the proxy, or another version of SOCKS.
                var server =
                    host.contains("://")
                    ? try ProxyAddress.server(host)
                    : CurlOptions.ProxyServer(scheme, host: host, port: defaultPort)
                if let port = values[prefix + "Port"] { server.port = self.port(port) ?? 0 }
                if let user = try text(kCFProxyUsernameKey) { server.user = user }
                if let password = try text(kCFProxyPasswordKey) { server.password = password }
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
            guard let number = number(value), !number.isNaN else {
                throw ProxyAddress.Fault("\(key) is neither Bool nor number.")
            }
            return number != 0
        }

        /// nil if there is none.
        private func text(_ key: String) throws(ProxyAddress.Fault) -> String? {
            guard let value = values[key] else { return nil }
            guard let text = value as? String else { throw ProxyAddress.Fault("\(key) isn't a String.") }
            return text
        }

        /// Programs use all types of numbers, and text.
        private func number(_ value: Any) -> Double? {
            switch value {
            case let number as NSNumber: number.doubleValue  // also Bool
            case let number as any BinaryInteger: Double(number)
            case let number as any BinaryFloatingPoint: Double(number)
            case let text as String: Double(text)
            default: nil
            }
        }

        /// nil for what isn't a whole number.
        private func port(_ value: Any) -> Int? {
            switch value {
            case let text as String: Int(text)
            // The type tells a Bool from a number, which can be cast to one.
            case let number as NSNumber where number === true as NSNumber || number === false as NSNumber: nil
            default: number(value).flatMap { Int(exactly: $0) }
            }
        }
    }
}
