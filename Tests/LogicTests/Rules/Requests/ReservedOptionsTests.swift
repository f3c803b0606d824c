import CurlTransport
import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Options of libcurl that are the session's own")
struct ReservedOptionsTests {
    @Test("Each reserved name is one of libcurl's, if this version has it")
    func names() {
        // Newer than the oldest libcurl that is supported.
        let newer = ["PROTOCOLS_STR", "REDIR_PROTOCOLS_STR", "QUICK_EXIT"]
        for name in ReservedOptions.groups.flatMap(\.names) where !newer.contains(name) {
            let option = NamedOption(name)
            #expect(option?.name == name, "\(name) is an alias, or none")
        }
    }

    @Test("Every option that takes a C pointer is reserved, and aliases with their options")
    func pointers() throws {
        for option in NamedOption.all where option.kind == .pointer {
            #expect(ReservedOptions.reason(for: option) != nil, "\(option.name)")
        }
        let aliases = ["FILE": "WRITEDATA", "POST301": "POSTREDIR", "ENCODING": "ACCEPT_ENCODING"]
        for (alias, name) in aliases { #expect(try #require(NamedOption(alias)).name == name) }
        #expect(ReservedOptions.reason(for: try #require(NamedOption("INFILE"))) != nil)
        #expect(ReservedOptions.reason(for: try #require(NamedOption("TCP_FASTOPEN"))) == nil)
        #expect(NamedOption("NO_SUCH_OPTION") == nil)
    }

    @Test("Options about trust and client certificates are reserved, and the reason names the property")
    func trust() throws {
        let names = [
            "SSL_VERIFYPEER": "trustsAnyCertificate", "SSLCERT_BLOB": "identity", "SSLKEYPASSWD": "identity",
            "PINNEDPUBLICKEY": "hosts[…].publicKeyPins",
        ]
        for (name, property) in names {
            let reason = ReservedOptions.reason(for: try #require(NamedOption(name)))
            #expect(reason?.contains(property) == true, "\(name)")
        }
    }

    @Test(
        "Options that would have no effect, because the session does the same itself, are reserved",
        arguments: ["USERAGENT", "AUTOREFERER", "MAXREDIRS", "UNRESTRICTED_AUTH", "XOAUTH2_BEARER"]
    )
    func withoutEffect(name: String) throws {
        #expect(ReservedOptions.reason(for: try #require(NamedOption(name))) != nil)
    }

    @Test(
        "Where libcurl only connects, options about the request, the response and their pace are refused",
        arguments: [
            "REFERER", "REQUEST_TARGET", "AWS_SIGV4", "ALTSVC", "FAILONERROR", "TIMEOUT_MS", "LOW_SPEED_LIMIT",
            "MAX_RECV_SPEED_LARGE", "MAXFILESIZE_LARGE", "IGNORE_CONTENT_LENGTH", "USE_SSL", "QUOTE",
        ]
    )
    func refusedWhereConnecting(name: String) throws {
        let option = try #require(NamedOption(name))
        #expect(ReservedOptions.reason(for: option) == nil)
        #expect(ReservedOptions.reason(for: option, onlyConnects: true)?.contains("no effect") == true)
    }

    @Test(
        "Where libcurl only connects, options that work while connecting can be set, and those that do no harm",
        arguments: [
            "INTERFACE", "LOCALPORT", "IPRESOLVE", "DNS_CACHE_TIMEOUT", "CONNECTTIMEOUT_MS", "TCP_KEEPALIVE",
            "PRE_PROXY", "PROXY_CAINFO", "CAINFO", "CRLFILE", "SSLVERSION", "TLS13_CIPHERS", "HAPROXYPROTOCOL",
            "HTTP_VERSION", "ACCEPT_ENCODING", "PIPEWAIT", "FRESH_CONNECT", "FTP_SKIP_PASV_IP",
        ]
    )
    func allowedWhereConnecting(name: String) throws {
        #expect(ReservedOptions.reason(for: try #require(NamedOption(name)), onlyConnects: true) == nil)
    }

    @Test("The documentation lists the reserved options")
    func page() throws {
        let page = Products.sources.appendingPathComponent(
            "Sources/CurlNetworking/CurlNetworking.docc/EscapeHatches.md"
        )
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        for group in ReservedOptions.groups {
            let row = rows.first { $0.hasPrefix("| \(group.reason) |") }
            let names = row?.split(separator: "|").last?.split { !($0.isLetter || $0.isNumber || $0 == "_") }
            #expect(names?.map(String.init) == group.names, "\(group.reason)")
        }
    }
}
