import CurlNetworking
import Foundation

/// One price.
struct Quote: Codable, Sendable, Equatable {
    let id: Int
    let symbol: String
    let price: Double
}

/// Follows a server's prices over a web socket, and connects again when the connection is lost.
struct Ticker<Time: Clock> where Time.Duration == Duration {
    let url: URL
    let clock: Time

    enum Failure: Error {
        /// The server won't have us, and would not the next time.
        case refused(status: Int)
        /// What comes are no prices.
        case unreadable
    }

    /// Returns when the server says that there are no more.
    /// - Parameters:
    ///   - last: The last price that is known already; 0 for none.
    ///   - generator: Decides how long it waits between two connections.
    ///   - report: Gets each price once, and in order.
    ///   - lost: Gets the reason for a lost connection, and how long it waits for the next.
    func run(
        after last: Int,
        using generator: inout some RandomNumberGenerator,
        report: (Quote) -> Void,
        lost: (URLError, Duration) -> Void
    ) async throws {
        let configuration = URLSessionConfiguration.ephemeral
        // A server may have nothing to tell for hours. One that has vanished is found out all the same.
        configuration.curl.connections.keepAliveProbes = .init(idle: .seconds(30), interval: .seconds(10))
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        var (last, backOff) = (last, BackOff())
        while true {
            do {
                return try await follow(session, after: &last) { quote in
                    backOff.succeeded()
                    report(quote)
                }
            } catch let error as URLError where error.code != .cancelled {
                let delay = backOff.next(using: &generator)
                lost(error, delay)
                try await clock.sleep(for: delay)
            }
        }
    }

    /// Returns when the server has closed the connection in due form.
    private func follow(_ session: URLSession, after last: inout Int, report: (Quote) -> Void) async throws {
        let socket = session.webSocketTask(
            with: url.appending(queryItems: [URLQueryItem(name: "after", value: "\(last)")])
        )
        socket.resume()
        defer { socket.cancel() }
        do {
            for try await message in socket.messages {
                let quote = try read(message)
                // It was sent again because the server didn't know that it had come.
                guard quote.id > last else { continue }
                last = quote.id
                report(quote)
            }
        } catch let error as URLError {
            guard let status = (socket.response as? HTTPURLResponse)?.statusCode, 400..<500 ~= status else {
                throw error
            }
            throw Failure.refused(status: status)
        }
        // A server that restarts closes its connections, too.
        if socket.closeCode == .goingAway {
            throw URLError(.networkConnectionLost, userInfo: [NSLocalizedDescriptionKey: "The server goes away."])
        }
    }

    private func read(_ message: URLSessionWebSocketTask.Message) throws -> Quote {
        guard case .string(let text) = message, let quote = try? JSONDecoder().decode(Quote.self, from: Data(text.utf8))
        else { throw Failure.unreadable }
        return quote
    }
}
