import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The opening handshake of web sockets")
struct WebSocketHandshakeTests {
    private let handshake = WebSocketHandshake(
        key: "dGhlIHNhbXBsZSBub25jZQ==",
        .init(protocols: ["chat", "superchat"], compression: .init())
    )

    private func head(_ changes: (inout [HeaderField]) -> Void = { _ in }) -> ResponseHead {
        var fields = [
            HeaderField(name: "Upgrade", value: "WebSocket"),
            HeaderField(name: "Connection", value: "keep-alive, UPGRADE"),
            HeaderField(name: "Sec-WebSocket-Accept", value: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        ]
        changes(&fields)
        return ResponseHead(version: "HTTP/1.1", status: 101, fields: fields)
    }

    @Test("The RFC's example is accepted, whatever the case of its words")
    func example() throws {
        #expect(handshake.accept == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(try handshake.agreement(by: head()) == WebSocketHandshake.Agreement())
        let chat = head { $0.append(HeaderField(name: "sec-websocket-protocol", value: "superchat")) }
        #expect(try handshake.agreement(by: chat).subprotocol == "superchat")
    }

    @Test("Any other answer opens no web socket")
    func refused() {
        var heads = [
            head { $0.removeFirst() }, head { $0[0].value = "h2c" }, head { $0.remove(at: 1) },
            head { $0.append(HeaderField(name: "Upgrade", value: "h2c")) },
            head { $0[1].value = "close" }, head { $0[2].value = "s3pPLMBiTxaQ9kYGzzhZRbK+xoo=" },
            head { $0.removeLast() }, head { $0.append($0[2]) },
            // The sign for kelvin, which is equal to a K in Swift.
            head { $0[2].value.replace("K", with: "\u{212A}") },
            head { $0.append(HeaderField(name: "Sec-WebSocket-Protocol", value: "other")) },
            head { $0.append(HeaderField(name: "Sec-WebSocket-Protocol", value: "chat, superchat")) },
            head { $0.append(HeaderField(name: "Sec-WebSocket-Extensions", value: "x-webkit-deflate-frame")) },
        ]
        heads.append(ResponseHead(version: "HTTP/1.1", status: 200, fields: head().fields))
        heads.append(ResponseHead(version: "HTTP/1.0", status: 101, fields: head().fields))
        for head in heads { #expect(throws: WebSocketRefusal.self) { try handshake.agreement(by: head) } }
    }

    @Test("The request says what the RFC asks for, and the program can't contradict it")
    func request() {
        let lines = [
            "User-Agent: a", "Connection: close", "Sec-WebSocket-Key: mine", "X-Empty;", "X-None:", "Cookie: b=c",
        ]
        let request = handshake.request(target: "/chat?a", host: "example.com:8080", lines: lines)
        #expect(
            request.text
                == [
                    "GET /chat?a HTTP/1.1", "Host: example.com:8080", "User-Agent: a", "X-Empty:", "Cookie: b=c",
                    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: chat, superchat",
                    "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits", "", "",
                ].joined(separator: "\r\n")
        )
        #expect(!handshake.request(target: "/", host: "a", lines: ["Host: b"]).text.contains("Host: a"))
    }

    @Test("Keys are 16 random bytes")
    func keys() throws {
        let keys = (0..<10).map { _ in WebSocketHandshake(.init()).key }
        #expect(Set(keys).count == 10)
        #expect(keys.allSatisfy { Data(base64Encoded: $0)?.count == 16 })
    }

    // MARK: - Compression

    private func agreed(
        _ fields: String...,
        on offer: WebSocketCompression.Offer? = WebSocketCompression.Offer()
    ) throws -> WebSocketCompression? {
        try WebSocketCompression.agreed(fields, on: offer)
    }

    @Test("The four parameters are offered and agreed on")
    func parameters() throws {
        var offer = WebSocketCompression.Offer()
        (offer.serverForgets, offer.clientForgets, offer.serverWindowBits, offer.clientWindowBits) = (
            true, true, 10, 11
        )
        #expect(
            offer.field
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=10; client_max_window_bits=11"
        )
        #expect(try agreed() == nil)
        #expect(try agreed("permessage-deflate") == WebSocketCompression())
        let all = try agreed(
            "permessage-deflate;server_no_context_takeover ; client_no_context_takeover; server_max_window_bits=\"9\"; client_max_window_bits=8"
        )
        #expect(
            all
                == WebSocketCompression(
                    serverForgets: true,
                    clientForgets: true,
                    serverWindowBits: 9,
                    clientWindowBits: 8
                )
        )
        // zlib can't look back so little: nothing is compressed then.
        #expect(all?.canCompress == false)
        let narrow = try agreed("permessage-deflate; server_no_context_takeover; server_max_window_bits=10", on: offer)
        #expect(narrow?.clientWindowBits == 11)
        #expect(narrow?.clientForgets == true)
    }

    @Test("A parameter's value may be quoted, with escapes")
    func quotedParameter() throws {
        let quoted = try agreed(#"permessage-deflate; server_max_window_bits="1\0"; client_max_window_bits="\9""#)
        #expect(quoted?.serverWindowBits == 10)
        #expect(quoted?.clientWindowBits == 9)
    }

    @Test(
        "A parameter that wasn't offered, is there twice or makes no sense is refused",
        arguments: [
            "permessage-bzip2", "permessage-deflate, permessage-deflate", "permessage-deflate; x",
            "permessage-deflate; server_max_window_bits", "permessage-deflate; client_max_window_bits",
            "permessage-deflate; server_max_window_bits=7", "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=010", "permessage-deflate; client_no_context_takeover=1",
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover", "permessage-deflate;", "",
            "permessage-deflate; server_no_context_takeover=", #"permessage-deflate; server_no_context_takeover=""#,
            #"permessage-deflate; server_no_context_takeover="""#, #"permessage-deflate; server_max_window_bits="1"0""#,
            ",", " , ", "permessage-deflate,, permessage-deflate", ",;",
        ]
    )
    func refusedParameters(field: String) {
        #expect(throws: WebSocketRefusal.self) { try agreed(field) }
    }

    @Test(
        "Empty elements of the list of extensions are ignored",
        arguments: [
            ["permessage-deflate,"], [",permessage-deflate"], [" ,\t, permessage-deflate ,, "],
            ["", "permessage-deflate"], ["permessage-deflate", ","],
        ]
    )
    func emptyElements(fields: [String]) throws {
        #expect(try WebSocketCompression.agreed(fields, on: .init()) == WebSocketCompression())
    }

    @Test("A server that doesn't do what the offer asked for is refused")
    func ignored() {
        var offer = WebSocketCompression.Offer()
        offer.serverForgets = true
        #expect(throws: WebSocketRefusal.self) { try agreed("permessage-deflate", on: offer) }
        offer.serverForgets = false
        offer.serverWindowBits = 10
        #expect(throws: WebSocketRefusal.self) { try agreed("permessage-deflate", on: offer) }
        #expect(throws: WebSocketRefusal.self) { try agreed("permessage-deflate", on: nil) }
    }

    @Test("Web sockets' URLs and those of their requests are counterparts")
    func urls() throws {
        for (webSocket, request) in [
            ("ws://a/b?c", "http://a/b?c"), ("WSS://a:1", "https://a:1"), ("ws+unix://%2Fa/b", "http+unix://%2Fa/b"),
        ] {
            let url = try #require(URL(string: webSocket))
            #expect(WebSocketURL.request(url).absoluteString == request)
            #expect(WebSocketURL.shown(WebSocketURL.request(url)).absoluteString.lowercased() == webSocket.lowercased())
        }
        let other = try #require(URL(string: "ftp://a/"))
        #expect(WebSocketURL.request(other) == other)
    }
}

@Suite("SHA-1")
struct SHA1Tests {
    @Test(
        "The digests are those of FIPS 180",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
        ]
    )
    func digests(text: String, digest: String) {
        let hex = SHA1.hash(Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(hex == digest)
    }
}
