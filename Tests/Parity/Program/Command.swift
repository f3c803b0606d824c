import Foundation

@main
struct Command {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        do {
            if arguments.first == Child.option { try await child(Array(arguments.dropFirst())) }
            if arguments.contains("--help") || arguments.contains("-h") { return print(Options.help) }
            exit(try await run(Options(arguments)) ? 0 : 1)
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("\(error)\n".utf8))
            exit(2)
        }
    }

    private static func child(_ arguments: [String]) async throws -> Never {
        guard arguments.count == 3, let side = Side(rawValue: arguments[0]) else {
            throw UsageError(description: "\(Child.option) is for this program's own use.")
        }
        try await Child.perform(side, arguments[1], in: URL(fileURLWithPath: arguments[2], isDirectory: true))
    }

    /// Returns whether all is well.
    private static func run(_ options: Options) async throws -> Bool {
        let scenarios = try options.selection(of: Side.ours.scenarios)
        if options.output == .list {
            for scenario in scenarios { print(scenario.name) }
            return true
        }
        let runner = Runner(scenarios: scenarios, jobs: options.jobs)
        let comparisons = try await runner.run { comparison in
            guard options.output == .table else { return }
            print(Report.row(comparison))
            fflush(nil)
        }
        let report = Report(comparisons: comparisons)
        switch options.output {
        case .table: print(report.summary)
        case .json: print(try report.json)
        case .markdown: print(Page(comparisons: comparisons).text)
        case .list: break
        }
        return comparisons.allSatisfy { !$0.isDefect }
    }
}
