import Foundation

/// What a child reports about one slice of its work, as one line of JSON.
struct Sample: Decodable {
    var cpuNanoseconds: Int64
    var wallNanoseconds: Int64
    var baselineKiB: Int
    var peakKiB: Int
    /// 0 where the times of the requests aren't taken.
    var p99Nanoseconds: Int64
    var failures: Int
    var error: String
    /// "HTTP/2.0" and the like, where the case asks for it.
    var `protocol`: String
    /// CPU that the server took meanwhile; the child doesn't report that.
    var serverNanoseconds: Int64 = 0

    private enum CodingKeys: CodingKey {
        case cpuNanoseconds, wallNanoseconds, baselineKiB, peakKiB, p99Nanoseconds, failures, error, `protocol`
    }
}

/// How one slice ended.
enum Outcome {
    case measured(Sample)
    case skipped(String)
    case crashed(String)
    case hung(seconds: Double)
    case failed(String)
}

/// One contender's process for one case. It warms up at its start and then works only when asked for a slice, so that
/// the contenders take turns within a second.
final class Child {
    private let program: Program?
    private let timeout: Double
    /// The server that never answers, for as long as the child runs.
    private let silent: Listener?
    /// How it ended, once it has; it is not asked again after that.
    private var ending: Outcome?

    /// Starts the process and returns when it has warmed up.
    init(_ command: Command, timeout: Double, silent: Listener) throws {
        self.timeout = timeout
        self.silent = silent
        program = try Program(command)
        if let line = nextLine(), line != "ready" {
            ending = .failed(line)
        }
    }

    /// A child that never runs.
    private init(_ ending: Outcome) {
        self.ending = ending
        timeout = 0
        silent = nil
        program = nil
    }

    convenience init(skipped reason: String) {
        self.init(.skipped(reason))
    }

    convenience init(failed reason: String) {
        self.init(.failed(reason))
    }

    func slice() -> Outcome {
        program?.send("go\n")
        guard let line = nextLine() else { return ending ?? .failed("no answer") }
        do {
            return .measured(try JSONDecoder().decode(Sample.self, from: Data(line.utf8)))
        } catch {
            return .failed(line)
        }
    }

    func end() {
        program?.finish()
    }

    /// What the child says next. When it says nothing in time or has ended, that becomes its ending.
    private func nextLine() -> String? {
        guard ending == nil, let program else { return nil }
        switch program.readLine(timeout: timeout) {
        case .line(let line):
            return line
        case .timeout:
            program.finish()
            ending = .hung(seconds: timeout)
        case .end:
            let result = program.finish()
            let lastWords = result.errors.split(separator: "\n").last.map(String.init) ?? "silently"
            ending = result.crashed ? .crashed("signal \(result.status): \(lastWords)") : .failed(lastWords)
        }
        return nil
    }
}
