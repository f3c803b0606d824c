/// Something that the user has to decide or do.
struct Finding: Equatable {
    let file: String
    /// From 1; nil for the whole file or package.
    let line: Int?
    let text: String

    var description: String { line.map { "\(file):\($0): \(text)" } ?? "\(file): \(text)" }
}
