import CCurlNetworkingLinux
import CurlNetworking
import Foundation
import Glibc
import TestSupport

// Waiting for what an agent writes: its folder is watched.

extension BackgroundRig {
    /// Returns when the agent's log satisfies `condition`.
    func waitForLog(_ condition: @escaping @Sendable (String) -> Bool) async throws {
        try await wait { condition(self.log) }
    }

    /// Returns when the task's record names a partial file.
    func waitForCheckpoint(of task: URLSessionTask) async throws {
        try await waitForRecord(of: task) { $0.contains("\"resumeData\"") }
    }

    /// Returns when what is written down of the task satisfies `condition`.
    func waitForRecord(of task: URLSessionTask, _ condition: @escaping @Sendable (String) -> Bool) async throws {
        let number = task.taskIdentifier
        try await wait { self.record(ofTask: number).map(condition) == true }
    }

    func record(ofTask number: Int) -> String? {
        nameOfRecord(ofTask: number).flatMap {
            try? String(contentsOf: sessions.appendingPathComponent($0), encoding: .utf8)
        }
    }

    /// Whether the task has a record of its own, as it has from its end until an agent learns that a program was told.
    func hasRecord(ofTask number: Int) -> Bool { nameOfRecord(ofTask: number) != nil }

    private func nameOfRecord(ofTask number: Int) -> String? {
        stateFiles.first { $0.hasSuffix(".task") && $0.contains("/\(number)-") }
    }

    /// Returns when `condition` holds; looks whenever a file changes in the state's folder. Throws when the test's time is over.
    func wait(until condition: @escaping @Sendable () -> Bool) async throws {
        let watch = FolderWatch()
        while true {
            // The folders may be new: they are watched before it is looked.
            watch.add([directory.url, folder, sessions] + stateFiles.map { sessions.appendingPathComponent($0) })
            if condition() { return }
            try await watch.change()
        }
    }

    /// A program makes the download `one` of a host where no server listens, hears that it waits, and is killed.
    func leaveWaitingTask() async throws {
        let program = try await readyProgram()
        program.say("download http://127.0.0.1:9/ one")
        try await program.line(beginningWith: "waiting one")
        await program.crash()
    }
}

/// Tells of changes in folders.
private final class FolderWatch: Sendable {
    private let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))

    deinit {
        close(descriptor)
    }

    func add(_ urls: [URL]) {
        let events = UInt32(IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_TO)
        for url in urls { inotify_add_watch(descriptor, url.path, events) }
    }

    func change() async throws {
        try Task.checkCancellation()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [descriptor] in
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                // The limit is for what may be made between watching and looking.
                poll(&entry, 1, 250)
                var buffer = [UInt8](repeating: 0, count: 4096)
                while read(descriptor, &buffer, buffer.count) > 0 {}
                continuation.resume()
            }
        }
    }
}
