import CurlNetworking
import Foundation

/// `openssl s_server` for one connection at a time, which sends exactly the bytes that the test says.
package final class TalkingTLSServer: Sendable {
    package let site: TLSSite
    package let url: URL
    private let process: ChildProcess

    /// - Parameters:
    ///   - options: More arguments for s_server.
    ///   - port: Where it listens; 0 for a free one.
    ///   - folder: Where it runs; nil for this process's.
    package init(_ options: [String] = [], port: Int = 0, in folder: TemporaryDirectory? = nil) async throws {
        site = try TLSNginx.shared().site
        let place = folder.map { ["sh", "-c", #"cd "$0" && exec "$@""#, $0.url.path] } ?? []
        process = try ChildProcess(
            place + ["openssl", "s_server", "-accept", "127.0.0.1:\(port)"]
                + ["-cert", site.certificate(.good).path, "-key", site.key(.good).path] + options
        )
        url = try await process.urlOfOpenSSLServer(at: port)
    }

    /// Returns when the head of a request has arrived.
    package func waitForRequest() async throws {
        var hasBegun = false
        while let line = await process.line() {
            hasBegun = hasBegun || line.hasPrefix("GET ")
            if hasBegun, line.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty { return }
        }
        throw ChildProcess.Failure(description: "openssl s_server has ended")
    }

    /// What the client says, and what s_server says about it; nil at its end.
    package func line() async -> String? { await process.line() }

    /// Returns when the client has closed the connection, with a TLS alert or without.
    package func waitForClosing() async throws {
        while let line = await process.line() {
            if ["DONE", "ERROR"].contains(line) { return }
        }
        throw ChildProcess.Failure(description: "openssl s_server has ended")
    }

    /// Sends this and a line end. It must not begin with a letter that s_server takes for a command.
    package func say(_ text: String) {
        process.say(text)
    }

    /// Asks the client for another handshake, as TLS 1.2 allows.
    package func renegotiate() {
        process.say("r")
    }

    /// Asks the client for a certificate: in another handshake (TLS 1.2), or after the only one (TLS 1.3). Returns when the client has
    /// answered; needs the option `-msg`, with which s_server says so.
    package func askForCertificate(inOldWay: Bool) async throws {
        process.say(inOldWay ? "R" : "c")
        while let line = await process.line() {
            if line.hasPrefix("<<< "), line.hasSuffix(", Certificate") { return }
        }
        throw ChildProcess.Failure(description: "openssl s_server has ended")
    }

    /// Does nothing more, until it is told to.
    package func stall() {
        process.kill(SIGSTOP)
    }

    package func resume() {
        process.kill(SIGCONT)
    }

    package func stop() {
        process.kill()
    }

    /// A session that trusts the server.
    package func session(_ cache: URLCache? = nil, delegate: (any URLSessionDelegate)? = nil) -> URLSession {
        .forTest(delegate: delegate) {
            $0.useOneConnection()
            if let cache { $0.urlCache = cache }
            $0.curl.tls.trustRoots = [.file(site.authority)]
        }
    }
}

extension ChildProcess {
    /// The URL of `openssl s_server`, which this is, once it is listening. It names only a port that it was free to choose.
    func urlOfOpenSSLServer(at port: Int = 0) async throws -> URL {
        while let line = await line() {
            guard line.hasPrefix("ACCEPT") else { continue }
            guard let port = port > 0 ? port : line.split(separator: ":").last.flatMap({ Int($0) }),
                let url = URL(string: "https://127.0.0.1:\(port)/")
            else { continue }
            return url
        }
        throw Failure(description: "openssl s_server didn't start")
    }
}
