import Foundation
import CurlNetworkingLoopbackServer

/// The embedded catalogue as a server: the iTunes Search API's `/search`, the previews, their checksums, and uploaded recordings.
final class CatalogueServer: Sendable {
    /// The port it listens on if it can, so that downloads paused in one run are found at the same address in the next.
    static let usualPort = 41_927
    /// In bytes per second, for each download: slow enough to watch.
    static let usualRate = 1_000_000

    /// Holds back the responses to one search term until the gate opens.
    struct Delay: Sendable {
        let term: String
        let gate: Gate
    }

    /// The server itself, and its records.
    let loopback: LoopbackServer

    /// - Throws: `SocketError` if it can't listen on `port`; 0 picks any free port.
    init(port: Int = 0, rate: Int = usualRate, delay: Delay? = nil, recordings: Recordings = Recordings()) throws {
        let routes = CatalogueRoutes(catalogue: .embedded, rate: rate, delay: delay, recordings: recordings)
        loopback = try LoopbackServer(port: port, answering: .atHead) { routes.response(to: $0) }
    }

    /// Listens on the first free port of `ports`, or else on any.
    static func start(preferring ports: [Int], rate: Int = usualRate) throws -> CatalogueServer {
        for port in ports {
            if let server = try? CatalogueServer(port: port, rate: rate) { return server }
        }
        return try CatalogueServer(rate: rate)
    }

    var url: URL { loopback.url }

    func stop() {
        loopback.stop()
    }
}

struct CatalogueRoutes: Sendable {
    let catalogue: Catalogue
    /// In bytes per second.
    let rate: Int
    let delay: CatalogueServer.Delay?
    let recordings: Recordings

    func response(to request: LoopbackServer.Request) -> LoopbackServer.Response {
        let server = "http://" + Self.authority(of: request)
        if let response = recordings.response(to: request, at: server) { return response }
        guard ["GET", "HEAD"].contains(request.method) else {
            return .text("Only GET and HEAD.\n", status: 405).header("Allow", "GET, HEAD")
        }
        switch request.path {
        case "/": return .text("The catalogue of Half Tunes: /search?term=bach, /previews/1001.wav, /checksums\n")
        case "/search": return search(request, at: server)
        case "/checksums": return .text(catalogue.checksums)
        default: return preview(request)
        }
    }

    private func search(_ request: LoopbackServer.Request, at server: String) -> LoopbackServer.Response {
        let term = request.parameter("term") ?? ""
        let limit = min(200, max(1, request.parameter("limit").flatMap { Int($0) } ?? 50))
        // This catalogue has only music, and only songs.
        let isForSongs =
            ["music", "all", nil].contains(request.parameter("media"))
            && ["song", "musicTrack", nil].contains(request.parameter("entity"))
        let songs = isForSongs ? catalogue.songs(matching: term).prefix(limit) : []
        let response = LoopbackServer.Response.json(SearchResult(songs.map { Track($0, at: server) }))
        guard let delay, delay.term == term else { return response }
        return response.after([.waitFor(delay.gate)])
    }

    /// The server's own address as the client wrote it, for URLs in responses.
    private static func authority(of request: LoopbackServer.Request) -> String {
        guard let host = request.header("Host"), !host.isEmpty,
            host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".-:[]".contains($0)) })
        else { return "127.0.0.1" }
        return host
    }

    private func preview(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1] == "previews", parts[2].hasSuffix(".wav"),
            let song = Int(parts[2].dropLast(4)).flatMap(catalogue.song), song.path == request.path,
            let preview = song.preview()
        else { return .text("There is nothing here.\n", status: 404) }
        let body = LoopbackServer.Body.produced(length: preview.length) { preview.bytes(in: $0) }
        return .resource(body, for: request, etag: String(song.sha256.prefix(16)), contentType: "audio/wav")
            .throttled(bytesPerSecond: rate)
    }
}
