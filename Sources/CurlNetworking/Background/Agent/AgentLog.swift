import CurlTransport
import Foundation
import Glibc

/// A log with a timestamped line for everything that an agent does, without credentials, queries or bodies. Any thread.
struct AgentLog: Sendable {
    /// -1 if the file can't be opened, or isn't a regular one.
    private let descriptor: Int32

    /// In bytes: a longer log is emptied.
    static let maximumLength = 1 << 20
    /// In bytes: the rest of a longer line is left out.
    static let maximumLine = 4096

    /// Writes nothing.
    static let none = AgentLog()

    private init() {
        descriptor = -1
    }

    init(in folder: StateFolder) {
        let path = folder.url.appendingPathComponent(StateFolder.logName, isDirectory: false).path
        // A pipe would make the agent wait for its reader.
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let opened = uninterrupted { open(path, flags, 0o600) }
        var status = stat()
        guard opened >= 0, fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            if opened >= 0 { close(opened) }
            descriptor = -1
            return
        }
        descriptor = opened
    }

    func write(_ text: String) {
        guard descriptor >= 0 else { return }
        var status = stat()
        if fstat(descriptor, &status) == 0, Int(status.st_size) > Self.maximumLength { ftruncate(descriptor, 0) }
        let text = String(decoding: text.utf8.prefix(Self.maximumLine), as: UTF8.self)
        let isLine = text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
        let line = isLine ? text : String(text.map { $0.isNewline ? " " : $0 })
        let bytes = Array("\(Date().formatted(.iso8601)) [\(getpid())] \(line)\n".utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }

    /// The URL as it may be logged: without its query, which may be secret.
    static func text(of url: URL) -> String {
        guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return "?" }
        (components.user, components.password, components.query, components.fragment) = (nil, nil, nil, nil)
        return components.string ?? "?"
    }
}
