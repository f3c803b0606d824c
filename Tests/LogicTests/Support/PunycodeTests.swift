import Testing

@testable import CurlNetworking

@Suite("Punycode")
struct PunycodeTests {
    /// From RFC 3492 §7.1 and the public suffix list.
    static let samples = [
        ("example.com", "example.com"), ("bücher.example", "xn--bcher-kva.example"),
        ("食狮.com.cn", "xn--85x722f.com.cn"),
        ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"), ("公司.香港", "xn--55qx5d.xn--j6w193g"),
        ("3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"), ("", ""), ("a..b", "a..b"),
    ]

    @Test("Labels beyond ASCII are encoded as in the RFC's samples, and others are left alone", arguments: samples)
    func encoding(domain: String, ascii: String) {
        #expect(Punycode.asciiDomain(domain[...]) == ascii)
    }

    @Test("A host is composed first")
    func hosts() {
        #expect(Punycode.asciiHost("bu\u{308}cher.example") == "xn--bcher-kva.example")
        #expect(Punycode.asciiHost("example.com") == "example.com")
    }
}
