/// A double-buffered work list: elements appended while a batch is being processed belong to the next batch.
///
/// Every turn of an event loop goes through such lists, so draining one reuses its memory instead of allocating.
struct WorkList<Element> {
    private var gathered: [Element] = []
    private var spare: [Element] = []

    var isEmpty: Bool { gathered.isEmpty }

    func allSatisfy(_ condition: (Element) -> Bool) -> Bool { gathered.allSatisfy(condition) }

    mutating func append(_ element: Element) {
        gathered.append(element)
    }

    /// Everything appended so far; pass it to `recycle` when done.
    mutating func take() -> [Element] {
        let taken = gathered
        gathered = spare
        spare = []
        return taken
    }

    /// Keeps the memory of the taken batch for the next.
    mutating func recycle(_ taken: consuming [Element]) {
        taken.removeAll(keepingCapacity: true)
        spare = taken
    }

    mutating func removeAll() {
        self = WorkList()
    }
}
