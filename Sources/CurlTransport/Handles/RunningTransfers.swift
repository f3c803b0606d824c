/// The transfers that run in one multi, in no order. Each knows its index, so it leaves without a search. Loop only.
struct RunningTransfers {
    private(set) var all: [EasyHandle] = []
    var starved = StarvedTransfers()

    mutating func add(_ easy: EasyHandle) {
        easy.position = all.count
        all.append(easy)
    }

    /// The last one takes its position.
    mutating func remove(_ easy: EasyHandle) {
        let last = all.removeLast()
        guard last !== easy else { return }
        all[easy.position] = last
        last.position = easy.position
    }
}
