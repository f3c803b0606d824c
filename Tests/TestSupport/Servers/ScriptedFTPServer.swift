import Foundation
import Glibc
import CurlNetworkingLoopbackServer

/// An FTP server with one file that does what a test wants: it supports passive mode, and answers each command as told.
///
/// One thread for each connection. It ends with `stop()`, which every test must call.
package final class ScriptedFTPServer: Sendable {
    package enum Answer: Sendable {
        /// This line; by default the server's own.
        case reply(String)
        /// No answer until the gate is open, then the server's own.
        case after(Gate)
        /// The connection is closed instead.
        case hangUp
        /// The server's own, and this line when the gate is open, with which the connection ends.
        case replyAndLater(String, Gate)
    }

    package struct State: Sendable {
        package var commands: [String] = []
        package var stored: [Data] = []
        fileprivate var connectionCount = 0
    }

    package var port: Int { sockets.port }
    private let sockets: ServerSockets
    private let content: Data
    private let passiveAddress: String
    private let opening: String
    private let state = Watched(State())
    private let script: @Sendable (String) -> Answer?

    /// `script` is asked about each command, and about "226" before the reply that follows the data. `passiveAddress` is what it says in
    /// answer to PASV, where it listens on 127.0.0.1 all the same. `opening` is what it says before data.
    package init(
        _ content: Data,
        port: Int = 0,
        passiveAddress: String = "127,0,0,1",
        opening: String = "150 Here it comes",
        script: @escaping @Sendable (String) -> Answer? = { _ in nil }
    ) throws {
        sockets = try ServerSockets(port: port, backlog: 64, for: "FTP")
        self.content = content
        self.passiveAddress = passiveAddress
        self.opening = opening
        self.script = script
        sockets.acceptAll { [self] connection in
            state.update { $0.connectionCount += 1 }
            Thread { self.serve(connection) }.start()
        }
    }

    package func url(_ path: String = "/file") -> URL {
        URL(string: "ftp://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// The commands of all connections, in the order they arrived.
    package var commands: [String] { state.value.commands }
    package var stored: [Data] { state.value.stored }
    /// How many have been accepted, those for data left out.
    package var connectionCount: Int { state.value.connectionCount }

    /// Returns when a command that begins like this has arrived.
    package func wait(for command: String) async throws {
        try await state.wait { $0.commands.contains { $0.hasPrefix(command) } }
    }

    package func stop() {
        sockets.stop()
    }

    // MARK: - One connection

    private func serve(_ connection: Int32) {
        var input = Data()
        var data: (descriptor: Int32, port: Int)?
        var offset = 0
        defer { data.map { _ = close($0.descriptor) } }
        guard send("220 Ready", to: connection) else { return }
        while let line = Self.line(from: connection, &input) {
            state.update { $0.commands.append(line) }
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            let reply: String
            switch words.first {
            case "USER": reply = "331 Password"
            case "PASS": reply = "230 Hello"
            case "PWD": reply = "257 \"/\" is here"
            case "MDTM": reply = "213 20200102030405"
            case "SIZE": reply = "213 \(content.count)"
            case "EPSV", "PASV":
                data.map { _ = close($0.descriptor) }
                data = try? ListeningSocket.open(backlog: 64, for: "FTP")
                let port = data?.port ?? 0
                let numbers = "\(passiveAddress),\(port >> 8),\(port & 0xff)"
                reply = words.first == "EPSV" ? "229 Entering (|||\(port)|)" : "227 Entering (\(numbers))"
            case "REST":
                offset = words.count > 1 ? Int(words[1]) ?? 0 : 0
                reply = "350 Go on"
            case "RETR", "STOR":
                guard let listener = data?.descriptor else { return }
                if case .reply(let line) = script(line) {
                    guard send(line, to: connection) else { return }
                    continue
                }
                guard send(opening, to: connection) else { return }
                transfer(isStoring: words.first == "STOR", from: offset, over: listener)
                offset = 0
                guard answer("226", "226 Done", connection) else { return }
                continue
            case "QUIT": reply = "221 Bye"
            default: reply = "200 OK"
            }
            guard answer(line, reply, connection) else { return }
        }
    }

    private func transfer(isStoring: Bool, from offset: Int, over listener: Int32) {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        sockets.keep(descriptor)
        if isStoring {
            var (received, isOver) = (Data(), false)
            var buffer = [UInt8](repeating: 0, count: 65536)
            while !isOver {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count > 0 { received.append(contentsOf: buffer[..<count]) } else { isOver = true }
            }
            state.update { $0.stored.append(received) }
        } else {
            _ = BlockingSocket.send(content.dropFirst(offset), to: descriptor)
        }
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    private func answer(_ command: String, _ reply: String, _ connection: Int32) -> Bool {
        switch script(command) {
        case nil: return send(reply, to: connection)
        case .reply(let line): return send(line, to: connection)
        case .after(let gate):
            gate.waitBlocking()
            return send(reply, to: connection)
        case .hangUp:
            shutdown(connection, Int32(SHUT_RDWR))
            return false
        case .replyAndLater(let line, let gate):
            guard send(reply, to: connection) else { return false }
            gate.waitBlocking()
            _ = send(line, to: connection)
            shutdown(connection, Int32(SHUT_RDWR))
            return false
        }
    }

    private func send(_ line: String, to connection: Int32) -> Bool {
        BlockingSocket.send(Data((line + "\r\n").utf8), to: connection)
    }

    // MARK: - Sockets

    private static func line(from descriptor: Int32, _ input: inout Data) -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: input[..<end], as: UTF8.self).trimmingCharacters(in: .newlines)
                input = input[(end + 1)...]
                return line
            }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            input.append(contentsOf: buffer[..<count])
        }
    }
}
