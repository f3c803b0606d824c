import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The agent's log")
struct AgentLogTests {
    private let directory: TemporaryDirectory
    private let log: AgentLog

    init() throws {
        directory = try TemporaryDirectory()
        log = AgentLog(in: StateFolder(directory.url))
    }

    private var text: String {
        get throws {
            try String(contentsOf: directory.url.appendingPathComponent(StateFolder.logName), encoding: .utf8)
        }
    }

    @Test("The agent's log is started over when it has become too long, and never grows beyond that")
    func limit() throws {
        let line = String(repeating: "x", count: 4000)
        var hasStartedOver = false
        var length = 0
        for number in 0..<600 {
            log.write("\(number) \(line)")
            let new = try text.utf8.count
            #expect(new <= AgentLog.maximumLength + AgentLog.maximumLine + 100)
            if new < length { hasStartedOver = true }
            length = new
        }
        #expect(hasStartedOver)
        #expect(try text.split(separator: "\n").last?.contains(" 599 x") == true)
    }

    @Test("A pipe in the log's place isn't waited for, and nothing is written to it")
    func pipe() throws {
        let path = directory.url.appendingPathComponent(StateFolder.logName).path
        #expect(unlink(path) == 0 && mkfifo(path, 0o600) == 0)
        AgentLog(in: StateFolder(directory.url)).write("nobody reads this")
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        try #require(reader >= 0)
        AgentLog(in: StateFolder(directory.url)).write("this neither")
        var byte: UInt8 = 0
        // No end of it is open for writing.
        #expect(read(reader, &byte, 1) == 0)
    }

    @Test("A long line of the log is cut, and what isn't text stays on its line")
    func lines() throws {
        log.write("a\nb\u{e9}" + String(repeating: "\u{e9}", count: 1_000_000))
        log.write("c")
        let lines = try text.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.contains("a b\u{e9}\u{e9}") == true)
        #expect(lines.allSatisfy { $0.utf8.count < AgentLog.maximumLine + 100 })
    }
}
