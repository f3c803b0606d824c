/// An object that is told when one of its descriptors is ready.
protocol DescriptorHandler: AnyObject {
    /// Called on the loop.
    func descriptorBecameReady(_ descriptor: Int32)
}

/// The owners of a loop's descriptors, by the number that the epoll set returns with each event. Loop only.
struct DescriptorOwners {
    private var multis: [UInt32: Multi] = [:]
    private var handlers: [UInt32: any DescriptorHandler] = [:]
    private var next: UInt32 = 1

    /// The loop itself, for its timer and its wake-ups.
    static let timer: UInt32 = 0
    static let wakeUp = UInt32.max

    mutating func add(_ multi: Multi) -> UInt32 {
        let id = makeID()
        multis[id] = multi
        return id
    }

    mutating func add(_ handler: any DescriptorHandler) -> UInt32 {
        let id = makeID()
        handlers[id] = handler
        return id
    }

    mutating func remove(_ id: UInt32) {
        multis[id] = nil
        handlers[id] = nil
    }

    func multi(_ id: UInt32) -> Multi? { multis[id] }

    func handler(_ id: UInt32) -> (any DescriptorHandler)? { handlers[id] }

    /// Numbers wrap around, and some may then still be in use.
    private mutating func makeID() -> UInt32 {
        while next == Self.timer || next == Self.wakeUp || multis[next] != nil || handlers[next] != nil { next &+= 1 }
        defer { next &+= 1 }
        return next
    }
}
