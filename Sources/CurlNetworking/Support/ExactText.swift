/// Text that is the same only if its bytes are, as others compare it: to Swift, some different texts are equal, such as the two ways to write
/// "é".
struct ExactText: Hashable, Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (a: Self, b: Self) -> Bool { a.text.hasSameBytes(as: b.text) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension ExactText: ExpressibleByStringLiteral {
    init(stringLiteral text: String) {
        self.init(text)
    }
}

extension String {
    /// Whether both are the same on the wire; see `ExactText`.
    func hasSameBytes(as other: String) -> Bool {
        // Contiguous bytes are several times faster than the view.
        var (a, b) = (self, other)
        return a.withUTF8 { a in b.withUTF8 { b in a.elementsEqual(b) } }
    }
}
