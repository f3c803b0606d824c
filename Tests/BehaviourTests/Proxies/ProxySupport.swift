import CurlTransport
import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport

/// HTTP proxies that answer everything themselves, and write down what they were asked.
final class ScriptedProxy: Sendable {
    typealias Refusal = @Sendable (LoopbackServer.Request) -> LoopbackServer.Response?

    let server: LoopbackServer
    /// The requests that came through the tunnels, to their heads' end.
    let tunnelled = Watched<[String]>([])

    /// - Parameters:
    ///   - answer: What is said through a tunnel, whole.
    ///   - field: A line that is said when a tunnel is opened; nil for none.
    ///   - refusal: What is said to a request instead of doing it; nil for nothing.
    init(
        throughTunnel answer: String = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nthrough",
        opening field: String? = nil,
        refusal: @escaping Refusal = { _ in nil }
    ) throws {
        server = try LoopbackServer { [tunnelled] request in
            if let response = refusal(request) { return response }
            guard request.method == "CONNECT" else { return .text("openly \(request.target)") }
            let input = Watched("")
            return .raw([
                .bytes("HTTP/1.1 200 Connection established\r\n\(field.map { $0 + "\r\n" } ?? "")\r\n"),
                .converse { event in
                    guard case .received(let data) = event else { return [] }
                    let head = input.update { text -> String? in
                        text += String(decoding: data, as: UTF8.self)
                        guard let end = text.range(of: "\r\n\r\n") else { return nil }
                        defer { text = "" }
                        return String(text[..<end.upperBound])
                    }
                    guard let head else { return [] }
                    tunnelled.update { $0.append(head) }
                    return [.bytes(answer)]
                },
            ])
        }
    }

    /// One that lets in who shows the credentials of `Guard`.
    static func guarded(_ challenge: String = #"Basic realm="gate""#) throws -> ScriptedProxy {
        try ScriptedProxy { request in
            guard request.header("Proxy-Authorization") != Guard.token() else { return nil }
            return .text("closed", status: 407).header("Proxy-Authenticate", challenge)
        }
    }

    func stop() { server.stop() }

    /// What was shown with each request, in order.
    var shown: [String?] { server.requests.map { $0.header("Proxy-Authorization") } }

    /// With everything in tunnels, so that no TLS hides what goes through.
    func settings(tunnel: Bool = false, user: String? = nil, password: String? = nil) -> CurlOptions.ProxyServer {
        var settings = CurlOptions.ProxyServer(host: "127.0.0.1", port: server.port)
        settings.alwaysTunnels = tunnel
        (settings.user, settings.password) = (user, password)
        return settings
    }
}

extension URLSession {
    /// A session for one test that goes through the proxy.
    static func through(
        _ server: CurlOptions.ProxyServer,
        delegate: (any URLSessionDelegate)? = nil,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        forTest(delegate: delegate) {
            $0.curl.proxy = .server(server)
            configure($0)
        }
    }

    /// Loads `url` as text; the result's error is the task's.
    func load(_ url: String) async -> HandlerResult {
        guard let url = URL(string: url) else { return HandlerResult(nil, nil, URLError(.badURL)) }
        return await load(url)
    }
}

extension URLError {
    /// libcurl's `CURLcode`.
    var curlCode: CurlCode? {
        (userInfo[CurlErrorKey.code] as? Int).flatMap(UInt32.init(exactly:)).map(CurlCode.init(rawValue:))
    }
    /// With which a proxy has refused a tunnel.
    var proxyStatus: Int? { userInfo[CurlErrorKey.proxyStatus] as? Int }
}
