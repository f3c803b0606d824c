import Foundation

/// Small or medium bodies in memory, always the same number in flight, in one of the three styles of calling.
struct Get: Scenario {
    private let arguments: Arguments
    private let load: any Load

    init(_ arguments: Arguments) {
        self.arguments = arguments
        load =
            switch arguments.style {
            case .async: AsyncLoad(arguments)
            case .handler: HandlerLoad(arguments)
            case .delegate: DelegateLoad(arguments)
            }
    }

    func warmUp() async throws -> Tally {
        var tally = Tally()
        if let url = arguments.probe {
            tally.protocolName = String(decoding: try await load.session.data(from: url).0, as: UTF8.self)
        }
        await load.startBeside()
        tally.add(await load.run(2 * arguments.inFlight))
        return tally
    }

    func slice(_ tally: inout Tally) async -> Report {
        let meter = Meter()
        let results = await load.run(arguments.requests)
        let reading = meter.stop()
        tally.add(results)
        return reading.report(tally)
    }
}
