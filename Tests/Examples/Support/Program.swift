import Foundation

/// Runs a program's work. Ctrl-C and SIGTERM cancel it, and then this throws `CancellationError`.
///
/// There is nothing else to do: a transfer ends with `URLError.cancelled` when the Swift task that awaits it is cancelled.
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

/// Writes a line at once, also where the output is no terminal.
package func say(_ line: String) {
    FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

/// Says something that is none of the program's results.
package func note(_ line: String) {
    FileHandle.standardError.write(Data("\(line)\n".utf8))
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
