import Foundation

/// `halftunes search`
struct SearchCommand {
    let invocation: Invocation

    init(_ invocation: Invocation) {
        self.invocation = invocation
    }

    func run() async throws -> Int32 {
        let source = try MusicSource(api: invocation.api)
        defer { source.stop() }
        let term = invocation.searchTerm ?? ""
        let tracks = try await source.search.search(term, limit: invocation.limit)
        for line in Self.lines(tracks) { Console.print(line) }
        guard tracks.isEmpty else { return ExitCode.success }
        Console.printError("Nothing matches '\(term)'.")
        return ExitCode.failure
    }

    static func lines(_ tracks: [Track]) -> [String] {
        let names = tracks.map {
            [$0.trackName.printable, $0.artistName.printable, ($0.collectionName ?? "").printable]
        }
        let widths = (0..<3).map { column in min(36, names.map { $0[column].columns }.max() ?? 0) }
        return zip(tracks, names).map { track, name in
            let columns = zip(name, widths).map { $0.fitted(to: $1) }
            let length = track.trackTimeMillis.map(duration) ?? ""
            let preview = track.preview?.absoluteString ?? "(no preview)"
            return (columns + [length.fittedRight(to: 5), preview]).joined(separator: "  ")
        }
    }

    /// For example `3:05`.
    private static func duration(milliseconds: Int) -> String {
        let seconds = max(0, milliseconds) / 1000
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }
}
