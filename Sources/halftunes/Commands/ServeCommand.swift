import Foundation

/// `halftunes serve`
struct ServeCommand {
    let invocation: Invocation

    init(_ invocation: Invocation) {
        self.invocation = invocation
    }

    func run() async throws -> Int32 {
        let server = try CatalogueServer(port: invocation.port, rate: invocation.rate)
        let (events, continuation) = AsyncStream<Int32>.makeStream()
        let signals = Signals(Signals.endings) { continuation.yield($0) }
        Console.write(Self.introduction(url: server.url.absoluteString))
        let signal = await events.first { _ in true }
        withExtendedLifetime(signals) { server.stop() }
        // Ctrl-C is the normal way to end it.
        return signal == SIGINT ? ExitCode.success : ExitCode.signal(signal ?? 0)
    }

    static func introduction(url: String) -> String {
        """
        The catalogue is at \(url) until Ctrl-C. Try, in another terminal:

            curl '\(url)/search?media=music&entity=song&term=bach'
            curl -O '\(url)/previews/1001.wav'
            curl -O -r 1000000- '\(url)/previews/1002.wav'
            curl '\(url)/checksums'
            halftunes search bach --api \(url)
            halftunes get --search bach --api \(url)
            halftunes upload song.wav --api \(url)

        """
    }
}
