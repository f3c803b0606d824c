import Foundation

/// Web-socket servers that others have written, from Debian's packages. Each ends with the test process, however that ends.
package final class PythonWebSocketServer: Sendable {
    package enum Library: String, CaseIterable, Sendable {
        case websockets, aiohttp
    }

    package let port: Int
    private let process: ChildProcess

    /// Sends back what it gets. To "close CODE REASON" it answers by closing, and to "flood COUNT SIZE" with so many messages of that size.
    package init(_ library: Library, isCompressed: Bool) throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Python/\(library.rawValue)_server.py")
        let (ports, process) = try LoopbackProgram.start("python3-\(library.rawValue)") { ports in
            ["/usr/bin/python3", script.path, "\(ports[0])", isCompressed ? "1" : "0"]
        }
        (port, self.process) = (ports[0], process)
    }
}
