import Foundation

/// What a session's tasks know of credentials together, and the queue of those that want to ask for one: for each protection space
/// one at a time, and the others wait for its answer. Loop only.
final class AuthenticationDesk {
    var spaces = ProtectionSpaces()

    private struct Queue {
        var asking: TaskRunner?
        var waiting: [TaskRunner] = []
    }

    private var queues: [ProtectionSpace: Queue] = [:]

    /// True when `runner` may ask; else its `askedElsewhere(about:)` is called when it is to look again.
    func enter(_ runner: TaskRunner, about space: ProtectionSpace) -> Bool {
        guard queues[space]?.asking != nil else {
            queues[space, default: Queue()].asking = runner
            return true
        }
        queues[space]?.waiting.append(runner)
        return false
    }

    /// `runner` has its answer, or wants none any more: the next one looks.
    func leave(_ runner: TaskRunner, about space: ProtectionSpace) {
        guard var queue = queues[space] else { return }
        guard queue.asking === runner else {
            queue.waiting.removeAll { $0 === runner }
            return queues[space] = queue
        }
        queue.asking = nil
        queues[space] = queue
        // Until one asks again: with a good answer, none does.
        while queues[space]?.asking == nil, let next = queues[space]?.waiting.first {
            queues[space]?.waiting.removeFirst()
            next.askedElsewhere(about: space)
        }
        if queues[space]?.asking == nil { queues[space] = nil }
    }
}

extension SessionCore {
    /// Made when first needed: most sessions never are. Loop only.
    var authenticationDesk: AuthenticationDesk {
        if let existingAuthenticationDesk { return existingAuthenticationDesk }
        let desk = AuthenticationDesk()
        existingAuthenticationDesk = desk
        return desk
    }

    /// Later requests are sent without credentials again. Any thread.
    func forgetCredentials() {
        loop.submit {
            self.existingAuthenticationDesk?.spaces = ProtectionSpaces()
            self.existingHandshakeDesk?.forgetAll()
        }
    }
}
