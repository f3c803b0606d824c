import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlTransport

@Suite("What tells of changes of the network", .timeLimit(.minutes(1)))
struct NetworkMonitorTests {
    /// A monitor on the loop, and how often it has told.
    ///
    /// `@unchecked Sendable`: `monitor` is touched on the loop alone.
    private final class Rig: @unchecked Sendable {
        let changes = Watched(0)
        private let loop = LoopRig.loop
        private var monitor: NetworkMonitor?

        func open(files: [String]) async {
            await withCheckedContinuation { continuation in
                loop.submit {
                    self.monitor = NetworkMonitor(loop: self.loop, files: files) { [changes = self.changes] in
                        changes.update { $0 += 1 }
                    }
                    continuation.resume()
                }
            }
        }

        func close() async {
            await withCheckedContinuation { continuation in
                loop.submit {
                    self.monitor.take()?.close()
                    continuation.resume()
                }
            }
        }
    }

    private static func watching(_ files: [String], _ body: (Watched<Int>) async throws -> Void) async throws {
        let rig = Rig()
        await rig.open(files: files)
        do {
            try await body(rig.changes)
        } catch {
            await rig.close()
            throw error
        }
        await rig.close()
    }

    @Test("A file that is written, replaced, removed or made anew")
    func files() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("resolv.conf")
        try Data("one".utf8).write(to: file)
        try await Self.watching([file.path]) { changes in
            let steps: [() throws -> Void] = [
                { try Data("two".utf8).write(to: file) },
                { try Data("three".utf8).write(to: file, options: .atomic) },
                { try FileManager.default.removeItem(at: file) },
                { try Data("four".utf8).write(to: file) },
            ]
            for step in steps {
                // A step can bring several events, none of which may count for the next.
                try await changes.standsStill()
                let before = changes.value
                try step()
                try await changes.wait { $0 > before }
            }
        }
    }

    @Test("A file that others link to, as resolvconf and systemd do")
    func links() async throws {
        let directory = try TemporaryDirectory()
        let inner = directory.url.appendingPathComponent("run", isDirectory: true)
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        let target = inner.appendingPathComponent("stub-resolv.conf")
        try Data("one".utf8).write(to: target)
        let link = directory.url.appendingPathComponent("resolv.conf")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
        try await Self.watching([link.path]) { changes in
            try Data("two".utf8).write(to: target, options: .atomic)
            try await changes.wait { $0 > 0 }
        }
    }

    @Test("An address that comes", .enabled(if: LoopbackAlias.isPossible, "Needs the right to add an address"))
    func addresses() async throws {
        try await Self.watching([]) { changes in
            let alias = try #require(LoopbackAlias())
            try await changes.wait { $0 > 0 }
            withExtendedLifetime(alias) {}
        }
    }

    @Test("Files that aren't there do no harm, and 40 monitors each see a change of the same file")
    func robust() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.url.appendingPathComponent("resolv.conf")
        try Data("one".utf8).write(to: file)
        let rigs = (0..<40).map { _ in Rig() }
        for rig in rigs { await rig.open(files: ["/nowhere/at/all", "", "/", file.path]) }
        try Data("two".utf8).write(to: file)
        for rig in rigs { try await rig.changes.wait { $0 > 0 } }
        for rig in rigs { await rig.close() }
    }
}
