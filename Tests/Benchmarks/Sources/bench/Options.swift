import Foundation

/// What the user asks of the benchmark.
struct Options {
    static let usage = """
        usage: bench [options]
          --list             print the cases and exit
          --filter A,B       only cases whose name contains one of these
          --quick            a third of the rounds
          --rounds N         as many rounds of every case; the median counts (default: as the catalogue says)
          --skip-stock       leave the stock module out
          --check            exit with 1 when a limit of the catalogue is exceeded or ours fails
          --json PATH        where the results go (default .bench/results.json)
          --svg PATH         where the picture of them goes (default .bench/results.svg)
          --work-dir DIR     where served and downloaded files lie (default: the temporary directory; needs 3.5 GiB)
          --timeout SECONDS  after which a child counts as hung (default 60)
        """

    var help = false
    var list = false
    var filter: [String] = []
    var quick = false
    var rounds: Int?
    var skipStock = false
    var check = false
    var json = URL(fileURLWithPath: ".bench/results.json")
    var svg = URL(fileURLWithPath: ".bench/results.svg")
    var workDirectory = URL(fileURLWithPath: NSTemporaryDirectory(), isDirectory: true)
    var timeout = 60.0

    init(_ words: some Sequence<String>) throws {
        var words = words.makeIterator()
        func value(of option: String) throws -> String {
            guard let value = words.next() else { throw Complaint("\(option) lacks its value") }
            return value
        }
        func number(of option: String) throws -> Int {
            guard let number = Int(try value(of: option)), number > 0 else {
                throw Complaint("\(option) takes a positive number")
            }
            return number
        }
        while let word = words.next() {
            switch word {
            case "--help", "-h": help = true
            case "--list": list = true
            case "--filter": filter = try value(of: word).split(separator: ",").map(String.init)
            case "--quick": quick = true
            case "--rounds": rounds = try number(of: word)
            case "--skip-stock": skipStock = true
            case "--check": check = true
            case "--json": json = URL(fileURLWithPath: try value(of: word))
            case "--svg": svg = URL(fileURLWithPath: try value(of: word))
            case "--work-dir": workDirectory = URL(fileURLWithPath: try value(of: word), isDirectory: true)
            case "--timeout": timeout = Double(try number(of: word))
            default: throw Complaint("unknown option \(word)\n\(Self.usage)")
            }
        }
    }

    func rounds(of workload: Workload) -> Int {
        rounds ?? (quick ? max(workload.rounds / 3, 1) : workload.rounds)
    }
}
