import Foundation

/// Where the music comes from: an iTunes Search API, or the embedded catalogue, started for the purpose.
struct MusicSource {
    let search: SearchService
    /// Its name in messages.
    let name: String
    private let server: CatalogueServer?

    /// - Parameters:
    ///   - api: nil for the embedded catalogue.
    ///   - resumable: The addresses of unfinished downloads. If they come from an embedded catalogue of an earlier run, this one tries to
    ///     listen at the same address, so that they can continue.
    init(api: URL?, rate: Int = CatalogueServer.usualRate, resumable: [URL] = []) throws {
        if let api {
            server = nil
            search = SearchService(api: api)
            name = (api.host ?? api.absoluteString).printable
        } else {
            let ports = resumable.compactMap(Self.loopbackPort) + [CatalogueServer.usualPort]
            let server = try CatalogueServer.start(preferring: ports, rate: rate)
            self.server = server
            search = SearchService(api: server.url)
            name = "the embedded catalogue"
        }
    }

    func stop() {
        server?.stop()
    }

    /// The port of an address that an embedded catalogue may have had; nil for all others.
    static func loopbackPort(of url: URL) -> Int? {
        guard url.scheme == "http", url.host == "127.0.0.1", url.path.hasPrefix("/previews/") else { return nil }
        return url.port
    }
}
