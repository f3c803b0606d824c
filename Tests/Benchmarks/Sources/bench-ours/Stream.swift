import CurlNetworking
import Foundation

/// One large response, read through a stream task as bytes of no meaning.
struct Stream: Scenario {
    private let arguments: Arguments
    private let session = makeSession(connectionsPerHost: 1)

    init(_ arguments: Arguments) {
        self.arguments = arguments
    }

    func warmUp() async throws -> Tally {
        var tally = Tally()
        if let url = arguments.warmup { _ = try await read(url, &tally) }
        return tally
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        do {
            let count = try await read(arguments.url, &tally)
            // The head comes before what is expected.
            if count < arguments.expect ?? 0 { tally.note("\(count) bytes instead of \(arguments.expect ?? 0)") }
        } catch {
            tally.note("\(error)")
        }
        return meter.stop().report(tally)
    }

    /// Returns how many bytes have come.
    private func read(_ url: URL, _ tally: inout Tally) async throws -> Int {
        guard let host = url.host, let port = url.port else { throw Complaint("the URL has no port") }
        let task = session.streamTask(withHostName: host, port: port)
        task.resume()
        try await task.write(Data("GET \(url.path) HTTP/1.0\r\n\r\n".utf8), timeout: 0)
        var count = 0
        while true {
            let (data, isAtEnd) = try await task.readData(ofMinLength: 1, maxLength: 64 * 1024, timeout: 0)
            count += data?.count ?? 0
            if isAtEnd { break }
        }
        task.closeWrite()
        return count
    }
}

func makeStream(_ arguments: Arguments) throws -> any Scenario {
    Stream(arguments)
}
