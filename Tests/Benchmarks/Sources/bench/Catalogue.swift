/// Every case, how much work it is, and what ours may cost: the one table to edit.
enum Catalogue {
    private static let all: [Workload] =
        [
            small(
                inFlight: 1,
                requests: .init(4_000, ours: 3_000, stock: 500),
                async: 2.6,
                handler: 2.6,
                delegate: 2.6
            ),
            small(inFlight: 8, requests: .init(6_000, stock: 600)),
            small(inFlight: 64, requests: .init(6_400, stock: 640), async: 1.9, handler: 1.9, delegate: 2.2),
            variant(
                name: "default",
                path: Site.uncachedPath,
                session: .default,
                title: "default configuration",
                // 1.3 times what the bare session may cost.
                limit: 2.5
            ),
            variant(
                name: "cookies",
                path: Site.cookiePath,
                session: .default,
                title: "default configuration, each response sets a cookie",
                remark: "the raw client keeps no cookies"
            ),
            variant(
                name: "cached",
                path: Site.cachedPath,
                session: .default,
                title: "default configuration, answered by the cache",
                remark: "the raw client asks the server each time"
            ),
            variant(name: "redirected", path: Site.redirectedPath, title: "after a redirect"),
            small(inFlight: 512, requests: .init(10_240, ours: 5_120, stock: 1_024)),
            variant(
                name: "executor",
                inFlight: 1,
                requests: .init(4_000),
                path: Site.unlikePath,
                session: .executor,
                title: "tasks on the event loop",
                limit: 2.6,
                contenders: [.raw, .ours]
            ),
            variant(
                name: "executor",
                path: Site.unlikePath,
                session: .executor,
                title: "tasks on the event loop",
                limit: 1.9,
                contenders: [.raw, .ours]
            ),
            Workload(
                name: "get-1m-16",
                scenario: .get,
                address: .plain(Site.medium.path),
                requests: .init(480, stock: 96),
                inFlight: 16,
                expect: Site.medium.bytes,
                rawBuffer: 256 * 1024,
                keepsFreedMemory: true,
                rows: [.init(.async, "1 MiB, 16 in flight, in memory, `data(from:)`", limit: .timesRaw(1.2))]
            ),
            Workload(
                name: "download-1g",
                scenario: .download,
                address: .plain(Site.large.path),
                requests: .init(1),
                rounds: 5,
                expect: Site.large.bytes,
                rawBuffer: 256 * 1024,
                rows: [
                    .init(.async, "1 GiB to a file, `download(from:)`", limit: .timesRaw(1.1)),
                    .init(.delegate, "1 GiB to a file, delegate with progress", limit: .timesRaw(1.1)),
                ]
            ),
            Workload(
                name: "download-1k-16",
                scenario: .files,
                address: .plain(Site.unlikePath),
                requests: .init(3_200, stock: 320),
                inFlight: 16,
                expect: Site.small.bytes,
                rows: [.init(.async, "1 KiB to a file of its own, 16 in flight, `download(from:)`")]
            ),
            Workload(
                name: "stream-1g",
                scenario: .stream,
                address: .plain(Site.large.path),
                requests: .init(1),
                rounds: 5,
                expect: Site.large.bytes,
                contenders: [.raw, .ours],
                remark: "over loopback, who reads sooner does more of the kernel's work, and the server so much less",
                rows: [
                    .init(.async, "1 GiB read by a stream task", name: "program", limit: .timesRaw(1.2)),
                    // A fifth of what the raw client takes, which is a third of both sides.
                    .init(
                        .async,
                        "1 GiB read by a stream task, with the server",
                        name: "both",
                        measure: .cpuOfBothSides,
                        limit: .timesRaw(1.07)
                    ),
                ]
            ),
            Workload(
                name: "upload-1g",
                scenario: .upload,
                address: .plain(Site.uploadPath),
                requests: .init(1),
                rounds: 5,
                rawBuffer: 256 * 1024,
                rows: [.init(.async, "1 GiB from a file, `upload(for:fromFile:)`")]
            ),
            Workload(
                name: "h2-1k-64",
                scenario: .get,
                address: .trusted(Site.small.path),
                requests: .init(6_400, stock: 640),
                inFlight: 64,
                expect: Site.small.bytes,
                rows: [.init(.async, "1 KiB over HTTP/2 and TLS, 64 in flight, `data(from:)`")]
            ),
            Workload(
                name: "slow-5000",
                scenario: .slow,
                address: .plain(Site.slowPath),
                requests: .init(5_000, stock: 500),
                rounds: 3,
                remark: "the stock module gets 500 at once; with 2,000 it needs more than a minute to reach them all",
                rows: [
                    .init(
                        .delegate,
                        "5,000 slow transfers at once, memory",
                        name: "memory",
                        measure: .memoryPerTransfer,
                        limit: .timesRaw(1.5)
                    ),
                    .init(.delegate, "5,000 slow transfers at once, to their first bytes", name: "cpu"),
                ]
            ),
            crowded(
                name: "get-1k-1-beside-1g",
                beside: (Site.large.path, 1),
                title: "1 KiB, 1 in flight, beside a body of 1 GiB"
            ),
            crowded(
                name: "get-1k-1-beside-5000",
                beside: (Site.slowPath, 5_000),
                title: "1 KiB, 1 in flight, beside 5,000 slow transfers"
            ),
            h2(beside: nil, title: "1 KiB over HTTP/2 and TLS, 100 in flight"),
            h2(
                beside: (Site.large.path, 1),
                title: "1 KiB over HTTP/2 and TLS, 100 in flight, beside a body of 1 GiB"
            ),
            Workload(
                name: "handshake",
                scenario: .get,
                address: .closing(Site.small.path),
                requests: .init(200),
                inFlight: 4,
                expect: Site.small.bytes,
                rows: [.init(.async, "1 KiB over TLS, each over a connection of its own, 4 in flight")]
            ),
            Workload(
                name: "handshake-fails",
                scenario: .handshake,
                address: .untrusted(Site.small.path),
                requests: .init(100, stock: 10),
                rows: [.init(.async, "TLS handshake with an untrusted certificate")]
            ),
        ] + [
            idle(name: "idle-waiting", title: "1,000 tasks waiting for an answer", suspends: false),
            idle(name: "idle-suspended", title: "1,000 suspended tasks", suspends: true),
        ] + sockets + background

