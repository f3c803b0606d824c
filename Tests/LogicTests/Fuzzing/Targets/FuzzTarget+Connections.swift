import Foundation

@testable import CurlNetworking

/// Addresses, names and certificates.
extension FuzzTarget {
    static let connections = [
        FuzzTarget(
            "proxy-address",
            text: { text in
                guard let server = try? ProxyAddress.server(text) else { return }
                precondition(ProxyAddress.fault(of: server) == nil, "what is read is valid")
                if let origin { _ = ProxyExceptions(server).contain(origin) }
            }
        ),
        FuzzTarget(
            "proxy-exceptions",
            text: { text in
                if let origin { _ = ProxyExceptions([text]).contain(origin) }
                _ = ProxyTable { name in name.lowercased().hasSuffix("proxy") ? text : nil }
            }
        ),
        FuzzTarget(
            "names",
            text: { text in
                let ascii = Punycode.asciiDomain(text[...])
                precondition(ascii.utf8.allSatisfy { $0 < 0x80 })
                if let address = IPAddress(text) { precondition([4, 16].contains(address.bytes.count)) }
                if let network = IPNetwork(text), let loopback { _ = network.contains(loopback) }
                if let origin { _ = HostPattern(text)?.matches(origin) }
                _ = NameRules.isHost(text)
                _ = PublicSuffixList(text).contains("host.example")
                if let url = URL(string: "http://\(text)/"), let origin = Origin(url) {
                    precondition(origin.host.utf8.allSatisfy { $0 < 0x80 })
                }
            }
        ),
        FuzzTarget("pem") { bytes in
            for certificate in PEM.certificates(in: Data(bytes)) { precondition(!certificate.isEmpty) }
        },
    ]

    private static let origin = URL(string: "https://www.host.example/").flatMap(Origin.init)
    private static let loopback = IPAddress("127.0.0.1")
}
