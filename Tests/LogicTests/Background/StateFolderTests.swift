import CurlTransport
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The folder of background transfers")
struct StateFolderTests {
    @Test("Tasks that there may be, because their folder can't be read, aren't taken for none")
    func unreadable() throws {
        let directory = try TemporaryDirectory()
        let folder = StateFolder(directory.url)
        #expect(try folder.lastTaskIdentifier(of: "session") == nil)
        let session = folder.session("session")
        try FileManager.default.createDirectory(at: session, withIntermediateDirectories: true)
        let record = RecordName(identifier: 7, key: UUID())
        try Data().write(to: session.appendingPathComponent("\(record.text)"))
        #expect(try folder.lastTaskIdentifier(of: "session") == 7)
        let loop = folder.session("loop")
        try FileManager.default.createSymbolicLink(at: loop, withDestinationURL: loop)
        #expect(throws: SystemError(code: ELOOP)) { try folder.lastTaskIdentifier(of: "loop") }
    }

    @Test("A process knows that it was started as an agent")
    func asked() {
        let arguments = AgentProcess.arguments(for: StateFolder(URL(fileURLWithPath: "/x")), idleTime: .seconds(1))
        #expect(AgentProcess.isAsked(["program"] + arguments))
        #expect(!AgentProcess.isAsked(["program"]) && !AgentProcess.isAsked(["program", "search"]))
    }
}
