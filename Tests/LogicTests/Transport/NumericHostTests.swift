import Testing

@testable import CurlTransport

@Suite("Hosts that are addresses to libcurl")
struct NumericHostTests {
    @Test(
        "An address in a short or other form is the one that libcurl connects to",
        arguments: ["127.1", "127.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.0.0.1"]
    )
    func short(host: String) {
        #expect(CurlLibrary.numericHost(host) == "127.0.0.1")
    }

    @Test(
        "Names stay names, whatever they look like",
        arguments: ["example.com", "1.example", "localhost", "", "::1", "1.2.3.4.5", "999999999999", "1 2", "1/x", "é"]
    )
    func other(host: String) {
        #expect(CurlLibrary.numericHost(host) == host)
    }
}
