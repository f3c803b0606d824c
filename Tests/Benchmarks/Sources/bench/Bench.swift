// What CurlNetworking adds to libcurl, in CPU, time and memory.
//
//     swift run -c release --package-path Tests/Benchmarks bench
//
// Three contenders do the same work against one nginx on this machine, one after the other, each case in a process of
// its own:
//
// - raw:   libcurl's multi-socket interface on one epoll set, in C. Nothing above it, so it is the floor.
// - ours:  CurlNetworking.
// - stock: FoundationNetworking. The client's source is the very same as for ours; only the imported module differs.
//
// How it measures:
//
// - A child warms its connections up when it starts (two requests per slot) and then works in slices, when the driver
//   asks for one. A slice's CPU is the CPU clock of the child's process (user and system, all threads) around its
//   requests, so start-up and tear-down are outside.
// - The contenders take turns slice by slice, some tenths of a second each, for several rounds. A machine that others
//   use too changes its speed from second to second; so a ratio is the median of the rounds' own ratios, in each of
//   which both ran within a second or two. The other figures are medians over the rounds.
// - CPU per request is the figure to compare. Wall time shares the cores with nginx and everything else that runs.
// - The stock module gets fewer requests where it is slow; all figures are per request. A child that crashes, hangs or
//   gets wrong answers is reported as such, and the rest goes on.
// - The stream's request is written by hand, and what comes is counted and dropped; the raw client has libcurl make the
//   connection (CURLOPT_CONNECT_ONLY), and reads with `curl_easy_recv` until it must wait, with `poll`.
// - Messages over web sockets go to a server in C that sends them back; the raw client writes its frames by hand. Where they
//   are compressed, the raw client is zlib alone, without a network.
// - A background session's agent is the client's own program, started once more; its CPU is read from its clock. Counted is all that
//   is done until the agent has forgotten the downloads and removed their records.
// - Every response's head is different, by a field with a number of its own; a client that kept the last head's parsed
//   form would gain nothing.
// - Caches, cookies and credentials are off in the sessions, but for the cases of the default configuration; the limit of
//   connections per host is the number in flight, so that nobody waits in a queue that the raw client does not have.
// - For the bodies of 1 MiB in memory malloc is told, for all contenders, to keep what was freed; otherwise chance
//   decides how many pages are faulted in anew. Everywhere else malloc is as it comes.
// - Memory is the peak resident set of the child; for the slow transfers its growth from before the first to the state
//   in which all have received their first bytes.
// - The TLS cases that must succeed need the generated certificate to be trusted. The children of those cases see, in a
//   mount namespace of their own, a CA bundle with one more certificate; the machine's own bundle is never touched.
//   Where such a namespace is not allowed, as in most containers, these cases are skipped, and the report says so.
//
// What the layer may cost stands in `Catalogue.swift`; with `--check` the exit status is 1 when a limit is exceeded.
// Standard output carries the tables in Markdown, `.bench/results.json` the same with the figures of every round, and
// `.bench/results.svg` a picture of the ratios.

import Foundation

@main
struct Bench {
    static func main() {
        let status: Int32
        do {
            status = try run()
        } catch {
            complain("\(error)")
            status = 2
        }
        Cleanup.shared.run()
        exit(status)
    }

    private static func run() throws -> Int32 {
        let options = try Options(CommandLine.arguments.dropFirst())
        if options.help {
            print(Options.usage)
            return 0
        }
        let workloads = try Catalogue.workloads(matching: options.filter)
        if options.list {
            for workload in workloads {
                for row in workload.rows {
                    print("\(workload.id(of: row)): \(row.title)")
                }
            }
            return 0
        }
        let signals = Cleanup.shared.runOnSignals()
        defer { withExtendedLifetime(signals) {} }
        try raiseDescriptorLimit()
        let site = try Site(in: options.workDirectory)
        let server = try Nginx(serving: site)
        let tools = try Tools()
        let runner = Runner(
            options: options,
            site: site,
            server: server,
            sockets: try SocketServer(tools),
            tools: tools,
            trust: Trust(site, tools)
        )
        let report = Report(machine: Machine(tools), rows: runner.run(workloads))
        Cleanup.shared.run()
        print(report.markdown)
        try report.writeJSON(to: options.json)
        try report.writeChart(to: options.svg)
        let broken = report.brokenLimits
        for line in broken {
            complain(line)
        }
        return options.check && !broken.isEmpty ? 1 : 0
    }

    /// The 5,000 slow transfers need that many sockets in the child and in nginx; both inherit the limit from here.
    private static func raiseDescriptorLimit() throws {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        getrlimit(resource, &limit)
        var wanted = rlimit(rlim_cur: max(limit.rlim_max, 65536), rlim_max: max(limit.rlim_max, 65536))
        guard setrlimit(resource, &wanted) != 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
        if limit.rlim_max < 16384 {
            complain("only \(limit.rlim_max) descriptors are allowed: the slow transfers will fail")
        }
    }
}

/// Writes one line to the standard error stream.
func complain(_ line: String) {
    FileHandle.standardError.write(Data("\(line)\n".utf8))
}

/// A failure of the benchmark itself, in words.
struct Complaint: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}
