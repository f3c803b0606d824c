import Foundation

/// One reader of what others wrote, and what has to hold whatever they wrote.
///
/// `make fuzz` gives it what libFuzzer invents; `FuzzCorpusTests` gives it everything in the corpus. It returns where all is well, and
/// traps otherwise: that is what libFuzzer looks for.
struct FuzzTarget: Sendable {
    /// The name of its folder in the corpus as well.
    let name: String
    let run: @Sendable (UnsafeRawBufferPointer) -> Void

    init(_ name: String, _ run: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
        (self.name, self.run) = (name, run)
    }

    /// For readers of text. What isn't UTF-8 is repaired first, as it is on its way to them.
    init(_ name: String, text run: @escaping @Sendable (String) -> Void) {
        self.init(name) { bytes in run(String(decoding: bytes, as: UTF8.self)) }
    }

    static let all = http + bodies + connections + webSockets + files

    /// The time it is for all of them: a finding has to be found again.
    static let now = Date(timeIntervalSince1970: 1_795_000_000)
}

extension UnsafeRawBufferPointer {
    /// Gives the bytes in two pieces, cut at a place that they themselves decide.
    func inTwoPieces(_ body: (UnsafeRawBufferPointer) throws -> Void) rethrows {
        let cut = isEmpty ? 0 : Int(self[count / 2]) * count / 256
        try body(UnsafeRawBufferPointer(rebasing: self[..<cut]))
        try body(UnsafeRawBufferPointer(rebasing: self[cut...]))
    }
}
