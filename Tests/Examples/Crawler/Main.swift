import CurlNetworking
import CurlNetworkingExampleSupport
import Foundation

@main
struct Main {
    static let usage = "usage: curlnetworking-crawler [--connections N] [--slow HOST[:PORT]=N]... URL..."

    static func main() async {
        var connections = 4
        var slowHosts: [String: Int] = [:]
        var starts: [URL] = []
        var words = CommandLine.arguments.dropFirst()
        while let word = words.popFirst() {
            if word == "--connections", let number = words.popFirst().flatMap(Int.init), number > 0 {
                connections = number
            } else if word == "--slow", let (host, number) = words.popFirst().flatMap(limit) {
                slowHosts[host] = number
            } else if let url = URL(string: word)?.withoutFragment, url.host != nil {
                starts.append(url)
            } else {
                fail(usage, code: 64)
            }
        }
        guard !starts.isEmpty else { fail(usage, code: 64) }
        do {
            let hosts = Set(starts.map(\.authority))
            let crawler = try Crawler(hosts: hosts, connections: connections, slowHosts: slowHosts)
            try await untilInterrupted { [starts] in try await crawl(crawler, from: starts) }
        } catch is CancellationError {
            fail("interrupted", code: 130)
        } catch {
            fail("\(error)")
        }
    }

    /// Says what became of each page, and at last of all.
    static func crawl(_ crawler: Crawler, from starts: [URL]) async throws {
        var pages = 0
        var failures = 0
        try await crawler.crawl(from: starts) { url, visit in
            switch visit {
            case .page(let page):
                pages += 1
                say("\(url.absoluteString)\t\(page.title ?? "(no title)")")
            case .failed(let reason):
                failures += 1
                say("\(url.absoluteString)\tfailed: \(reason)")
            case .other:
                break
            }
        }
        say("\(pages) \(pages == 1 ? "page" : "pages"), \(failures) \(failures == 1 ? "failure" : "failures")")
        if pages == 0 { exit(1) }
    }

    /// `HOST=N` or `HOST:PORT=N`.
    static func limit(_ word: String) -> (String, Int)? {
        let parts = word.split(separator: "=").map(String.init)
        guard parts.count == 2, let number = Int(parts[1]) else { return nil }
        return (parts[0], number)
    }
}
