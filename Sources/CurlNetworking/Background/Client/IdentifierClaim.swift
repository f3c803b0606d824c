import CurlNetworkingLocks
import Foundation

/// A session's claim to a background session's identifier, which one session of this process holds at a time: the first one made, until it
/// gives up its claim. Any thread.
final class IdentifierClaim: Sendable {
    private struct Name: Hashable {
        var identifier: ExactText
        var folder: StateFolder
    }

    private static let holders = Mutex<[Name: ObjectIdentifier]>([:])
    private let name: Name

    init(_ identifier: String, in folder: StateFolder) {
        name = Name(identifier: ExactText(identifier), folder: folder)
        _ = isGranted()
    }

    deinit {
        giveUp()
    }

    /// Whether this session has the identifier. Takes it if no other session holds it any more.
    func isGranted() -> Bool {
        Self.holders.withLock { holders in
            let holder = holders[name] ?? ObjectIdentifier(self)
            holders[name] = holder
            return holder == ObjectIdentifier(self)
        }
    }

    func giveUp() {
        Self.holders.withLock { holders in
            if holders[name] == ObjectIdentifier(self) { holders[name] = nil }
        }
    }
}
