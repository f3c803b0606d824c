import Foundation

/// Other projects' web-socket servers, from Debian's packages. Each ends with the test process, however that ends.
package final class PythonWebSocketServer: Sendable {
    package enum Library: String, CaseIterable, Sendable {
        case websockets, aiohttp
    }

    package let port: Int
    private let process: ChildProcess

    /// Sends back what it gets. It answers "close CODE REASON" by closing, and "flood COUNT SIZE" with that many messages of that size.
    package init(_ library: Library, isCompressed: Bool) throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Python/\(library.rawValue)_server.py")
        let (ports, process) = try LoopbackProgram.start("python3-\(library.rawValue)") { ports in
            ["/usr/bin/python3", script.path, "\(ports[0])", isCompressed ? "1" : "0"]
        }
        (port, self.process) = (ports[0], process)
    }
}
