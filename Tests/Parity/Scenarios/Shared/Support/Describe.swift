import Foundation
import CurlNetworkingParityStage

/// URLSession's values as details of an event.
enum Describe {
    static func response(_ response: URLResponse?) -> [String: String] {
        guard let response else { return [:] }
        var details = [
            "url": response.url?.absoluteString ?? "none",
            "type": response.mimeType ?? "none",
            "length": "\(response.expectedContentLength)",
            "encoding": response.textEncodingName ?? "none",
            "filename": response.suggestedFilename ?? "none",
        ]
        if let http = response as? HTTPURLResponse {
            details["status"] = "\(http.statusCode)"
            details["headers"] = headers(http)
        }
        return details
    }

    private static func headers(_ response: HTTPURLResponse) -> String {
        response.allHeaderFields.map { name, value in
            "\(name)".lowercased() == "date" ? "\(name): …" : "\(name): \(value)"
        }.sorted().joined(separator: " | ")
    }

    /// Domain, code and the keys of the error's `userInfo`; empty for none.
    static func error(_ error: (any Error)?) -> [String: String] {
        guard let error else { return [:] }
        let plain = error as NSError
        var details = [
            "error": "\(plain.domain) \(plain.code)",
            "userInfo": plain.userInfo.keys.sorted().joined(separator: ", "),
        ]
        if let url = plain.userInfo[NSURLErrorFailingURLErrorKey] as? URL { details["failing"] = url.absoluteString }
        if !(error is URLError) { details["class"] = "\(Swift.type(of: error))" }
        return details
    }

    static func result(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) -> [String: String] {
        var details = self.response(response).merging(self.error(error)) { $1 }
        details["body"] = data.map(Text.body) ?? "nil"
        return details
    }

    /// What a file holds.
    static func file(_ url: URL?) -> String {
        guard let url else { return "nil" }
        return (try? Data(contentsOf: url)).map(Text.body) ?? "not there"
    }
}
