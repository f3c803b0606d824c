import Foundation
import Testing

@testable import CurlNetworking

@Suite("Whether an unwanted body is worth reading")
struct UnwantedBodyTests {
    private func isWorthReading(
        _ fields: KeyValuePairs<String, String>,
        status: Int = 302,
        version: String = "HTTP/1.1",
        method: String = "GET"
    ) -> Bool {
        var head = Sample.head(status, fields)
        head.version = version
        return UnwantedBody.isWorthReading(after: head, method: method)
    }

    @Test("An unwanted body is worth reading if it is short or in chunks")
    func short() {
        #expect(isWorthReading(["Content-Length": "0"]))
        #expect(isWorthReading(["Content-Length": "65536"]))
        #expect(isWorthReading(["Transfer-Encoding": "chunked"]))
    }

    @Test("A long unwanted body isn't worth reading, whatever the version", arguments: ["HTTP/1.1", "HTTP/2"])
    func long(version: String) {
        #expect(!isWorthReading(["Content-Length": "65537"], version: version))
    }

    @Test("An unwanted body of unknown length is worth reading only over HTTP/2, where it has an end of its own")
    func unbounded() {
        #expect(!isWorthReading([:]))
        #expect(!isWorthReading([:], version: "HTTP/1.0"))
        #expect(isWorthReading([:], version: "HTTP/2"))
    }

    @Test("A response without a body keeps its connection, whatever its length would be")
    func none() {
        #expect(isWorthReading(["Content-Length": "1000000"], method: "HEAD"))
        #expect(isWorthReading(["Content-Length": "1000000"], status: 304))
        #expect(isWorthReading([:], status: 304))
    }

    @Test("An unwanted body whose length isn't a number isn't worth reading")
    func invalid() {
        #expect(!isWorthReading(["Content-Length": "ten"]))
    }
}
