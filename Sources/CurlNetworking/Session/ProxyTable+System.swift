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

    /// The proxies in the process's current environment.
    static var ofEnvironment: ProxyTable {
        ProxyTable { name in SecureEnvironment[name] }
    }
}
