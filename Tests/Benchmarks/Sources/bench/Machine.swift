import Foundation

/// Where and with what the figures came about.
struct Machine: Encodable, CustomStringConvertible {
    var date: String
    var processor: String
    var cores: Int
    var kernel: String
    var system: String
    var libcurl: String
    var swift: String
    var nginx: String

    init(_ tools: Tools) {
        func firstLine(_ words: String...) -> String {
            let result = try? Command(words).run()
            let line = result.flatMap { ($0.output + $0.errors).split(separator: "\n").first.map(String.init) }
            return line ?? "unknown"
        }
        func value(_ label: String, in path: String, separator: Character) -> String {
            let lines = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n")
            let line = lines.first { $0.hasPrefix(label) }
            let value = line?.split(separator: separator, maxSplits: 1).last.map(String.init)
            return value?.trimmingCharacters(in: CharacterSet(charactersIn: " \"")) ?? "unknown"
        }
        date = ISO8601DateFormatter().string(from: Date())
        processor = value("model name", in: "/proc/cpuinfo", separator: ":")
        cores = ProcessInfo.processInfo.activeProcessorCount
        kernel = firstLine("uname", "-sr")
        system = value("PRETTY_NAME", in: "/etc/os-release", separator: "=")
        libcurl = tools.libcurl
        swift = firstLine("swift", "--version")
        nginx = firstLine("nginx", "-v")
    }

    /// One line for a picture.
    var summary: String {
        "\(date). \(processor), \(cores) cores, \(system), libcurl \(libcurl.split(whereSeparator: " /".contains).dropFirst().first ?? "")."
    }

    var description: String {
        """
        \(date). \(processor), \(cores) cores, \(system), \(kernel).
        \(libcurl). \(swift). \(nginx).
        """
    }
}
