import Foundation

/// The server of web sockets, for all contenders of a run.
final class SocketServer {
    let port: UInt16
    let program: Program

    init(_ tools: Tools) throws {
        program = try Program(Command([tools.socketServer]))
        guard case .line(let line) = program.readLine(timeout: 10), let port = UInt16(line) else {
            throw Complaint("the web-socket server did not start\n\(program.errorText)")
        }
        self.port = port
    }
}
