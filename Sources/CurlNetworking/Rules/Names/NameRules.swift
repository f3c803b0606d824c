import CurlTransport
import Foundation

/// How a session resolves names: its own settings, and those of its host table.
struct NameRules: Sendable {
    let session: CurlOptions.Names
    let hosts: HostRules

    /// The settings for `origin`'s host, and for the proxy's if that has addresses of its own; nil for libcurl's defaults.
    func settings(for origin: Origin, through proxy: CurlOptions.ProxyServer? = nil) -> NameSettings? {
        var settings = NameSettings()
        if let socket = unixSocket(for: origin) {
            settings.unixSocket = socket.setting
            return settings
        }
        let target = connectTarget(for: origin)
        settings.connectTo = connectTo(for: origin)
        let way = proxy.map { origin.at($0.canonical.host, port: $0.port) }
        settings.overrides = [target, way].compactMap { $0.flatMap(override) }
        settings.ipVersion = (hosts.first(\.names.ipVersion, for: origin) ?? session.ipVersion).setting
        settings.localEnd = (hosts.first(\.names.localEnd, for: origin) ?? session.localEnd)?.setting
        if session.cacheLifetime != CurlOptions.Names().cacheLifetime { settings.cacheLifetime = session.cacheLifetime }
        settings.servers = session.servers.map { server in
            HostSpelling.bracketed(server.host) + (server.port.map { ":\($0)" } ?? "")
        }
        settings.dnsOverHTTPS = session.dnsOverHTTPS?.absoluteString
        return settings == NameSettings() ? nil : settings
    }

    /// Whether the host is reached through a Unix socket, and so without a proxy.
    func usesUnixSocket(for origin: Origin) -> Bool {
        unixSocket(for: origin) != nil
    }

    /// The socket named by the URL, or else set for the host or the session; nil for TCP.
    func unixSocket(for origin: Origin) -> CurlOptions.UnixSocket? {
        if origin.isUnixSocket { return UnixSocketURL.socket(named: origin.host) }
        guard !origin.isFTP else { return nil }
        return hosts.first(\.names.unixSocket, for: origin) ?? session.unixSocket
    }

    /// The host and port to connect to, if they aren't the origin's.
    func connectTo(for origin: Origin) -> String? {
        let target = connectTarget(for: origin)
        return target == origin ? nil : "\(HostSpelling.bracketed(target.host)):\(target.port)"
    }

    /// The host and port whose name is resolved.
    private func connectTarget(for origin: Origin) -> Origin {
        guard let connectTo = hosts.first(\.names.connectTo, for: origin) else { return origin }
        let host = HostPattern(HostSpelling.bracketed(connectTo.host))?.host ?? connectTo.host
        return origin.at(host, port: connectTo.port ?? origin.port)
    }

    private func override(for target: Origin) -> NameSettings.Override? {
        guard !target.host.isNumericAddress, let addresses = hosts.first(\.names.addresses, for: target)
        else { return nil }
        return NameSettings.Override(host: target.host, port: target.port, addresses: addresses)
    }

    /// Whether `text` is a name, or an address without brackets.
    static func isHost(_ text: String) -> Bool {
        text.isNumericAddress || (HostPattern(text) != nil && !text.contains { "*:[]".contains($0) })
    }
}

extension CurlOptions.UnixSocket {
    fileprivate var setting: NameSettings.UnixSocket {
        switch self {
        case .path(let path): .path(path)
        case .abstract(let name): .abstract(name)
        }
    }
}

extension CurlOptions.IPVersion {
    fileprivate var setting: NameSettings.IPVersion? {
        switch self {
        case .any: nil
        case .v4: .v4
        case .v6: .v6
        }
    }
}

extension CurlOptions.LocalEnd {
    fileprivate var setting: NameSettings.LocalEnd {
        switch self {
        case .interface(let name): .interface(name)
        case .address(let address, let ports): .address(address, ports: ports.map(Self.narrowed))
        case .ports(let ports): .address(nil, ports: Self.narrowed(ports))
        }
    }

    private static func narrowed(_ ports: ClosedRange<Int>) -> ClosedRange<UInt16> {
        UInt16(clamping: ports.lowerBound)...UInt16(clamping: ports.upperBound)
    }
}
