import Foundation
import Glibc
import CurlNetworkingLoopbackServer

/// Starts a real server, one of Debian's, on loopback ports that were free a moment ago, and waits until it listens.
package enum LoopbackProgram {
    /// The server ends with the test process, however that ends, or with the returned object. Then its directory is removed.
    ///
    /// - Parameters:
    ///   - package: The Debian package that has to be installed.
    ///   - directory: The server's own; nil if it needs none.
    ///   - environment: Added to this process's.
    ///   - command: The program's command line for these ports; the first word is its path. Asked again for other ports if another program
    ///     has taken one of them meanwhile.
    package static func start(
        _ package: String,
        in directory: TemporaryDirectory? = nil,
        ports count: Int = 1,
        environment: [String: String] = [:],
        _ command: ([Int]) throws -> [String]
    ) throws -> (ports: [Int], process: ChildProcess) {
        for _ in 0..<5 {
            let ports = try (0..<count).map { _ in try LoopbackServer.unusedPort() }
            let words = try command(ports)
            guard let path = words.first, FileManager.default.isExecutableFile(atPath: path) else {
                throw ChildProcess.Failure(
                    description: "These tests need \(package): apt-get install \(package), or run make test"
                )
            }
            guard Set(ports).count == count else { continue }
            let watched = ["sh", "-c", script, "sh", directory?.url.path ?? ""] + words
            let process = try ChildProcess(watched, environment: environment, mergesErrors: true)
            if ports.allSatisfy({ waitForListener($0, process) }) { return (ports, process) }
        }
        throw ChildProcess.Failure(description: "\(package) doesn't listen")
    }

    /// Runs the server, and a watchdog that ends it and removes its directory when the tests have ended, in whatever way. The server has
    /// a moment to finish writing; a directory may be one that no one can write to.
    private static let script = """
        directory=$1; shift
        exec 9<&0
        (
            exec >/dev/null 2>&1
            cat <&9 >/dev/null
            kill -TERM $$
            [ -n "$directory" ] || exit
            for _ in 1 2 3 4 5 6 7 8 9 10; do
                kill -0 $$ || break
                sleep 0.1
            done
            kill -KILL $$
            chmod -R u+w "$directory"
            rm -rf "$directory"
        ) &
        exec 9<&- </dev/null
        exec "$@"
        """

    /// True when the port accepts connections, as servers' do some milliseconds after they were started; false if the process has ended, as
    /// it does where the port is another's.
    private static func waitForListener(_ port: Int, _ process: ChildProcess) -> Bool {
        for _ in 0..<1000 where process.isRunning {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            defer { close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            let code = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            if code == 0 { return process.isRunning }
            usleep(10_000)
        }
        return false
    }
}
