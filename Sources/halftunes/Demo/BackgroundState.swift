import Foundation
import Glibc

/// A folder for the state of background downloads, and the agent that works in it.
struct BackgroundState {
    private let directory: URL

    /// A new folder, for programs run with `environment`.
    init() throws {
        let name = "halftunes-state-\(UUID().uuidString)"
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(name, isDirectory: true)
        guard mkdir(directory.path, 0o700) == 0 else { throw SystemCallError(directory.path) }
    }

    var environment: [String: String] { ["XDG_STATE_HOME": directory.path] }

    /// Returns when no agent works in the folder: an agent holds a lock for as long as it runs.
    func waitForAgentToEnd() async {
        let lock = openLock()
        guard lock >= 0 else { return }
        await Self.waitForLock(lock)
    }

    /// Removes everything; an agent whose files are gone ends.
    func remove() async {
        let lock = openLock()
        try? FileManager.default.removeItem(at: directory)
        guard lock >= 0 else { return }
        await Self.waitForLock(lock)
        // Files that the agent wrote at the last moment.
        try? FileManager.default.removeItem(at: directory)
    }

    private func openLock() -> Int32 {
        let folder = directory.appendingPathComponent("curlnetworking/\(BackgroundDownloads.container)")
        return open(folder.appendingPathComponent("agent.lock").path, O_RDWR | O_CLOEXEC)
    }

    private static func waitForLock(_ lock: Int32) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                while flock(lock, LOCK_EX) != 0, errno == EINTR {}
                close(lock)
                continuation.resume()
            }
        }
    }
}
