import Foundation

/// A program with its arguments and what differs in its environment.
struct Command {
    struct Result {
        var status: Int32
        var crashed: Bool
        var output: String
        var errors: String
    }

    /// What ends a program that does not end by itself.
    enum Signal: Int32 {
        case kill = 9
        case terminate = 15

        /// Its name as `setpriv` wants it.
        var name: String {
            self == .kill ? "KILL" : "TERM"
        }
    }

    var words: [String]
    var environment: [String: String]
    var lastSignal: Signal

    init(_ words: [String], environment: [String: String] = [:], lastSignal: Signal = .kill) {
        self.words = words
        self.environment = environment
        self.lastSignal = lastSignal
    }

    /// Runs the program to its end, or kills it after 30 seconds.
    func run() throws -> Result {
        let program = try Program(self)
        var output = ""
        while case .line(let line) = program.readLine(timeout: 30) {
            output += line + "\n"
        }
        var result = program.finish()
        result.output = output
        return result
    }
}