    private static func echo(
        inFlight: Int,
        bytes: Int,
        _ title: String,
        requests: Workload.Requests,
        limit: Double? = nil
    ) -> Workload {
        Workload(
            name: "socket-\(bytes)-\(inFlight)",
            scenario: .echo,
            address: .sockets(),
            requests: requests,
            inFlight: inFlight,
            messageSize: bytes,
            contenders: [.raw, .ours],
            rows: [.init(.async, title, limit: limit.map { .timesRaw($0) })]
        )
    }

    /// Small requests, one after the other, while others keep the loop busy.
    private static func crowded(name: String, beside: (String, Int), title: String) -> Workload {
        Workload(
            name: name,
            scenario: .get,
            address: .plain(Site.unlikePath),
            requests: .init(1_000),
            rounds: 5,
            expect: Site.small.bytes,
            beside: beside,
            contenders: [.raw, .ours],
            rows: [.init(.async, title, name: "latency", measure: .latency, limit: .timesRaw(1.5))]
        )
    }

    /// Small requests over one connection, alone or beside a large body.
    private static func h2(beside: (String, Int)?, title: String) -> Workload {
        Workload(
            name: beside == nil ? "h2-1k-100" : "h2-1k-100-beside-1g",
            scenario: .get,
            address: .trusted(Site.unlikePath),
            requests: .init(2_000),
            rounds: 5,
            inFlight: 100,
            expect: Site.small.bytes,
            rawBuffer: 256 * 1024,
            beside: beside,
            contenders: [.raw, .ours],
            rows: [
                .init(.async, title, name: "latency", measure: .latency, limit: beside.map { _ in .timesRaw(1.5) })
            ]
        )
    }

    private static func flow(_ scenario: Workload.Scenario, _ path: String, _ title: String) -> Workload {
        Workload(
            name: "socket-\(scenario.rawValue)",
            scenario: scenario,
            address: .sockets(path),
            requests: .init(5_000),
            messageSize: 65_536,
            contenders: [.raw, .ours],
            rows: [.init(.async, title, limit: .timesRaw(1.3))]
        )
    }

    /// A small message's way to the server and back takes longer than compressing it, so its ratio says little about the compression.
    private static func deflate(bytes: Int, requests: Int, _ title: String, limit: Double? = nil) -> Workload {
        Workload(
            name: "socket-deflate-\(bytes)",
            scenario: .deflate,
            address: .sockets(),
            requests: .init(requests),
            messageSize: bytes,
            contenders: [.raw, .ours],
            remark: "raw is zlib alone: the same text compressed and inflated, without a network",
            rows: [.init(.async, title, limit: limit.map { .timesRaw($0) })]
        )
    }

    private static let sockets: [Workload] = [
        echo(inFlight: 1, bytes: 125, "echo of 125 bytes, 1 web socket", requests: .init(10_000), limit: 3),
        echo(inFlight: 64, bytes: 125, "echo of 125 bytes, 64 web sockets", requests: .init(20_000), limit: 2),
        echo(inFlight: 1, bytes: 65_536, "echo of 64 KiB, 1 web socket", requests: .init(3_000)),
        echo(inFlight: 16, bytes: 65_536, "echo of 64 KiB, 16 web sockets", requests: .init(3_000), limit: 1.3),
        flow(.send, "/sink", "64 KiB sent, one message after the other"),
        flow(.receive, "/source", "64 KiB received, one message after the other"),
        deflate(bytes: 4096, requests: 1_000, "echo of 4 KiB, compressed, 1 web socket"),
        deflate(bytes: 65_536, requests: 100, "echo of 64 KiB, compressed, 1 web socket", limit: 1.5),
        Workload(
            name: "sockets-1000",
            scenario: .sockets,
            address: .sockets(),
            requests: .init(1_000),
            rounds: 3,
            contenders: [.raw, .ours],
            rows: [
                .init(
                    .async,
                    "1,000 open web sockets, memory",
                    name: "memory",
                    measure: .memoryPerTransfer,
                    limit: .timesRaw(2)
                )
            ]
        ),
        Workload(
            name: "sockets-idle",
            scenario: .silence,
            address: .sockets(),
            requests: .init(1_000),
            rounds: 3,
            seconds: 2,
            contenders: [.raw, .ours],
            rows: [
                .init(
                    .async,
                    "1,000 open web sockets, nothing happens",
                    name: "cpu",
                    measure: .cpuPerSecond,
                    limit: .absolute(500)
                )
            ]
        ),
    ]

