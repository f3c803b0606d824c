// A library on the stock module that doesn't export it: what it says of URLSession is about the stock one.

import Foundation
import FoundationNetworking

/// A client of some service.
public struct API {
    /// What it loads with.
    public let session: URLSession

    /// A client on a session of its user's.
    public init(session: URLSession) {
        self.session = session
    }
}

/// What can load.
public protocol Loading {}

extension URLSession: Loading {}

/// Loads something.
public func use(_ loader: any Loading) {}

extension URLSession {
    /// Something that libraries add.
    public var helper: Int { 1 }
}
