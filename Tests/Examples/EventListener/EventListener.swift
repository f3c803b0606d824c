import CurlNetworking
import CurlNetworkingExampleSupport
import Foundation

/// Prints a server's events as they come, and comes back to where it was when the connection is lost.
@main
struct EventListener {
    static let usage = "usage: curlnetworking-event-listener URL [LAST-EVENT-ID]"

    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        guard 1...2 ~= words.count, let url = URL(string: words[1]), url.host != nil else { fail(usage, code: 64) }
        let lastEventID = words.count == 2 ? words[2] : ""
        do {
            try await untilInterrupted { try await listen(to: url, after: lastEventID) }
        } catch is CancellationError {
            fail("interrupted", code: 130)
        } catch {
            fail("\(error)")
        }
    }

    /// Returns when the server says that there will be no more events.
    static func listen(to url: URL, after lastEventID: String) async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        // A server that has nothing to tell sends a comment now and then; silence means that the connection is dead.
        configuration.timeoutIntervalForRequest = 60
        configuration.timeoutIntervalForResource = .infinity
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        var parser = EventParser(lastEventID: lastEventID)
        var failures = 0
        while true {
            do {
                let isOver = try await connect(to: url, session, &parser) { event in
                    failures = 0
                    say("\(event.type) \(event.id) \(event.data.debugDescription)")
                }
                if isOver { return }
            } catch let error as URLError where error.code != .cancelled {
                note("connection lost: \(error.localizedDescription)")
            }
            parser.connectionEnded()
            failures += 1
            // The server's wish, and twice as long with each connection that brought nothing.
            let pause = (parser.retry ?? .seconds(3)) * (1 << min(failures - 1, 6))
            try await Task.sleep(for: min(pause, .seconds(120)))
        }
    }

    /// Returns when the connection ends, and whether that is the end of it all.
    static func connect(
        to url: URL,
        _ session: URLSession,
        _ parser: inout EventParser,
        report: (ServerEvent) -> Void
    ) async throws -> Bool {
        var request = URLRequest(url: url)
        request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
        if !parser.lastEventID.isEmpty {
            request.setValue(parser.lastEventID, forHTTPHeaderField: "Last-Event-ID")
        }
        let (bytes, answer) = try await session.bytes(for: request)
        let response = answer as? HTTPURLResponse
        switch response?.statusCode {
        case 200 where response?.mimeType == "text/event-stream": break
        case 204: return true
        case .some(500...): throw URLError(.badServerResponse)
        default: throw Refusal(description: "no events at \(url.absoluteString): \(response?.statusCode ?? 0)")
        }
        for try await line in EventLines(bytes: bytes) {
            if let event = parser.take(line) { report(event) }
        }
        return false
    }
}
