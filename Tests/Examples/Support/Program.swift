import Foundation

/// Runs a program's work. Ctrl-C and SIGTERM cancel it, and then this throws `CancellationError`.
///
/// There is nothing else to do for requests: one ends with `URLError.cancelled` when the Swift task that awaits it is cancelled.
package func untilInterrupted<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let (signals, continuation) = AsyncStream<Void>.makeStream()
    var sources: [any DispatchSourceSignal] = []
    for number in [SIGINT, SIGTERM] {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { continuation.yield() }
        // The work begins when no signal can be missed any more.
        await withCheckedContinuation { registered in
            source.setRegistrationHandler { registered.resume() }
            source.resume()
        }
        sources.append(source)
    }
    let task = Task { try await work() }
    let watch = Task { for await _ in signals { task.cancel() } }
    defer {
        watch.cancel()
        for source in sources { source.cancel() }
    }
    do {
        return try await task.value
    } catch {
        throw task.isCancelled ? CancellationError() : error
    }
}

/// Writes a line at once, also where the output is no terminal. Ends the program if nobody can read it any more: sessions make a process
/// ignore SIGPIPE.
package func say(_ line: String) {
    do {
        try FileHandle.standardOutput.write(contentsOf: Data("\(harmless(line))\n".utf8))
    } catch {
        fail("the output can't be written: \(error.localizedDescription)")
    }
}

/// Says something that is none of the program's results.
package func note(_ line: String) {
    try? FileHandle.standardError.write(contentsOf: Data("\(harmless(line))\n".utf8))
}

/// Text that can't move the cursor or change the terminal: servers have written some of it.
private func harmless(_ text: String) -> String {
    let scalars = text.unicodeScalars.map { scalar in
        scalar.properties.generalCategory == .control && !"\t\n".unicodeScalars.contains(scalar) ? "?" : scalar
    }
    return String(String.UnicodeScalarView(scalars))
}

/// Ends the program: with 64 for a wrong command line, 130 for an interruption, and 1 for anything else.
package func fail(_ text: String, code: Int32 = 1) -> Never {
    note(text)
    exit(code)
}

/// Takes an option, like `--timeout`, and its value out of the command line.
package func takeOption(_ name: String, from words: inout [String]) -> String? {
    guard let index = words.firstIndex(of: name), index + 1 < words.count else { return nil }
    defer { words.removeSubrange(index...index + 1) }
    return words[index + 1]
}
