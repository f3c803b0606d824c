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

    @Test("A folder that can't be made says why, even if it is for its parent's sake")
    func parent() throws {
        let directory = try TemporaryDirectory()
        chmod(directory.url.path, 0o500)
        let closed = StateFolder(directory.url.appendingPathComponent("parent/folder"))
        let refusal = #expect(throws: URLError.self) { try asOrdinaryUser { try closed.prepare() } }
        #expect(refusal?.code == .cannotCreateFile)
        #expect(refusal?.localizedDescription.contains("Permission denied") == true)
    }

    @Test("The agent's lock is one process's at a time, and what prevents it isn't taken for another agent")
    func lock() throws {
        let directory = try TemporaryDirectory()
        let folder = StateFolder(directory.url)
        let lock = try #require(try folder.takeLock())
        #expect(try folder.takeLock() == nil)
        close(lock)
        let again = try #require(try folder.takeLock())
        close(again)
        let path = folder.url.appendingPathComponent(StateFolder.lockName).path
        unlink(path)
        mkdir(path, 0o700)
        #expect(throws: SystemError(code: EISDIR)) { try folder.takeLock() }
    }
}
