/// Receivers that wait for a message, in the order of their numbers. A value.
///
/// A cancelled one leaves its place empty, since moving all later ones would take too long when thousands are cancelled.
struct WebSocketReceivers {
    typealias Receiver = WebSocketInbox.Receiver

    private struct Place {
        let number: Int
        /// nil if it has been cancelled.
        var receiver: Receiver?
    }

    private var places: [Place] = []
    /// The first place that hasn't had its turn.
    private var start = 0
    /// How many receivers wait.
    private var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ receiver: Receiver) {
        count += 1
        let place = Place(number: receiver.number, receiver: receiver)
        // Two tasks that ask at once may arrive out of the order of their numbers.
        if let last = places.last, last.number > place.number {
            places.insert(place, at: index(of: place.number))
        } else {
            places.append(place)
        }
    }

    mutating func popFirst() -> Receiver? {
        guard count > 0 else { return nil }
        var first: Receiver?
        while first == nil {
            first = places[start].receiver.take()
            start += 1
        }
        tidy()
        return first
    }

    /// Returns the receiver if it waits.
    mutating func remove(_ number: Int) -> Receiver? {
        let index = index(of: number)
        guard index < places.count, places[index].number == number, let receiver = places[index].receiver.take() else {
            return nil
        }
        tidy()
        return receiver
    }

    /// The place of that number, or the first with a larger one.
    private func index(of number: Int) -> Int {
        var (low, high) = (start, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// One receiver is gone. Compacts the places once most of them are empty, at an amortised cost of O(1) for each.
    private mutating func tidy() {
        count -= 1
        if count == 0 {
            places.removeAll(keepingCapacity: true)
            start = 0
        } else if places.count > 2 * count + 16 {
            places.removeAll { $0.receiver == nil }
            start = 0
        }
    }
}
