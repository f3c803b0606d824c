import CurlNetworkingLoopbackServer
import Foundation

/// What `test-helper faults` talks to, in another process: the system's faults are only meant for the client.
package enum FaultServer {
    package static func start() throws -> LoopbackServer {
        var options = LoopbackServer.Options()
        options.keepsRequests = false
        return try LoopbackServer(options: options, respond)
    }

    private static func respond(to request: LoopbackServer.Request) -> LoopbackServer.Response {
        let name = String(request.path.dropFirst())
        switch name {
        case "echo":
            return .echoBody(request)
        case "cache":
            return .data(body(name)).header("Cache-Control", "max-age=1000")
        case "cookies":
            return .text(request.header("Cookie") ?? "").header("Set-Cookie", "name=value; Max-Age=1000")
        case "resume" where request.header("Range") == nil:
            let body = body(name)
            return .pieces([.bytes(body.prefix(body.count / 2)), .close, .bytes(body.dropFirst(body.count / 2))])
                .headers(["ETag": "\"1\"", "Accept-Ranges": "bytes"])
        case "interrupted-upload", "paused-upload":
            return upload(request, name)
        case "web-socket":
            return .webSocketEcho(request)
        default:
            return .resource(.data(body(name)), for: request, etag: "1")
        }
    }

    /// Loses the connection of a new upload that it lets be resumed, or keeps silent until it is paused. Echoes the rest.
    private static func upload(_ request: LoopbackServer.Request, _ name: String) -> LoopbackServer.Response {
        let offer = LoopbackServer.ResumableUpload.offer(of: "/\(name)", version: 6)
        return switch request.method {
        case "HEAD": .status(204).header("Upload-Offset", "\(uploaded)").header("Upload-Complete", "?0")
        case "PATCH": .echoBody(request).header("Upload-Complete", "?1")
        default: .raw([.bytes(offer), name == "paused-upload" ? .never : .close])
        }
    }

    /// How much the server has of an upload that is resumed, in bytes.
    package static let uploaded = 100_000

    /// Where something is over TLS: nginx forwards the request.
    package static func secureURL(_ name: String, _ port: Int, _ securePort: Int) -> URL {
        URL(string: "https://127.0.0.1:\(securePort)/websocket/\(port)/\(name)") ?? URL(fileURLWithPath: "/")
    }

    /// Where something is, each under its own name, which only `faults.c` knows.
    package static func url(_ name: String, port: Int, scheme: String = "http") -> URL {
        URL(string: "\(scheme)://\(name).faults.test:\(port)/\(name)") ?? URL(fileURLWithPath: "/")
    }

    /// What is at the path of this name, and everything else that is sent. Each is longer than what is read or written at once.
    package static func body(_ name: String) -> Data {
        let seed = name.utf8.reduce(UInt64(0)) { 31 &* $0 &+ UInt64($1) }
        return GeneratedBody.bytes(seed: seed, length: 300_000)
    }
}