    private static let background: [Workload] = [
        Workload(
            name: "background-1g",
            scenario: .background,
            address: .plain(Site.large.path),
            requests: .init(1),
            rounds: 5,
            expect: Site.large.bytes,
            rawBuffer: 256 * 1024,
            contenders: [.raw, .ours],
            share: .agent,
            rows: [
                .init(.delegate, "1 GiB in a background session, its agent", name: "agent", limit: .timesRaw(1.1))
            ]
        ),
        Workload(
            name: "background-1g",
            scenario: .background,
            address: .plain(Site.large.path),
            requests: .init(1),
            rounds: 5,
            expect: Site.large.bytes,
            contenders: [.ours],
            share: .program,
            rows: [
                .init(
                    .delegate,
                    "1 GiB in a background session, the program meanwhile",
                    name: "program",
                    measure: .cpuPerSecond,
                    // One in a hundred.
                    limit: .absolute(10_000)
                )
            ]
        ),
        Workload(
            name: "background-1k",
            scenario: .background,
            address: .plain(Site.unlikePath),
            requests: .init(1_000),
            expect: Site.small.bytes,
            contenders: [.ours],
            rows: [
                .init(
                    .delegate,
                    "1 KiB in a background session, 1,000 at once, program and agent",
                    name: "both",
                    limit: .absolute(1_000)
                )
            ]
        ),
    ]

    /// The factors are what each style may cost beside the raw client; nil where only the table shows it.
    private static func small(
        inFlight: Int,
        requests: Workload.Requests,
        async: Double? = nil,
        handler: Double? = nil,
        delegate: Double? = nil
    ) -> Workload {
        Workload(
            name: "get-1k-\(inFlight)",
            scenario: .get,
            address: .plain(Site.unlikePath),
            requests: requests,
            inFlight: inFlight,
            expect: Site.small.bytes,
            rows: [
                .init(.async, "1 KiB, \(inFlight) in flight, `data(from:)`", limit: async.map(Limit.timesRaw)),
                .init(
                    .handler,
                    "1 KiB, \(inFlight) in flight, completion handlers",
                    limit: handler.map(Limit.timesRaw)
                ),
                .init(
                    .delegate,
                    "1 KiB, \(inFlight) in flight, delegate on a delegate queue",
                    limit: delegate.map(Limit.timesRaw)
                ),
            ]
        )
    }

    /// One of the small cases with something else about it, as `data(from:)` alone.
    private static func variant(
        name: String,
        inFlight: Int = 64,
        requests: Workload.Requests = .init(6_400, stock: 640),
        path: String,
        session: Workload.Session = .bare,
        title: String,
        limit: Double? = nil,
        contenders: [Contender] = Contender.allCases,
        remark: String? = nil
    ) -> Workload {
        Workload(
            name: "get-1k-\(inFlight)-\(name)",
            scenario: .get,
            address: .plain(path),
            requests: requests,
            inFlight: inFlight,
            session: session,
            expect: Site.small.bytes,
            contenders: contenders,
            remark: remark,
            rows: [
                .init(.async, "1 KiB, \(inFlight) in flight, `data(from:)`, \(title)", limit: limit.map(Limit.timesRaw))
            ]
        )
    }

    private static func idle(name: String, title: String, suspends: Bool) -> Workload {
        Workload(
            name: name,
            scenario: .idle,
            address: .silent,
            requests: .init(1_000, stock: 200),
            rounds: 3,
            seconds: 2,
            suspends: suspends,
            remark: "the stock module gets 200; it often needs more than a minute to start 1,000",
            // The child itself wakes once to read the clock.
            rows: [.init(.handler, title, name: "cpu", measure: .cpuPerSecond, limit: .absolute(500))]
        )
    }

    /// The workloads with those rows whose name contains one of the words; all of them without words.
    static func workloads(matching words: [String]) throws -> [Workload] {
        let chosen = all.compactMap { workload -> Workload? in
            var chosen = workload
            chosen.rows = workload.rows.filter { row in
                words.isEmpty || words.contains { workload.id(of: row).contains($0) }
            }
            return chosen.rows.isEmpty ? nil : chosen
        }
        guard !chosen.isEmpty else { throw Complaint("no case matches \(words.joined(separator: ", "))") }
        return chosen
    }
}
