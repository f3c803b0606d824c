/// The last lines on a terminal, redrawn repeatedly, below others that stay.
struct LiveLines {
    private static let interval = Duration.milliseconds(50)

    private var drawn = 0
    private var lastDrawing: ContinuousClock.Instant?

    /// Replaces the live lines with as many of `lines` as fit on the terminal, no more often than the eye can follow unless urgent.
    mutating func draw(_ lines: [String], isUrgent: Bool = false) {
        if !isUrgent, let lastDrawing, lastDrawing + Self.interval > .now { return }
        lastDrawing = .now
        let shown = lines.prefix(max(1, Console.size.rows - 1))
        Console.write(beginning + shown.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
        drawn = shown.count
    }

    /// Writes lines that stay above the live ones. The live lines disappear until they are drawn again.
    mutating func writeAbove(_ lines: [String]) {
        Console.write(beginning + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
        drawn = 0
        lastDrawing = nil
    }

    /// Puts the cursor where the live lines begin.
    private var beginning: String {
        drawn > 0 ? "\r\u{1B}[\(drawn)A" : "\r"
    }
}
