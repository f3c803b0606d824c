// A library whose public API has ours in it, beside one that exports the stock module again. Aliases are internal, and don't
// serve there; imports of single declarations do, in each file that needs them.

import CurlNetworking
import Foundation
import Reexporting

import class CurlNetworking.URLProtocol
import class CurlNetworking.URLSession
import class CurlNetworking.URLSessionConfiguration
import class CurlNetworking.URLSessionTask
import protocol CurlNetworking.URLSessionTaskDelegate

/// A client of some service.
public struct PublicAPI: Sendable {
    /// What it loads with.
    public let session: URLSession

    /// A client on a session of its user's.
    public init(session: URLSession = .shared) {
        self.session = session
    }

    /// A client on a session of its own.
    public init(configuration: URLSessionConfiguration, delegate: (any URLSessionTaskDelegate)?) {
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    /// What the service answers.
    public func status(of url: URL) async throws -> Int? {
        var request = URLRequest(url: url)
        request.setValue(languageMode, forHTTPHeaderField: "X-Mode")
        let (_, response) = try await session.data(for: request)
        return (response as? HTTPURLResponse)?.statusCode
    }
}

/// A mock that its users can subclass.
open class PublicMock: URLProtocol {
    /// Nothing is mocked unless a subclass says so.
    open override class func canInit(with task: URLSessionTask) -> Bool { false }
}
