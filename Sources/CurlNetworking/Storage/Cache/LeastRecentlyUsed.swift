/// Values by key, up to a total cost. The least recently used are removed first.
struct LeastRecentlyUsed<Value> {
    private struct Node {
        let key: String
        var value: Value
        var cost: Int
        /// The neighbours that were used later and earlier; nil at the ends.
        var newer: Int?
        var older: Int?
    }

    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var indices: [String: Int] = [:]
    private var newest: Int?
    private var oldest: Int?
    private(set) var totalCost = 0
    var capacity: Int {
        didSet { evict() }
    }

    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { indices.count }
    var keys: some Collection<String> { indices.keys }

    /// The value; this doesn't count as a use.
    func peek(_ key: String) -> Value? {
        indices[key].flatMap { nodes[$0]?.value }
    }

    /// The value, which becomes the most recently used.
    mutating func use(_ key: String) -> Value? {
        guard let index = indices[key] else { return nil }
        unlink(index)
        append(index)
        return nodes[index]?.value
    }

    /// Replaces any value for `key`. A value that costs more than the capacity isn't kept.
    mutating func insert(_ value: Value, for key: String, cost: Int) {
        remove(key)
        guard cost <= capacity else { return }
        let node = Node(key: key, value: value, cost: cost)
        let index: Int
        if let reused = free.popLast() {
            nodes[reused] = node
            index = reused
        } else {
            nodes.append(node)
            index = nodes.count - 1
        }
        indices[key] = index
        totalCost += cost
        append(index)
        evict()
    }

    mutating func remove(_ key: String) {
        guard let index = indices.removeValue(forKey: key) else { return }
        unlink(index)
        totalCost -= nodes[index]?.cost ?? 0
        nodes[index] = nil
        free.append(index)
    }

    private mutating func evict() {
        while totalCost > capacity, let index = oldest, let key = nodes[index]?.key { remove(key) }
    }

    private mutating func append(_ index: Int) {
        nodes[index]?.older = newest
        nodes[index]?.newer = nil
        if let newest { nodes[newest]?.newer = index }
        newest = index
        if oldest == nil { oldest = index }
    }

    private mutating func unlink(_ index: Int) {
        guard let node = nodes[index] else { return }
        if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
        if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
    }
}
