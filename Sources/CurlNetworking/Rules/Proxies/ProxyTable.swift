/// The system's proxies, possibly one for each scheme.
struct ProxyTable: Sendable {
    /// By the scheme of the URL.
    var routes: [Scheme: ProxyRoute] = [:]
    /// For all other schemes.
    var otherwise = ProxyRoute.direct
    var exceptions = ProxyExceptions()

    func route(to origin: Origin) -> ProxyRoute {
        // A stream needs a tunnel, as https does.
        let route = routes[origin.isStream ? .https : origin.scheme] ?? otherwise
        return route == .direct || exceptions.contain(origin) ? .direct : route
    }
}
