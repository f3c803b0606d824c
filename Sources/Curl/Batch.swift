/// What gathers until all of it has its turn, in order; what comes meanwhile gathers for the next.
///
/// Loops go through such lists with every round, and going through one must not cost an allocation.
struct Batch<Element> {
    private var gathered: [Element] = []
    private var spare: [Element] = []

    var isEmpty: Bool { gathered.isEmpty }

    mutating func append(_ element: Element) {
        gathered.append(element)
    }

    /// Everything so far, whose turn it is now; then it goes to `takeBack`.
    mutating func take() -> [Element] {
        let taken = gathered
        gathered = spare
        spare = []
        return taken
    }

    /// Keeps the memory of what was taken for what comes.
    mutating func takeBack(_ taken: consuming [Element]) {
        taken.removeAll(keepingCapacity: true)
        spare = taken
    }

    mutating func removeAll() {
        self = Batch()
    }
}
