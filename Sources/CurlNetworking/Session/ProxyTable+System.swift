import Glibc

extension ProxyTable {
    /// The variables in the process's current environment that concern proxies.
    static var environment: [String: String] {
        var variables: [String: String] = [:]
        _ = ProxyTable { name in
            variables[name] = SecureEnvironment[name]
            return variables[name]
        }
        return variables
    }

    /// The proxies of a configuration's dictionary. Without one they are those of the environment: the program's, if this process is its
    /// agent, or else the process's own.
    static func system(for configuration: URLSessionConfiguration) -> ProxyTable {
        if let dictionary = configuration.connectionProxyDictionary { return ProxyTable(dictionary: dictionary) }
        if let environment = configuration.proxyEnvironment { return ProxyTable { environment[$0] } }
        return ProxyTable { SecureEnvironment[$0] }
    }
}
