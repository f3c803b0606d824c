import CurlNetworking
import Foundation
import Glibc

// A program that forks without exec, for tests: `fork-helper first URL` before it has used a session, `fork-helper later URL`
// afterwards. It doesn't use Swift's concurrency, which would start threads before it could fork.

/// Swift hides `fork`.
private typealias Fork = @convention(c) () -> pid_t

private func load(_ url: URL, in session: URLSession) -> String {
    let isDone = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var text = "nothing"
    session.dataTask(with: url) { data, _, error in
        text = data.map { String(decoding: $0, as: UTF8.self) } ?? "\(String(describing: error))"
        isDone.signal()
    }.resume()
    isDone.wait()
    return text
}

/// Runs `child` in a child process, and tells how that ended.
private func ending(of child: () -> Void) -> Int32 {
    guard let symbol = dlsym(nil, "fork") else { return -1 }
    let pid = unsafeBitCast(symbol, to: Fork.self)()
    if pid == 0 {
        child()
        // With the exit handlers, as any program.
        exit(0)
    }
    var status: Int32 = -1
    waitpid(pid, &status, 0)
    return status
}

private func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

let words = CommandLine.arguments
guard words.count == 3, let url = URL(string: words[2]) else { exit(2) }
if words[1] == "first" {
    let status = ending { say("child \(load(url, in: .shared))") }
    say("ending \(status)")
    say("parent \(load(url, in: .shared))")
} else {
    let session = URLSession(configuration: .ephemeral)
    say("parent \(load(url, in: session))")
    say("ending \(ending {})")
    say("parent \(load(url, in: session))")
}
