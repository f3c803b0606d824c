/// Parses a command line in the style of POSIX and GNU: `-o value`, `-ovalue`, `--option value`, `--option=value`, and `--` before
/// arguments that only look like options.
struct ArgumentReader {
    enum Argument: Equatable {
        case option(String)
        case operand(String)
    }

    private var rest: ArraySlice<String>
    /// The text attached to the last option.
    private var attached: String?
    private var takesOptions = true

    init(_ arguments: [String]) {
        rest = arguments[...]
    }

    mutating func next() throws(UsageError) -> Argument? {
        if let attached { throw UsageError("'\(attached)' is unexpected here.") }
        guard let word = rest.popFirst() else { return nil }
        guard takesOptions, word.hasPrefix("-"), word != "-" else { return .operand(word) }
        if word == "--" {
            takesOptions = false
            return try next()
        }
        if word.hasPrefix("--") {
            guard let equals = word.firstIndex(of: "=") else { return .option(word) }
            attached = String(word[word.index(after: equals)...])
            return .option(String(word[..<equals]))
        }
        let letter = word.prefix(2)
        if word.count > 2 { attached = String(word.dropFirst(2)) }
        return .option(String(letter))
    }

    /// The value of the option just taken.
    mutating func value(of option: String) throws(UsageError) -> String {
        defer { attached = nil }
        guard let value = attached ?? rest.popFirst() else { throw UsageError("\(option) needs a value.") }
        return value
    }
}

/// The program was called incorrectly.
struct UsageError: Error, Equatable {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
