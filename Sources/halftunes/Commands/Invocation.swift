import Foundation

/// A parsed command line.
struct Invocation: Equatable {
    enum Verb: String, CaseIterable {
        case interactive = ""
        case demo
        case search
        case get
        case play
        case upload
        case serve
        case stop
        /// Resumes the download paused in one file; used by the demo, which has another process do it.
        case resume
    }

    var verb = Verb.interactive
    var wantsHelp = false
    var operands: [String] = []
    var directory: String?
    /// Whether the downloads continue without the program.
    var isBackground = false
    /// nil for the embedded catalogue.
    var api: URL?
    var searchTerm: String?
    var parallel = 4
    var limit = 50
    var port = CatalogueServer.usualPort
    /// In bytes per second.
    var rate = CatalogueServer.usualRate
}

// MARK: - Parsing

extension Invocation {
    init(parsing arguments: [String]) throws(UsageError) {
        var arguments = arguments
        if let first = arguments.first, !first.hasPrefix("-") {
            let name = first == "help" ? arguments.dropFirst().first ?? "" : first
            guard let verb = Verb(rawValue: name) else { throw UsageError("There is no command '\(name)'.") }
            self.verb = verb
            wantsHelp = first == "help"
            if wantsHelp { return }
            arguments.removeFirst()
        }
        var reader = ArgumentReader(arguments)
        var given: Set<Option> = []
        while let argument = try reader.next() {
            switch argument {
            case .operand(let operand): operands.append(operand)
            case .option("-h"), .option("--help"): wantsHelp = true
            case .option("-b"), .option("--background"):
                guard verb == .get else { throw UsageError("Only 'get' takes --background.") }
                isBackground = true
            case .option(let name):
                guard let option = Option(name), verb.options.contains(option) else {
                    throw UsageError("There is no option \(name) here.")
                }
                let value = try reader.value(of: name)
                guard take(value, of: option) else {
                    throw UsageError("\(name) takes \(option.meaning), which '\(value)' isn't.")
                }
                given.insert(option)
            }
        }
        if !wantsHelp { try check(given) }
    }

    private mutating func take(_ value: String, of option: Option) -> Bool {
        switch option {
        case .output:
            directory = value
            return !value.isEmpty
        case .api:
            api = URL(webAddress: value)
            return api != nil && api?.query == nil && api?.fragment == nil
        case .search:
            searchTerm = value
            return !value.isEmpty
        case .parallel: return Self.set(&parallel, value, 1...64)
        case .limit: return Self.set(&limit, value, 1...200)
        case .port: return Self.set(&port, value, 0...65_535)
        case .rate: return Self.set(&rate, value, 1...10_000_000_000)
        }
    }

    private static func set(_ target: inout Int, _ value: String, _ range: ClosedRange<Int>) -> Bool {
        guard let number = Int(value), range.contains(number) else { return false }
        target = number
        return true
    }

    /// Checks that the options fit together.
    private mutating func check(_ given: Set<Option>) throws(UsageError) {
        if given.isSuperset(of: [.api, .rate]) {
            throw UsageError("--rate is for the embedded catalogue, and can't be used with --api.")
        }
        switch verb {
        case .search:
            searchTerm = operands.joined(separator: " ")
            guard searchTerm?.isEmpty == false else { throw UsageError("What should be searched for?") }
        case .get:
            guard operands.isEmpty != (searchTerm == nil) else {
                throw UsageError("'get' takes either URLs or --search TERM.")
            }
            for address in operands where URL(webAddress: address) == nil {
                throw UsageError("'\(address)' isn't an http or https URL.")
            }
        case .play, .resume, .upload:
            guard operands.count == 1, operands != [""] else { throw UsageError("'\(verb.rawValue)' takes one file.") }
        case .interactive, .demo, .serve, .stop:
            if let operand = operands.first { throw UsageError("'\(operand)' is unexpected here.") }
        }
    }
}

// MARK: - Options

extension Invocation {
    enum Option: CaseIterable {
        case output, api, search, parallel, limit, port, rate

        init?(_ name: String) {
            guard let option = Self.allCases.first(where: { $0.names.contains(name) }) else { return nil }
            self = option
        }

        private var names: [String] {
            switch self {
            case .output: ["-o", "--output"]
            case .api: ["--api"]
            case .search: ["-s", "--search"]
            case .parallel: ["-j", "--parallel"]
            case .limit: ["--limit"]
            case .port: ["--port"]
            case .rate: ["--rate"]
            }
        }

        fileprivate var meaning: String {
            switch self {
            case .output: "a directory"
            case .api: "an http or https URL"
            case .search: "a search term"
            case .parallel: "a number from 1 to 64"
            case .limit: "a number from 1 to 200"
            case .port: "a number from 0 to 65535"
            case .rate: "a number of bytes per second from 1 to 10000000000"
            }
        }
    }
}

extension Invocation.Verb {
    fileprivate var options: Set<Invocation.Option> {
        switch self {
        case .interactive: [.output, .api, .parallel, .limit, .rate]
        case .demo, .stop: [.output]
        case .search: [.api, .limit]
        case .upload: [.api]
        case .get: [.output, .api, .search, .parallel, .limit, .rate]
        case .serve: [.port, .rate]
        case .play, .resume: []
        }
    }
}
