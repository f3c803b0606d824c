import CurlTransport
import Foundation

extension CurlOptions.Names {
    func validate() throws(CurlOptionsError) {
        if cacheLifetime < .zero { throw CurlOptionsError("names.cacheLifetime", "It must not be negative.") }
        if !servers.isEmpty {
            let option = "names.servers"
            for server in servers where !server.host.isNumericAddress {
                throw CurlOptionsError(option, "\"\(server.host)\" isn't an IP address.")
            }
            for server in servers { try server.validatePort(as: option) }
            guard CurlLibrary.hasCAres else { throw CurlOptionsError(option, lacking: "c-ares") }
        }
        if let dnsOverHTTPS {
            let option = "names.dnsOverHTTPS"
            guard let origin = Origin(dnsOverHTTPS), origin.scheme == .https else {
                throw CurlOptionsError(option, "\(dnsOverHTTPS.absoluteString) isn't an https URL.")
            }
            guard CurlLibrary.hasDNSOverHTTPS else { throw CurlOptionsError(option, lacking: "DNS over HTTPS") }
        }
        try unixSocket?.validate(as: "names.unixSocket")
        try localEnd?.validate(as: "names.localEnd")
    }
}

extension CurlOptions.HostOptions.Names {
    /// - Parameter hosts: The entry's.
    func validate(as name: String, of hosts: HostPattern) throws(CurlOptionsError) {
        if let addresses {
            let option = "\(name).addresses"
            if addresses.isEmpty { throw CurlOptionsError(option, "There must be at least 1.") }
            for address in addresses where !address.isNumericAddress {
                throw CurlOptionsError(option, "\"\(address)\" isn't an IP address.")
            }
            if let host = hosts.host, host.isNumericAddress {
                throw CurlOptionsError(option, "An address is not looked up; set connectTo instead.")
            }
        }
        if let connectTo {
            let option = "\(name).connectTo"
            guard NameRules.isHost(connectTo.host) else {
                throw CurlOptionsError(option, "\"\(connectTo.host)\" is neither a name nor an IP address.")
            }
            try connectTo.validatePort(as: option)
            if addresses != nil { try connectTo.validateLookup(as: "\(name).addresses", of: hosts) }
        }
        try unixSocket?.validate(as: "\(name).unixSocket")
        try localEnd?.validate(as: "\(name).localEnd")
    }
}

extension CurlOptions.Endpoint {
    /// Throws unless the entry's addresses are those of this host, to which its connections go. libcurl keeps addresses by the name they
    /// belong to: another host's would also reach requests to that host itself.
    fileprivate func validateLookup(as option: String, of hosts: HostPattern) throws(CurlOptionsError) {
        guard !host.isNumericAddress else {
            throw CurlOptionsError(option, "connectTo names an address, which is not looked up.")
        }
        guard !hosts.matches(self) else { return }
        let instead = "hosts[\"\(host + (port.map { ":\($0)" } ?? ""))\"].names.addresses"
        throw CurlOptionsError(option, "connectTo has another host looked up; set \(instead).")
    }

    fileprivate func validatePort(as option: String) throws(CurlOptionsError) {
        if let port, !(1...65_535).contains(port) { throw CurlOptionsError(option, "\(port) isn't a port.") }
    }
}

extension CurlOptions.UnixSocket {
    fileprivate func validate(as option: String) throws(CurlOptionsError) {
        guard CurlLibrary.hasUnixSockets else { throw CurlOptionsError(option, lacking: "Unix sockets") }
        guard UnixSocketURL.isName(name) else {
            throw CurlOptionsError(
                option,
                "A socket's name must have 1 to \(UnixSocketURL.longestName) bytes, none of them NUL."
            )
        }
    }

    private var name: String {
        switch self {
        case .path(let path): path
        case .abstract(let name): name
        }
    }
}

extension CurlOptions.LocalEnd {
    fileprivate func validate(as option: String) throws(CurlOptionsError) {
        switch self {
        case .interface(let name):
            guard (1...15).contains(name.utf8.count), name.utf8.allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "/") })
            else { throw CurlOptionsError(option, "\"\(name)\" isn't the name of a network interface.") }
        case .address(let address, let ports):
            guard address.isNumericAddress else {
                throw CurlOptionsError(option, "\"\(address)\" isn't an IP address.")
            }
            if let ports { try Self.validate(ports, as: option) }
        case .ports(let ports):
            try Self.validate(ports, as: option)
        }
    }

    private static func validate(_ ports: ClosedRange<Int>, as option: String) throws(CurlOptionsError) {
        guard ports.lowerBound >= 1, ports.upperBound <= 65_535 else {
            throw CurlOptionsError(option, "\(ports) aren't ports.")
        }
    }
}
