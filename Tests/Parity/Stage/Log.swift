import Foundation
import Synchronization

/// A timeline in a file, written as it happens: a process that crashes or is killed leaves what it came to.
package final class Log: Sendable {
    private struct State {
        let file: FileHandle
        /// What stands for addresses that are different every time.
        var names: [(address: String, name: String)] = []
    }

    private struct Line: Codable {
        var event: Event?
        var isEnd = false
    }

    private let state: Mutex<State>

    package init(writingTo url: URL) throws {
        try Data().write(to: url)
        state = Mutex(State(file: try FileHandle(forWritingTo: url)))
    }

    /// Has `address` appear as `name` from here on.
    package func call(_ address: String, _ name: String) {
        state.withLock { $0.names.append((address, name)) }
    }

    package func append(_ event: Event) {
        state.withLock { state in
            var event = event
            event.details = event.details.mapValues { value in
                state.names.reduce(value) { $0.replacingOccurrences(of: $1.address, with: $1.name) }
            }
            Self.write(Line(event: event), to: state.file)
        }
    }

    /// The scenario has come to its end.
    package func end() {
        state.withLock { Self.write(Line(isEnd: true), to: $0.file) }
    }

    private static func write(_ line: Line, to file: FileHandle) {
        guard var bytes = try? JSONEncoder().encode(line) else { return }
        bytes.append(UInt8(ascii: "\n"))
        try? file.write(contentsOf: bytes)
    }

    /// What a log says, and whether it says that it is complete.
    package static func read(_ url: URL) -> (events: [Event], isComplete: Bool) {
        let bytes = (try? Data(contentsOf: url)) ?? Data()
        let lines = bytes.split(separator: UInt8(ascii: "\n")).compactMap {
            try? JSONDecoder().decode(Line.self, from: $0)
        }
        return (lines.compactMap(\.event), lines.contains(where: \.isEnd))
    }
}
