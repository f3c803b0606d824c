import Foundation

/// The three clients, which the build leaves beside the driver, and what the raw one says about libcurl.
struct Tools {
    private let directory: URL
    /// For example "libcurl/7.88.1 OpenSSL/3.0.22 …".
    let libcurl: String
    /// libcurl's default CA bundle; nil when it has none.
    let caBundle: String?

    init() throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        directory = URL(fileURLWithPath: own).deletingLastPathComponent()
        let raw = directory.appendingPathComponent("bench-raw").path
        let version = try Command([raw, "--version"]).run()
        let lines = version.output.split(separator: "\n").map(String.init)
        guard version.status == 0, let first = lines.first else { throw Complaint("\(raw) does not run") }
        libcurl = first
        caBundle = lines.dropFirst().first
    }

    var socketServer: String {
        directory.appendingPathComponent("bench-socket-server").path
    }

    func client(_ contender: Contender) -> String {
        directory.appendingPathComponent("bench-\(contender.rawValue)").path
    }
}
