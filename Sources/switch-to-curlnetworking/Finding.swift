/// Something that a program can't decide for its owner.
struct Finding: Equatable {
    let file: String
    /// From 1; nil for what concerns the whole file or package.
    let line: Int?
    let text: String

    var description: String { line.map { "\(file):\($0): \(text)" } ?? "\(file): \(text)" }
}
