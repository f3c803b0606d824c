import Foundation
import CurlNetworkingParityStage

// Promises that more than one scenario rests on.
extension Scenario {
    /// The task fails with this error.
    func promised(_ code: URLError.Code) -> Scenario {
        let (name, text) = Self.meanings[code] ?? ("\(code)", "")
        return promised("`\(name)`: \(text)", by: "\(Self.foundation)/urlerror/\(name.lowercased())") {
            $0.error == "NSURLErrorDomain \(code.rawValue)"
        }
    }

    /// The task fails, and not with the error that says nothing.
    func promisedKnownError() -> Scenario {
        promised("`unknown` is for an error that can't be interpreted.", by: "\(Self.foundation)/urlerror/unknown") {
            $0.error != nil && $0.error != "NSURLErrorDomain -1"
        }
    }

    /// A failed task's handler still gets the response that came.
    func promisedResponse(status: Int = 200) -> Scenario {
        promised(
            "if a response is received, whether the request then succeeds or fails, the handler gets it.",
            by: "\(Self.foundation)/urlsession/datatask(with:completionhandler:)"
        ) { $0.has("handler", ["status": "\(status)"]) && $0.error != nil }
    }

    /// The handler gets this body.
    func promisedBody(_ body: String, _ text: String, by source: String) -> Scenario {
        promised(text, by: source) { $0.has("handler", ["body": "“\(body)”"]) }
    }

    static let foundation = "https://developer.apple.com/documentation/foundation"

    /// What Apple's documentation says of the codes.
    private static let meanings: [URLError.Code: (name: String, text: String)] = [
        .networkConnectionLost: (
            "networkConnectionLost",
            "a client or server connection was severed in the middle of an in-progress load."
        ),
        .badServerResponse: ("badServerResponse", "the URL loading system received bad data from the server."),
        .cannotParseResponse: ("cannotParseResponse", "the response to a connection request couldn't be parsed."),
        .cannotDecodeContentData: (
            "cannotDecodeContentData",
            "content data received during a connection request had an unknown content encoding."
        ),
        .cannotDecodeRawData: (
            "cannotDecodeRawData",
            "content data received during a connection request couldn't be decoded for a known content encoding."
        ),
        .secureConnectionFailed: (
            "secureConnectionFailed",
            "an attempt to establish a secure connection failed for reasons that can't be expressed more specifically."
        ),
        .redirectToNonExistentLocation: (
            "redirectToNonExistentLocation",
            "a redirect was specified by way of server response code, but the server didn't accompany this code with a "
                + "redirect URL."
        ),
    ]
}

extension Timeline {
    /// Domain and code of the first error.
    fileprivate var error: String? { events.lazy.compactMap { $0.details["error"] }.first }
}
