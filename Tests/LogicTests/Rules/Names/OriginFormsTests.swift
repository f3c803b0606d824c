import Foundation
import Testing

@testable import CurlNetworking

@Suite("Names of other alphabets")
struct OriginFormsTests {
    @Test(
        "Are the same origin in every spelling",
        arguments: ["bücher.example", "b%C3%BCcher.example", "BÜCHER.example"]
    )
    func spelling(host: String) throws {
        let url = try #require(URL(string: "http://\(host)/"))
        let encoded = try #require(URL(string: "http://xn--bcher-kva.example/"))
        #expect(Origin(url) == Origin(encoded))
    }
}
