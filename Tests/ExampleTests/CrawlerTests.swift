import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import curlnetworking_crawler

@Suite("The example of a crawler", .timeLimit(.minutes(1)))
struct CrawlerTests {
    private static let count = 500

    /// A site of so many pages, each of which leads to some others, to itself, to things that are no pages, and elsewhere.
    private static func page(_ number: Int, elsewhere: URL) -> LoopbackServer.Response {
        let next = [2 * number + 1, 2 * number + 2].filter { $0 < count }
            .map { "<p><A class=x HREF='/page/\($0)'>\($0)</a>" }
        let html = """
            <!DOCTYPE html><html><head><!-- <title>Not this</title> -->
            <title>Page &#35;\(number) &amp;
                more</title></head><body>
            \(next.joined())<a href="#top">Top</a><a href="\(number)">Itself</a> <a href=/moved/\(number)>Moved</a>
            <a href="/image">Image</a> <a href="/missing">Missing</a> <a href="\(elsewhere.absoluteString)/page/0">Away</a>
            <script>document.write('<a href="/trap">')</script> <a href="mailto:me@example.com">Me</a>
            """
        return .text(html, contentType: "text/html; charset=utf-8")
    }

    private static func site(elsewhere: URL) throws -> LoopbackServer {
        try LoopbackServer { request in
            let parts = request.path.split(separator: "/")
            switch (parts.first, parts.last.flatMap { Int($0) }) {
            case ("page", let number?): return page(number, elsewhere: elsewhere)
            case ("moved", let number?): return .redirect(to: "/page/\(number)")
            case ("image", _): return .body(.generated(length: 100_000_000), contentType: "image/png")
            default: return .status(404)
            }
        }
    }

    @Test("The crawler visits each of 500 pages once, stays on its hosts, and ends")
    func crawl() async throws {
        let elsewhere = try LoopbackServer { _ in .status(500) }
        defer { elsewhere.stop() }
        let server = try Self.site(elsewhere: elsewhere.url)
        defer { server.stop() }
        let crawler = try ExampleProgram.start("crawler", server.url("/page/0").absoluteString)
        let lines = await crawler.remainingLines()
        #expect(await crawler.ending() == .exit(0))
        let pages = (0..<Self.count).map { "\(server.url("/page/\($0)").absoluteString)\tPage #\($0) & more" }
        let failure = "\(server.url("/missing").absoluteString)\tfailed: status 404"
        #expect(lines.last == "\(Self.count) pages, 1 failure")
        #expect(lines.dropLast().sorted() == (pages + [failure]).sorted())
        let targets = server.requests.map(\.target)
        #expect(targets.count == Set(targets).count)
        #expect(targets.count { $0.hasPrefix("/moved/") } == Self.count)
        #expect(!targets.contains("/trap"))
        #expect(elsewhere.requestCount == 0)
    }

    @Test("A title can't control the terminal")
    func titleWithControls() async throws {
        let server = try LoopbackServer { _ in .text("<title>A\u{1B}[2J\u{9B}B</title>", contentType: "text/html") }
        defer { server.stop() }
        let crawler = try ExampleProgram.start("crawler", server.url("/").absoluteString)
        #expect(await crawler.line() == "\(server.url("/").absoluteString)\tA?[2J?B")
        #expect(await crawler.ending() == .exit(0))
    }

    @Test("The crawler doesn't claim success if no page could be loaded")
    func nothing() async throws {
        let server = try LoopbackServer { _ in .status(500) }
        defer { server.stop() }
        let crawler = try ExampleProgram.start("crawler", server.url("/").absoluteString)
        #expect(await crawler.remainingLines().last == "0 pages, 1 failure")
        #expect(await crawler.ending() == .exit(1))
    }

    @Test("The crawler ends when its output can't be written")
    func unwritableOutput() async throws {
        let server = try LoopbackServer { _ in .text("<title>A</title>", contentType: "text/html") }
        defer { server.stop() }
        let program = try Products.program("curlnetworking-crawler")
        let crawler = try ChildProcess([
            "/bin/sh", "-c", "exec \"$0\" \"$1\" >/dev/full", program, server.url.absoluteString,
        ])
        #expect(await crawler.ending() == .exit(1))
    }

    @Test("The crawler opens no more connections to a host than it bears")
    func connections() async throws {
        let gate = Gate()
        let links = (1...20).map { "<a href='/\($0)'>" }.joined()
        let servers = try (0..<2).map { _ in
            try LoopbackServer { .text($0.path == "/" ? links : "", contentType: "text/html").after([.waitFor(gate)]) }
        }
        defer { for server in servers { server.stop() } }
        let slow = "127.0.0.1:\(servers[1].port)=1"
        let starts = servers.map { $0.url("/").absoluteString }
        let crawler = try ExampleProgram.start("crawler", "--connections", "3", "--slow", slow, starts[0], starts[1])
        for server in servers { _ = try await server.requestHead(number: 1) }
        gate.open()
        #expect(await crawler.remainingLines().last == "42 pages, 0 failures")
        #expect(servers.map(\.requestCount) == [21, 21])
        #expect(servers[0].connectionCount <= 3)
        #expect(servers[1].connectionCount == 1)
    }

    @Test("The crawler finds titles and links in sloppy HTML")
    func pages() throws {
        let url = try #require(URL(string: "https://example.com/a/b"))
        func page(_ html: String) -> Page { Page(html: html, url: url) }
        #expect(page("<title>\n A &lt;b&gt;\n  c&#x21; &nope; </title>").title == "A <b> c! &nope;")
        #expect(page("<TITLE lang=en>Loud</TITLE>").title == "Loud")
        #expect(page("<!-- <title>no</title> <p>").title == nil)
        #expect(page("<title>open").title == "open")
        let links = page(
            """
            <a href=c>1</a><a title="x" href='/d#e'>2</a><A HREF = "//other.example/?q=1&amp;r=2">3</A><area href=no>
            <a name=x>4</a> <a href="">5</a>
            """
        ).links.map(\.absoluteString)
        let expected = ["https://example.com/a/c", "https://example.com/d", "https://other.example/?q=1&r=2"]
        #expect(links.filter { $0 != url.absoluteString } == expected)
    }

    @Test("A hostile page can't keep the crawler busy for long")
    func hostilePages() throws {
        let url = try #require(URL(string: "https://example.com/"))
        let pieces = [
            "<!--", "<script", "<title", "<title>", "</title", "<a ", "<a href", "<a href=\"", "<a href='", "&#",
            " href",
        ]
        for piece in pieces {
            let page = Page(html: String(repeating: piece, count: 20_000), url: url)
            #expect(page.links.count <= 20_000)
        }
    }

    @Test("The crawler ends with Ctrl-C")
    func interruption() async throws {
        let server = try LoopbackServer { _ in .never }
        defer { server.stop() }
        let crawler = try ExampleProgram.start("crawler", server.url.absoluteString, mergesErrors: true)
        _ = try await server.requestHead(number: 1)
        crawler.kill(SIGINT)
        #expect(await crawler.remainingLines().last == "interrupted")
        #expect(await crawler.ending() == .exit(130))
    }
}
