import Foundation
import Testing

@testable import CurlNetworking

/// Short ways to the values that tests begin with.
enum Sample {
    static func url(_ text: String) throws -> URL {
        try #require(URL(string: text))
    }

    static func request(
        _ url: String = "http://example.com/",
        _ method: String = "GET",
        _ headers: KeyValuePairs<String, String> = [:]
    ) throws -> URLRequest {
        var request = try URLRequest(url: Sample.url(url))
        request.httpMethod = method
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }

    static func head(_ status: Int, _ fields: KeyValuePairs<String, String> = [:]) -> ResponseHead {
        ResponseHead(
            version: "HTTP/1.1",
            status: status,
            fields: fields.map { HeaderField(name: $0.key, value: $0.value) }
        )
    }

    /// What a session with this configuration works with.
    static func settings(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> SessionSettings {
        let configuration = URLSessionConfiguration.ephemeral
        change(configuration)
        return SessionSettings(configuration)
    }
}

/// Random numbers that are the same every time (SplitMix64): what fails once fails again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }
}
