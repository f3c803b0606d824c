/// The last lines on a terminal, which are drawn anew again and again, below others that stay.
struct LiveLines {
    private static let interval = Duration.milliseconds(50)

    private var drawn = 0
    private var lastDrawing: ContinuousClock.Instant?

    /// Replaces the live lines by `lines`, of which those that fit on the terminal are shown; not more often than
    /// somebody can look, unless it has to be.
    mutating func draw(_ lines: [String], isUrgent: Bool = false) {
        if !isUrgent, let lastDrawing, lastDrawing + Self.interval > .now { return }
        lastDrawing = .now
        let shown = lines.prefix(max(1, Console.size.rows - 1))
        Console.write(beginning + shown.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
        drawn = shown.count
    }

    /// Writes lines that stay above the live ones. The latter are gone until they are drawn again.
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
