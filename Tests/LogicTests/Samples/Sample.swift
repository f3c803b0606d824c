import Foundation
import TestSupport
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

    /// Asks for a password of http://example.com/; answers go nowhere.
    static func challenge() -> URLAuthenticationChallenge {
        URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(
                host: "example.com",
                port: 80,
                protocol: "http",
                realm: nil,
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic
            ),
            proposedCredential: nil,
            previousFailureCount: 0,
            failureResponse: nil,
            error: nil,
            sender: ChallengeSender { _ in }
        )
    }

    static func head(_ status: Int, _ fields: KeyValuePairs<String, String> = [:]) -> ResponseHead {
        ResponseHead(
            version: "HTTP/1.1",
            status: status,
            fields: fields.map { HeaderField(name: $0.key, value: $0.value) }
        )
    }

    /// A response as a cache holds it.
    static func stored(
        _ text: String,
        at url: String,
        policy: URLCache.StoragePolicy = .allowed
    ) throws -> StoredResponse {
        StoredResponse(
            key: url,
            url: try Self.url(url),
            head: head(200, ["Etag": "\"a\""]),
            requested: Date(timeIntervalSince1970: 1.5),
            received: Date(timeIntervalSince1970: 2.25),
            variant: [HeaderField(name: "a", value: "b: c"), HeaderField(name: "d", value: "")],
            data: Data(text.utf8),
            storagePolicy: policy
        )
    }

    /// A property list of arrays in one another.
    static func propertyList(nested depth: Int) -> Data {
        let (open, close) = (String(repeating: "<array>", count: depth), String(repeating: "</array>", count: depth))
        return Data("<?xml version=\"1.0\"?><plist><dict><key>a</key>\(open)\(close)</dict></plist>".utf8)
    }

    /// What a session with this configuration works with.
    static func settings(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> SessionSettings {
        let configuration = URLSessionConfiguration.ephemeral
        change(configuration)
        return SessionSettings(configuration)
    }
}

typealias SeededGenerator = TestSupport.SeededGenerator
