import Foundation

/// Connections that must all fail because nobody trusts the server's certificate.
struct Handshake: Scenario {
    private let arguments: Arguments
    private let session: URLSession

    init(_ arguments: Arguments) {
        self.arguments = arguments
        session = makeSession(connectionsPerHost: arguments.inFlight)
    }

    func warmUp() async throws -> Tally {
        await refusals(2)
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        let results = await refusals(arguments.requests)
        let reading = meter.stop()
        tally.add(results)
        return reading.report(tally)
    }

    private func refusals(_ count: Int) async -> Tally {
        await inLanes(count, lanes: arguments.inFlight) { [session, url = arguments.url] tally in
            do {
                _ = try await session.data(from: url)
                tally.note("an untrusted certificate was accepted")
            } catch {
                // The error's code differs between the contenders; libcurl's text does not.
                tally.note("\(error)".contains("certificate") ? nil : "\(error)")
            }
        }
    }
}
