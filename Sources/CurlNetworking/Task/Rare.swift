/// A value that most owners never have, kept outside of them: all they hold is a reference.
///
/// What a task holds is laid out and cleared with each request, and memory of a small size is there without asking the allocator's other
/// threads. Changing such a value in place copies it: this is nothing for what grows byte by byte.
@propertyWrapper
struct Rare<Value> {
    private final class Box {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var box: Box?

    init(wrappedValue: Value? = nil) {
        self.wrappedValue = wrappedValue
    }

    var wrappedValue: Value? {
        get { box?.value }
        set { box = newValue.map(Box.init) }
    }
}
