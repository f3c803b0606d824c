import Foundation

/// What the driver asks of one child, as `--name value` pairs; the raw client takes the same ones.
struct Arguments {
    enum Style: String {
        case async, handler, delegate
    }

    /// Whose CPU `background` counts: this process's, its agent's, or both.
    enum Share: String {
        case program, agent, both
    }

    var scenario = ""
    var style = Style.async
    var url: URL
    /// A URL whose body names the protocol spoken.
    var probe: URL?
    /// A small URL fetched once before a large transfer.
    var warmup: URL?
    /// The file to upload.
    var file = URL(fileURLWithPath: "/dev/null")
    /// `get`: what is fetched over and over meanwhile, and how often at once.
    var beside: URL?
    var besides = 0
    /// `get`: take the time of each request.
    var takesTimes = false
    var requests = 1
    var inFlight = 1
    /// Bytes that every response body must have; nil: not checked.
    var expect: Int?
    /// How long to hold the state that `slow` and `idle` measure.
    var holding = Duration.seconds(1)
    /// Bytes of each message.
    var size = 0
    /// `idle`: suspend every task first.
    var suspend = false
    /// Cache, cookies and credentials as by default, instead of none.
    var usesDefaultConfiguration = false
    /// Run the Swift tasks on the session's event loop.
    var usesEventLoop = false
    var share = Share.both

    init(_ words: some Sequence<String>) throws {
        var values: [String: String] = [:]
        var words = words.makeIterator()
        while let name = words.next() {
            guard let value = words.next() else { throw Complaint("\(name) lacks its value") }
            values[name] = value
        }
        guard let url = values["--url"].flatMap({ URL(string: $0) }) else { throw Complaint("--url is missing") }
        self.url = url
        scenario = values["--scenario"] ?? ""
        style = values["--style"].flatMap(Style.init) ?? .async
        probe = values["--probe"].flatMap { URL(string: $0) }
        warmup = values["--warmup"].flatMap { URL(string: $0) }
        file = values["--file"].map { URL(fileURLWithPath: $0) } ?? file
        beside = values["--beside"].flatMap { URL(string: $0) }
        besides = beside == nil ? 0 : values["--besides"].flatMap { Int($0) } ?? 1
        takesTimes = values["--times"] == "yes"
        requests = values["--requests"].flatMap { Int($0) } ?? 1
        inFlight = values["--in-flight"].flatMap { Int($0) } ?? 1
        expect = values["--expect"].flatMap { Int($0) }
        holding = .seconds(values["--seconds"].flatMap { Int($0) } ?? 1)
        size = values["--size"].flatMap { Int($0) } ?? 0
        suspend = values["--suspend"] == "yes"
        usesDefaultConfiguration = values["--session"] == "default"
        usesEventLoop = values["--session"] == "executor"
        share = values["--share"].flatMap(Share.init) ?? .both
    }
}

/// A failure of the benchmark itself, in words for the driver's report.
struct Complaint: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) {
        self.description = description
    }
}
