import CurlNetworking
import Foundation

/// A real SOCKS proxy for the tests: Debian's dante, for everyone, in versions 4 and 5. It ends with the test process, however
/// that ends.
package final class Dante: Sendable {
    /// The one that all tests share. Throws if dante is missing or doesn't start.
    package static func shared() throws -> Dante { try sharedResult.get() }

    private static let sharedResult = Result { try Dante() }

    package let port: Int
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    private init() throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("danted.conf")
        let (ports, process) = try LoopbackProgram.start("dante-server", in: directory) { ports in
            try """
            logoutput: stderr
            internal: 127.0.0.1 port = \(ports[0])
            external: lo
            clientmethod: none
            socksmethod: none
            client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
            socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 protocol: tcp }

            """.write(to: file, atomically: true, encoding: .utf8)
            return ["/usr/sbin/danted", "-f", file.path, "-p", directory.url.path + "/danted.pid"]
        }
        (port, self.directory, self.process) = (ports[0], directory, process)
    }

    package func server(_ scheme: CurlOptions.ProxyServer.Scheme) -> CurlOptions.ProxyServer {
        CurlOptions.ProxyServer(scheme, host: "127.0.0.1", port: port)
    }
}

/// A real SOCKS 5 proxy that wants a name and a password ("user" and "secret"): Debian's microsocks. It ends with the test process,
/// however that ends.
package final class Microsocks: Sendable {
    /// The one that all tests share. Throws if microsocks is missing or doesn't start.
    package static func shared() throws -> Microsocks { try sharedResult.get() }

    private static let sharedResult = Result { try Microsocks() }

    package let port: Int
    private let process: ChildProcess

    private init() throws {
        let (ports, process) = try LoopbackProgram.start("microsocks") { ports in
            ["/usr/bin/microsocks", "-i", "127.0.0.1", "-p", "\(ports[0])", "-u", "user", "-P", "secret"]
        }
        (port, self.process) = (ports[0], process)
    }

    package func server(user: String? = "user", password: String? = "secret") -> CurlOptions.ProxyServer {
        var server = CurlOptions.ProxyServer(.socks5h, host: "127.0.0.1", port: port)
        (server.user, server.password) = (user, password)
        return server
    }
}
