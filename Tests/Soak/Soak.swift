import Foundation
import CurlNetworkingLoopbackServer

/// Reads a large body slowly in processes of their own, one for each kind of slow consumer, and checks that their memory
/// stays flat. `soak --megabytes 10000 --rate 1` takes nearly three hours.
@main
struct Soak {
    static let usage =
        "usage: soak [--megabytes N] [--rate MEGABYTES-PER-SECOND]   (default: 10000 at 1; at least \(minimumMegabytes))"

    /// Memory is compared with what it was after the first 16.
    private static let minimumMegabytes = 32

    static func main() async {
        do {
            var words = CommandLine.arguments.dropFirst()
            if words.first == "read" {
                try await Reader(Array(words.dropFirst())).run()
            } else {
                var (megabytes, rate) = (10_000, 1)
                while let option = words.popFirst() {
                    guard let number = words.popFirst().flatMap({ Int($0) }), number > 0 else { throw Complaint(usage) }
                    switch option {
                    case "--megabytes": megabytes = number
                    case "--rate": rate = number
                    default: throw Complaint(usage)
                    }
                }
                guard megabytes >= minimumMegabytes else { throw Complaint(usage) }
                try run(megabytes: megabytes, rate: rate)
            }
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    /// Serves the body and waits for the readers, which say themselves how they fare.
    private static func run(megabytes: Int, rate: Int) throws {
        let server = try LoopbackServer { _ in .generated(length: Int64(megabytes) * 1_000_000) }
        defer { server.stop() }
        let program = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let readers = try Reader.Kind.allCases.map { kind in
            try Process.run(
                program,
                arguments: ["read", kind.rawValue, server.url("/").absoluteString, "\(megabytes)", "\(rate)"]
            )
        }
        for reader in readers { reader.waitUntilExit() }
        guard readers.allSatisfy({ $0.terminationReason == .exit && $0.terminationStatus == 0 }) else {
            throw Complaint("A reader failed.")
        }
    }
}

/// What is wrong, for the user.
struct Complaint: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
