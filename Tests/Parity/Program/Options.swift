import CurlNetworkingParityStage

/// What the command line asks for.
struct Options: Equatable, Sendable {
    enum Output: Equatable, Sendable {
        case table, json, markdown, list
    }

    var output = Output.table
    /// Scenarios whose name contains all of these, in any case.
    var filters: [String] = []
    /// How many scenarios run at once.
    var jobs = 2

    init(_ arguments: some Sequence<String>) throws(UsageError) {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "--json": output = .json
            case "--markdown": output = .markdown
            case "--list": output = .list
            case "--filter":
                guard let text = arguments.next() else { throw UsageError(description: "--filter needs a text.") }
                filters.append(text.lowercased())
            case "--jobs":
                guard let count = arguments.next().flatMap({ Int($0) }), count > 0 else {
                    throw UsageError(description: "--jobs needs a number.")
                }
                jobs = count
            default:
                throw UsageError(description: "\(argument) is not an option.")
            }
        }
    }

    /// Those that are asked for. Throws if none is.
    func selection(of scenarios: [Scenario]) throws(UsageError) -> [Scenario] {
        let selection = scenarios.filter { scenario in
            let name = scenario.name.lowercased()
            return filters.allSatisfy { name.contains($0) }
        }
        guard !selection.isEmpty else { throw UsageError(description: "No scenario's name contains that.") }
        return selection
    }

    static let help = """
        urlsession-parity: the same programs on FoundationNetworking, on CurlNetworking, and on FoundationNetworking's session with
        CurlURLProtocol below it, compared.

          --filter TEXT   only scenarios whose name contains the text; more than one narrows it down
          --list          the scenarios' names
          --json          one object per scenario and line, with all three timelines
          --markdown      the page Tests/Parity/Parity.md
          --jobs N        so many scenarios at once; the default is 2

        The exit code is 1 if any scenario's verdict is “different”, or with CurlURLProtocol “differs”; and 2 if there is no such scenario.
        """
}

struct UsageError: Error, CustomStringConvertible {
    let description: String
}
