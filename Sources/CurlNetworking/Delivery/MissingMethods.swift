import CurlNetworkingLocks

/// The delegate types that are known to lack a method, because its default implementation ran. What only the default would answer or be
/// told needn't be asked or reported. Remembered until the process ends; at most the number of types times the number of methods. Any
/// thread.
enum MissingMethods {
    enum Method: Hashable, Sendable {
        // Questions, which have two forms: a type that lacks one has neither.
        case sessionChallenge, challenge, redirect, response, caching, bodyStream, bodyStreamFromOffset, delayedRequest
        case metrics

        /// A response may be stored after its task has completed.
        var outlivesTask: Bool { self == .caching }
    }

    private struct Entry: Hashable {
        let type: ObjectIdentifier
        let method: Method
    }

    private static let known = Mutex<Set<Entry>>([])

    static func contains(_ method: Method, of delegate: AnyObject) -> Bool {
        contains(method, ofType: ObjectIdentifier(type(of: delegate)))
    }

    static func contains(_ method: Method, ofType type: ObjectIdentifier) -> Bool {
        known.withLock { $0.contains(Entry(type: type, method: method)) }
    }

    static func note(_ method: Method, of delegate: AnyObject) {
        let entry = Entry(type: ObjectIdentifier(type(of: delegate)), method: method)
        known.withLock { _ = $0.insert(entry) }
    }
}
