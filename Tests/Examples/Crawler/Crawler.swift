import CurlNetworking
import Foundation

/// Visits every page that can be reached from some pages without leaving their hosts, each page once.
struct Crawler: Sendable {
    enum Visit: Sendable {
        case page(Page)
        /// Neither an error nor a page: an image, say, or a redirect.
        case other(Int, links: [URL])
        case failed(String)
    }

    /// How many pages are asked for at once. How many of those a host answers at once is for its limit of connections.
    private static let inFlight = 64
    private static let longestPage = 1 << 20

    private let session: URLSession
    private let hosts: Set<String>

    /// - Parameters:
    ///   - connections: How many a host has to bear.
    ///   - slowHosts: How many those have to bear that bear fewer: `"example.com"` or `"example.com:8080"`.
    init(hosts: Set<String>, connections: Int, slowHosts: [String: Int]) throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["User-Agent": "curlnetworking-crawler/1.0", "Accept": "text/html"]
        configuration.httpMaximumConnectionsPerHost = connections
        for (host, connections) in slowHosts {
            configuration.curl.hosts[host].maximumConnections = connections
        }
        try configuration.curl.validate()
        session = URLSession(configuration: configuration, delegate: RedirectsAreLinks(), delegateQueue: nil)
        self.hosts = hosts
    }

    /// Returns when there is nothing left to visit; throws when the Swift task is cancelled.
    func crawl(from starts: [URL], report: (URL, Visit) -> Void) async throws {
        var seen = Set(starts)
        var waiting = starts
        await withTaskGroup(of: (URL, Visit).self) { group in
            var underWay = 0
            while !Task.isCancelled {
                while underWay < Self.inFlight, let url = waiting.popLast() {
                    group.addTask { (url, await visit(url)) }
                    underWay += 1
                }
                // None waiting and none under way: all are visited.
                guard let (url, visit) = await group.next() else { break }
                underWay -= 1
                report(url, visit)
                for link in visit.links where isOurs(link) && seen.insert(link).inserted { waiting.append(link) }
            }
            group.cancelAll()
        }
        session.invalidateAndCancel()
        try Task.checkCancellation()
    }

    private func isOurs(_ url: URL) -> Bool {
        ["http", "https"].contains(url.scheme) && hosts.contains(url.authority)
    }

    private func visit(_ url: URL) async -> Visit {
        do {
            let (bytes, answer) = try await session.bytes(from: url)
            guard let response = answer as? HTTPURLResponse else { return .failed("no HTTP") }
            if 300..<400 ~= response.statusCode {
                let target = response.value(forHTTPHeaderField: "Location").flatMap { URL(string: $0, relativeTo: url) }
                return .other(response.statusCode, links: [target?.absoluteURL.withoutFragment].compactMap(\.self))
            }
            guard response.statusCode == 200 else { return .failed("status \(response.statusCode)") }
            // Leaving the bytes unread stops the transfer.
            guard response.mimeType == "text/html" else { return .other(200, links: []) }
            var html = Data()
            for try await chunk in bytes.chunks {
                html += chunk
                guard html.count <= Self.longestPage else { return .failed("too long") }
            }
            return .page(Page(html: String(decoding: html, as: UTF8.self), url: url))
        } catch {
            return .failed(error.localizedDescription)
        }
    }
}

extension Crawler.Visit {
    var links: [URL] {
        switch self {
        case .page(let page): page.links
        case .other(_, let links): links
        case .failed: []
        }
    }
}

extension URL {
    /// Host, and port where the URL has one.
    var authority: String { (host ?? "") + (port.map { ":\($0)" } ?? "") }
}

/// Following a redirect would visit a page behind the crawler's back: perhaps a second time, perhaps elsewhere.
private final class RedirectsAreLinks: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        nil
    }
}
