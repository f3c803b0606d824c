import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("Options of names and sockets that make no sense")
struct NamesValidationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let option: String
        let change: @Sendable (inout CurlOptions) -> Void
        var testDescription: String { option }

        init(_ option: String, _ change: @escaping @Sendable (inout CurlOptions) -> Void) {
            self.option = option
            self.change = change
        }
    }

    static let wrong = [
        Case("names.cacheLifetime") { $0.names.cacheLifetime = .seconds(-1) },
        Case("names.servers") { $0.names.servers = [.init("dns.example.com")] },
        Case("names.servers") { $0.names.servers = [.init("10.0.0.1", port: 0)] },
        Case("names.dnsOverHTTPS") { $0.names.dnsOverHTTPS = URL(string: "http://dns.example.com/") },
        Case("names.dnsOverHTTPS") { $0.names.dnsOverHTTPS = URL(string: "https:///dns-query") },
        Case("names.dnsOverHTTPS") { $0.names.dnsOverHTTPS = URL(fileURLWithPath: "/dns") },
        Case("names.unixSocket") { $0.names.unixSocket = .path("") },
        Case("names.unixSocket") { $0.names.unixSocket = .path("/a\0b") },
        Case("names.unixSocket") { $0.names.unixSocket = .path(String(repeating: "x", count: 108)) },
        Case("names.unixSocket") { $0.names.unixSocket = .abstract(String(repeating: "x", count: 108)) },
        Case("names.localEnd") { $0.names.localEnd = .interface("") },
        Case("names.localEnd") { $0.names.localEnd = .interface("no interface") },
        Case("names.localEnd") { $0.names.localEnd = .interface("sixteen-letters!") },
        Case("names.localEnd") { $0.names.localEnd = .address("localhost") },
        Case("names.localEnd") { $0.names.localEnd = .address("127.0.0.1", ports: 0...10) },
        Case("names.localEnd") { $0.names.localEnd = .ports(65_535...65_536) },
        Case("hosts[\"a\"].names.addresses") { $0.hosts["a"].names.addresses = [] },
        Case("hosts[\"a\"].names.addresses") { $0.hosts["a"].names.addresses = ["10.0.0.1", "b"] },
        Case("hosts[\"a\"].names.addresses") { $0.hosts["a"].names.addresses = ["[::1]"] },
        Case("hosts[\"a\"].names.addresses") { $0.hosts["a"].names.addresses = ["10.0.0.1\0"] },
        Case("hosts[\"10.0.0.1:80\"].names.addresses") { $0.hosts["10.0.0.1:80"].names.addresses = ["10.0.0.2"] },
        Case("hosts[\"a\"].names.addresses") {
            $0.hosts["a"].names.addresses = ["10.0.0.1"]
            $0.hosts["a"].names.connectTo = .init("b")
        },
        Case("hosts[\"*.a:80\"].names.addresses") {
            $0.hosts["*.a:80"].names.addresses = ["10.0.0.1"]
            $0.hosts["*.a:80"].names.connectTo = .init("b.a", port: 81)
        },
        Case("hosts[\"*\"].names.addresses") {
            $0.hosts["*"].names.addresses = ["10.0.0.1"]
            $0.hosts["*"].names.connectTo = .init("::1")
        },
        Case("hosts[\"a\"].names.connectTo") { $0.hosts["a"].names.connectTo = .init("") },
        Case("hosts[\"a\"].names.connectTo") { $0.hosts["a"].names.connectTo = .init("*") },
        Case("hosts[\"a\"].names.connectTo") { $0.hosts["a"].names.connectTo = .init("b:80") },
        Case("hosts[\"a\"].names.connectTo") { $0.hosts["a"].names.connectTo = .init("b/c") },
        Case("hosts[\"a\"].names.connectTo") { $0.hosts["a"].names.connectTo = .init("b", port: 65_536) },
        Case("hosts[\"a\"].names.unixSocket") { $0.hosts["a"].names.unixSocket = .abstract("") },
        Case("hosts[\"a\"].names.localEnd") { $0.hosts["a"].names.localEnd = .ports(0...1) },
    ]

    @Test("An option of names and sockets that makes no sense is named", arguments: wrong)
    func refused(wrong: Case) {
        var options = CurlOptions()
        wrong.change(&options)
        #expect { try options.validate() } throws: { ($0 as? CurlOptionsError)?.option == wrong.option }
    }

    static let right = [
        Case("cacheLifetime") { $0.names.cacheLifetime = .zero },
        Case("dnsOverHTTPS") { $0.names.dnsOverHTTPS = URL(string: "https://dns.example.com/dns-query") },
        Case("path") { $0.names.unixSocket = .path(String(repeating: "x", count: 107)) },
        Case("abstract") { $0.names.unixSocket = .abstract(String(repeating: "x", count: 107)) },
        Case("interface") { $0.names.localEnd = .interface("fifteen-letters") },
        Case("address") { $0.names.localEnd = .address("::1", ports: 1...65_535) },
        Case("addresses") { $0.hosts["a"].names.addresses = ["10.0.0.1", "::1"] },
        Case("addresses of all") { $0.hosts["*"].names.addresses = ["10.0.0.1"] },
        Case("connectTo") { $0.hosts["a"].names.connectTo = .init("::1", port: 65_535) },
        Case("addresses of the host connected to") {
            $0.hosts["A"].names.addresses = ["10.0.0.1"]
            $0.hosts["A"].names.connectTo = .init("a", port: 81)
        },
        Case("addresses of hosts, one of which is connected to") {
            $0.hosts["*.a:80"].names.addresses = ["10.0.0.1"]
            $0.hosts["*.a:80"].names.connectTo = .init("b.a")
        },
        Case("addresses and connectTo in different entries") {
            $0.hosts["*"].names.addresses = ["10.0.0.1"]
            $0.hosts["a"].names.connectTo = .init("::1")
        },
        Case("connectTo without a port") { $0.hosts["10.0.0.1"].names.connectTo = .init("b") },
    ]

    @Test("Options of names and sockets that make sense are accepted", arguments: right)
    func accepted(right: Case) {
        var options = CurlOptions()
        right.change(&options)
        #expect(throws: Never.self) { try options.validate() }
    }

    @Test("DNS servers need a libcurl with c-ares, and the error says so where it isn't")
    func servers() {
        var options = CurlOptions()
        options.names.servers = [.init("10.0.0.1"), .init("::1", port: 5353)]
        if CurlLibrary.hasCAres {
            #expect(throws: Never.self) { try options.validate() }
        } else {
            #expect { try options.validate() } throws: { error in
                "\(error)".hasPrefix("curl.names.servers: ") && "\(error)".contains("c-ares")
                    && "\(error)".contains(CurlLibrary.versionText)
            }
        }
    }
}
