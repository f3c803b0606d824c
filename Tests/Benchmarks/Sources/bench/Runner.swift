import Foundation

/// Runs the cases: in each round the contenders take turns, so that a change in the machine's mood hits all of them.
struct Runner {
    var options: Options
    var site: Site
    var server: Nginx
    var sockets: SocketServer
    var tools: Tools
    var trust: Trust

    func run(_ workloads: [Workload]) -> [Report.Row] {
        workloads.flatMap(run)
    }

    private func run(_ workload: Workload) -> [Report.Row] {
        var summaries: [Style: [Contender: Summary]] = [:]
        for row in workload.rows where summaries[row.style] == nil {
            let outcomes = measure(workload, row)
            summaries[row.style] = outcomes.reduce(into: [:]) { summaries, entry in
                let (contender, outcomes) = entry
                summaries[contender] = Summary(outcomes, requests: workload.requests[contender])
            }
        }
        return workload.rows.map { row in
            Report.Row(
                id: workload.id(of: row),
                row: row,
                remark: row.name == workload.rows.first?.name ? workload.remark : nil,
                results: summaries[row.style] ?? [:]
            )
        }
    }

    /// The outcomes of all rounds, in order.
    private func measure(_ workload: Workload, _ row: Workload.Row) -> [Contender: [Outcome]] {
        let contenders = workload.contenders.filter { $0 != .stock || !options.skipStock }
        var outcomes: [Contender: [Outcome]] = [:]
        func take(_ round: Int, _ contender: Contender, _ child: Child) {
            let outcome = checked(slice(of: child, workload), workload)
            outcomes[contender, default: []].append(outcome)
            let summary = Summary([outcome], requests: workload.requests[contender])
            let figure = summary.figures.map { Format.value($0[row.measure], row.measure) }
            let news = ([figure].compactMap(\.self) + summary.notes).joined(separator: ", ")
            complain("\(workload.id(of: row)), round \(round), \(contender.rawValue): \(news)")
        }
        let rounds = 1...options.rounds(of: workload)
        if workload.needsFreshProcess {
            for round in rounds {
                for contender in contenders {
                    let child = start(workload, contender, row.style)
                    take(round, contender, child)
                    child.end()
                }
            }
        } else {
            let children = contenders.map { ($0, start(workload, $0, row.style)) }
            for round in rounds {
                for (contender, child) in children {
                    take(round, contender, child)
                }
            }
            for (_, child) in children {
                child.end()
            }
        }
        site.removeDownloads()
        return outcomes
    }

    private func slice(of child: Child, _ workload: Workload) -> Outcome {
        let server: Program? =
            switch workload.address {
            case .plain, .trusted, .closing, .untrusted: self.server.program
            case .sockets: sockets.program
            case .silent: nil
            }
        let before = server?.cpuNanoseconds ?? 0
        let outcome = child.slice()
        guard case .measured(var sample) = outcome else { return outcome }
        sample.serverNanoseconds = (server?.cpuNanoseconds ?? 0) - before
        return .measured(sample)
    }

    private func start(_ workload: Workload, _ contender: Contender, _ style: Style) -> Child {
        if workload.address.needsTrust, let obstacle = trust.obstacle { return Child(skipped: obstacle) }
        do {
            let silent = try Listener()
            let command = command(workload, contender, style, silentPort: silent.port)
            return try Child(command, timeout: options.timeout, silent: silent)
        } catch {
            return Child(failed: "\(error)")
        }
    }

    private func command(
        _ workload: Workload,
        _ contender: Contender,
        _ style: Style,
        silentPort: UInt16
    ) -> Command {
        var arguments = Arguments()
        arguments.add("scenario", workload.scenario.rawValue)
        addAddress(of: workload, silentPort: silentPort, to: &arguments)
        if workload.rows.contains(where: { $0.measure == .latency }) { arguments.add("times", "yes") }
        arguments.add("style", style.rawValue)
        arguments.add("requests", workload.requests[contender])
        arguments.add("in-flight", workload.inFlight)
        arguments.add("expect", workload.expect)
        arguments.add("seconds", workload.seconds)
        arguments.add("size", workload.messageSize)
        switch workload.scenario {
        case .download, .slow, .stream, .background: arguments.add("warmup", server.plain(Site.small.path))
        case .upload:
            arguments.add("warmup", server.plain(Site.small.path))
            arguments.add("file", site.uploadSource.path)
        case .idle: arguments.add("suspend", workload.suspends ? "yes" : "no")
        case .get, .files, .handshake, .echo, .deflate, .send, .receive, .sockets, .silence: break
        }
        if contender == .raw {
            arguments.add("buffer", workload.rawBuffer)
        } else {
            arguments.add("session", workload.session.rawValue)
            arguments.add("share", workload.share.rawValue)
        }
        let prefix = workload.address.needsTrust ? trust.prefix : []
        return Command(prefix + [tools.client(contender)] + arguments.words, environment: environment(of: workload))
    }

    private func addAddress(of workload: Workload, silentPort: UInt16, to arguments: inout Arguments) {
        switch workload.address {
        case .plain(let path): arguments.add("url", server.plain(path))
        case .trusted(let path):
            arguments.add("url", server.tls(path))
            arguments.add("probe", server.tls(Site.protocolPath))
        case .closing(let path): arguments.add("url", server.closing(path))
        case .untrusted(let path): arguments.add("url", server.tls(path))
        case .silent: arguments.add("url", "http://127.0.0.1:\(silentPort)/")
        case .sockets(let path): arguments.add("url", "http://127.0.0.1:\(sockets.port)\(path)")
        }
        if let beside = workload.beside {
            let isTrusted = workload.address.needsTrust
            arguments.add("beside", isTrusted ? server.tls(beside.path) : server.plain(beside.path))
            arguments.add("besides", beside.count)
        }
    }

    private func environment(of workload: Workload) -> [String: String] {
        // Caches and cookies of the default configuration go there as well.
        let downloads = site.downloads.path
        var environment = [
            "TMPDIR": downloads, "XDG_CACHE_HOME": downloads, "XDG_DATA_HOME": downloads,
            "SWIFT_BACKTRACE": "enable=no",
        ]
        if workload.keepsFreedMemory {
            environment["MALLOC_TRIM_THRESHOLD_"] = "1073741824"
            environment["MALLOC_MMAP_THRESHOLD_"] = "1073741824"
        }
        return environment
    }

    /// The client's options, as it reads them.
    private struct Arguments {
        private(set) var words: [String] = []

        /// Leaves out what is nil.
        mutating func add(_ name: String, _ value: (some CustomStringConvertible)?) {
            guard let value else { return }
            words += ["--\(name)", "\(value)"]
        }
    }

    /// The file that the server has written must be as long as the one that was sent.
    private func checked(_ outcome: Outcome, _ workload: Workload) -> Outcome {
        guard workload.scenario == .upload else { return outcome }
        let bytes = site.takeUpload()
        guard case .measured(var sample) = outcome, bytes != Site.large.bytes else { return outcome }
        sample.failures += 1
        sample.error += sample.error.isEmpty ? "the server received \(bytes ?? 0) bytes" : ""
        return .measured(sample)
    }
}
