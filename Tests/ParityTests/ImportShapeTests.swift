import BesideReexport5
import BesideReexport6
import BesideStock5
import BesideStock6
import Foundation
import CurlNetworkingLoopbackServer
import OnlyOurs5
import OnlyOurs6
import PublicAPI5
import PublicAPI6
import StockApp5
import StockApp6
import TestSupport
import Testing

/// That the shapes compile is half of the test; the other half is that they work.
@Suite("Ways of importing, in Swift 5 and in Swift 6", .timeLimit(.minutes(1)))
struct ImportShapeTests {
    private static func server() throws -> LoopbackServer {
        try LoopbackServer { request in
            .text(request.header("X-Mode") ?? "none")
                .header("Set-Cookie", "from=server; Max-Age=600").header("Cache-Control", "no-store")
        }
    }

    @Test("A program can import this module alone")
    func onlyOurs() async throws {
        let server = try Self.server()
        defer { server.stop() }
        #expect(try await OnlyOurs5.OnlyOurs.load(server.url("/")) == "Swift 5")
        #expect(try await OnlyOurs6.OnlyOurs.load(server.url("/")) == "Swift 6")
    }

    @Test("Sessions and tasks of the program's own may have members by the names of those that the stock module lacks")
    func ownMethods() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        #expect(try await OnlyOurs5.OnlyOurs.loadFromSilentSession(url) == 0)
        #expect(try await OnlyOurs6.OnlyOurs.loadFromSilentSession(url) == 0)
    }

    @Test("A protocol of the program's own fits the session, and its methods are values")
    func loading() async throws {
        let server = try Self.server()
        defer { server.stop() }
        for (mode, answers) in [
            ("Swift 5", try await OnlyOurs5.OnlyOurs.loadInEachWay(server.url("/"))),
            ("Swift 6", try await OnlyOurs6.OnlyOurs.loadInEachWay(server.url("/"))),
        ] {
            #expect(answers == Array(repeating: mode, count: 4))
        }
    }

    @Test("A program can import this module beside a library that exports the stock one, with the aliases")
    func besideReexport() async throws {
        let server = try Self.server()
        defer { server.stop() }
        #expect(try await BesideReexport5.BesideReexport.load(server.url("/")))
        #expect(try await BesideReexport6.BesideReexport.load(server.url("/")))
    }

    @Test("A program can import this module beside the stock one, with the aliases")
    func besideStock() async throws {
        let server = try Self.server()
        defer { server.stop() }
        #expect(try await BesideStock5.BesideStock.load(server.url("/")) == [200, 200])
        #expect(try await BesideStock6.BesideStock.load(server.url("/")) == [200, 200])
    }

    @Test("A library's public API can use this module beside a library that exports the stock one")
    func publicAPI() async throws {
        let server = try Self.server()
        defer { server.stop() }
        #expect(try await PublicAPI5.PublicAPI().status(of: server.url("/")) == 200)
        #expect(try await PublicAPI6.PublicAPI().status(of: server.url("/")) == 200)
    }

    @Test(
        "An app with the stock module can use a library with this one, and they share requests, responses and cookies"
    )
    func stockApp() async throws {
        let server = try Self.server()
        defer { server.stop() }
        for result in [
            try await StockApp5.StockApp.load(server.url("/")), try await StockApp6.StockApp.load(server.url("/")),
        ] {
            #expect(result.library == 200)
            #expect(result.app == 200)
        }
        // What the library's response left in the storage, the app's request carries.
        #expect(server.requests.map { $0.header("Cookie") } == [nil, "from=server", nil, "from=server"])
    }

    @Test("The aliases are those of the documentation")
    func aliases() throws {
        let lines = try [
            "Sources/CurlNetworking/CurlNetworking.docc/SwitchingTheImport.md",
            "Tests/ImportShapes/BesideReexport/Shared/Aliases.swift",
            "Tests/ImportShapes/BesideStock/Shared/Aliases.swift",
        ].map { path in
            try String(contentsOf: Products.sources.appendingPathComponent(path), encoding: .utf8)
                .split(separator: "\n").filter { $0.hasPrefix("typealias ") }
        }
        #expect(!lines[0].isEmpty)
        for others in lines.dropFirst() { #expect(others == lines[0]) }
    }
}
