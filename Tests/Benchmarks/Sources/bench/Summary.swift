/// The medians over the rounds of one contender, and what went wrong in them.
struct Summary {
    /// Times in microseconds, memory in KiB.
    struct Figures: Codable {
        var cpuPerRequest: Double
        var cpuOfBothSides: Double
        var wallPerRequest: Double
        var cpuPerSecond: Double
        var latency: Double
        var memoryPerTransfer: Double
        var peakMemory: Double

        init(_ sample: Sample, requests: Double) {
            let (cpu, wall) = (Double(sample.cpuNanoseconds) / 1000, Double(sample.wallNanoseconds) / 1000)
            cpuPerRequest = cpu / requests
            cpuOfBothSides = (cpu + Double(sample.serverNanoseconds) / 1000) / requests
            wallPerRequest = wall / requests
            cpuPerSecond = cpu / (wall / 1_000_000)
            latency = Double(sample.p99Nanoseconds) / 1000
            memoryPerTransfer = Double(sample.peakKiB - sample.baselineKiB) / requests
            peakMemory = Double(sample.peakKiB)
        }

        /// The median of each figure by itself; nil without any.
        init?(mediansOf rounds: [Figures]) {
            guard var medians = rounds.first else { return nil }
            for figure in [
                \.cpuPerRequest, \.cpuOfBothSides, \.wallPerRequest, \.cpuPerSecond, \.latency,
                \.memoryPerTransfer, \.peakMemory,
            ] as [WritableKeyPath<Figures, Double>] {
                medians[keyPath: figure] = median(rounds.map { $0[keyPath: figure] }) ?? 0
            }
            self = medians
        }

        subscript(measure: Measure) -> Double {
            switch measure {
            case .cpuPerRequest: cpuPerRequest
            case .cpuOfBothSides: cpuOfBothSides
            case .cpuPerSecond: cpuPerSecond
            case .latency: latency
            case .memoryPerTransfer: memoryPerTransfer
            }
        }
    }

    /// What each round showed; nil where it could not be measured.
    private(set) var rounds: [Figures?] = []
    /// Why rounds are missing or in doubt, each reason once.
    private(set) var notes: [String] = []
    /// One word for the table when there are no figures.
    private(set) var verdict = "—"
    /// Whether every round was measured without a wrong answer.
    private(set) var isSound = true
    /// Left out because the machine does not allow it.
    private(set) var isSkipped = false

    init(_ outcomes: [Outcome], requests: Int) {
        for outcome in outcomes {
            if case .measured(let sample) = outcome {
                // Requests that fail are cheap: with more than one in a hundred of them the cost says nothing.
                let counts = sample.failures * 100 <= requests
                rounds.append(counts ? Figures(sample, requests: Double(requests)) : nil)
                inspect(sample, requests: requests)
            } else {
                rounds.append(nil)
                explain(outcome)
            }
        }
    }

    /// Nil when no round could be measured.
    var figures: Figures? {
        Figures(mediansOf: rounds.compactMap(\.self))
    }

    /// The median of the rounds' own ratios: in one round both ran within a second, so a change in the machine's speed
    /// cancels out.
    func times(_ other: Summary, _ measure: Measure) -> Double? {
        median(
            zip(rounds, other.rounds).compactMap { own, other in
                guard let own, let other, other[measure] > 0 else { return nil }
                return own[measure] / other[measure]
            }
        )
    }

    private mutating func inspect(_ sample: Sample, requests: Int) {
        if sample.failures > 0 {
            if isSound {
                note("\(sample.failures) of \(requests) wrong, the first: \(sample.error.prefix(160))")
            }
            isSound = false
            verdict = "wrong"
        }
        if !sample.protocol.isEmpty && sample.protocol != "HTTP/2.0" {
            note("spoke \(sample.protocol), not HTTP/2")
        }
    }

    private mutating func explain(_ outcome: Outcome) {
        isSound = false
        switch outcome {
        case .measured:
            break
        case .skipped(let reason):
            isSkipped = true
            verdict = "skipped"
            note("skipped: \(reason)")
        case .crashed(let reason):
            verdict = "crash"
            note("crash: \(reason)")
        case .hung(let seconds):
            verdict = "hang"
            note("no end after \(Int(seconds)) s")
        case .failed(let reason):
            verdict = "failed"
            note("failed: \(reason)")
        }
    }

    private mutating func note(_ text: String) {
        if !notes.contains(text) {
            notes.append(text)
        }
    }
}

/// The middle value, or the mean of the two middle ones; nil without any.
private func median(_ values: [Double]) -> Double? {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return nil }
    let half = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
}
