import Testing

@testable import CurlTransport

@Suite("What libcurl says about a transfer")
struct TransferTracerTests {
    @Test("All that libcurl says is recorded, but for its notes about reading on a channel")
    func notes() {
        var recorded: [String] = []
        let tracer = TransferTracer { kind, bytes in
            recorded.append("\(kind) \(String(decoding: bytes, as: UTF8.self))")
        } end: {
        }
        let said: [(TransferTracer.Kind, String)] = [
            (.text, "reached easy.c:1271\n"), (.text, "reached ../../lib/easy.c:1271\n"),
            (.text, "reached the limit of connections\n"), (.text, "Trying 127.0.0.1:80...\n"),
            (.bodyIn, "reached easy.c:1271\n"), (.text, "r"),
        ]
        for (kind, text) in said { Array(text.utf8).withUnsafeBytes { tracer.hear(kind, $0) } }
        #expect(
            recorded == [
                "text reached the limit of connections\n", "text Trying 127.0.0.1:80...\n",
                "bodyIn reached easy.c:1271\n", "text r",
            ]
        )
    }
}
