import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

extension BackgroundTests {
    @Suite("Damaged and forged state")
    struct DamagedRecords {
        /// What may be done to a record.
        enum Damage: String, CaseIterable {
            case torn, empty, otherVersion, nested, fileElsewhere, uploadElsewhere, otherScheme, link, readable,
                otherName, farTime, highNumber, highName
        }

        @Test("A record that is wrong is set aside, and costs no other task anything", arguments: Damage.allCases)
        func damaged(damage: Damage) async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let first = try await rig.readyProgram()
            first.say("download \(rig.url("/")) one")
            // Each with a file of its own.
            try await rig.server.waitForRequests(1)
            first.say("download \(rig.url("/")) two")
            try await rig.server.waitForRequests(2)
            await first.crash()
            rig.killAgent()
            let name = try #require(rig.stateFiles.first { $0.contains("/1-") && $0.hasSuffix(".task") })
            try apply(damage, to: rig.sessions.appendingPathComponent(name), rig)

            let second = try rig.program()
            #expect(await second.line() == "restored 2 two 0")
            try await second.line(beginningWith: "ready")
            gate.open()
            try await second.line(beginningWith: "completed two ok")
            #expect(rig.file("two") == Data("hello".utf8))
            #expect(rig.log.contains("set aside"))
            #expect(!rig.stateFiles.contains { $0.contains("/1-") && !$0.contains("/set-aside/") })
            second.say("download \(rig.url("/")) three")
            try await second.line(beginningWith: "completed three ok")
            await second.crash()
        }

        private func apply(_ damage: Damage, to file: URL, _ rig: BackgroundRig) throws {
            let content = try String(contentsOf: file, encoding: .utf8)
            switch damage {
            case .torn: try rewrite(file, String(content.prefix(content.count / 2)))
            case .empty: try rewrite(file, "")
            case .otherVersion: try rewrite(file, content.replacing("\"version\":1", with: "\"version\":2"))
            case .nested: try rewrite(file, String(repeating: "[", count: 1_000_000))
            case .fileElsewhere:
                let ending =
                    #""ending":{"file":"../../../one","progress":{"key":"\#(UUID())","counters":{"received":0,"sent":0,"#
                    + #""expectedToReceive":0,"expectedToSend":0,"requests":0}}},"elapsed""#
                try rewrite(file, content.replacing("\"elapsed\"", with: ending))
            case .uploadElsewhere:
                let upload = #""upload":{"url":"http:\/\/elsewhere\/","version":6},"elapsed""#
                try rewrite(file, content.replacing("\"elapsed\"", with: upload))
            case .otherScheme: try rewrite(file, content.replacing(#"http:\/\/"#, with: #"file:\/\/"#))
            case .link:
                let other = try rig.directory.file("other", Data(content.utf8))
                try FileManager.default.removeItem(at: file)
                try FileManager.default.createSymbolicLink(at: file, withDestinationURL: other)
            case .readable: chmod(file.path, 0o644)
            case .otherName:
                let other = file.deletingLastPathComponent().appendingPathComponent("1-\(UUID().uuidString).task")
                try FileManager.default.moveItem(at: file, to: other)
            case .farTime: try rewrite(file, content.replacing(#/"elapsed":[0-9.e-]+/#, with: "\"elapsed\":1e300"))
            case .highNumber:
                try rewrite(file, content.replacing(#/"identifier":1\b/#, with: "\"identifier\":\(Int.max)"))
            case .highName:
                let name = "\(Int.max)" + file.lastPathComponent.dropFirst()
                let other = file.deletingLastPathComponent().appendingPathComponent(name)
                try FileManager.default.moveItem(at: file, to: other)
            }
        }

        private func rewrite(_ file: URL, _ text: String) throws {
            let handle = try FileHandle(forWritingTo: file)
            defer { try? handle.close() }
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: Data(text.utf8))
        }

        @Test(
            "A session whose own record is wrong has its tasks for its program, and affects no other session",
            arguments: ["no record", "no sense"]
        )
        func damagedSession(damage: String) async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let identifiers = ["a", "b"]
            let programs = try identifiers.map { try rig.program(identifier: $0) }
            for program in programs {
                try await program.line(beginningWith: "ready")
                program.say("download \(rig.url("/")) \(program.pid)")
            }
            try await rig.server.waitForRequests(2)
            for program in programs { await program.crash() }
            rig.killAgent()
            let name = try #require(rig.stateFiles.first { $0.hasSuffix("/session") })
            let file = rig.sessions.appendingPathComponent(name)
            let content = try String(contentsOf: file, encoding: .utf8)
            let senseless = content.replacing("\"options\":{", with: "\"options\":{\"maximumConnections\":-5,")
            try rewrite(file, damage == "no sense" ? senseless : "{}")
            gate.open()
            let agent = try ChildProcess([
                BackgroundRig.agent.path, "--curlnetworking-agent-start", rig.folder.path, "60",
            ])
            #expect(await agent.ending() == .exit(0))
            try await rig.waitForLog { $0.contains("it has no record of a session") && $0.contains(": done, ") }
            for (identifier, program) in zip(identifiers, programs) {
                let next = try rig.program(identifier: identifier)
                try await next.line(beginningWith: "completed \(program.pid) ok")
                #expect(rig.file("\(program.pid)") == Data("hello".utf8))
                await next.crash()
            }
        }

        @Test("A session's folder without a record of it or of a task, as killed agents leave it, is removed")
        func folderWithoutRecords() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let folder = rig.sessions.appendingPathComponent("0123456789abcdef0123456789abcdef")
            let files = folder.appendingPathComponent("files")
            try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
            try Data("{".utf8).write(to: folder.appendingPathComponent("session.new"))
            try Data("part".utf8).write(to: files.appendingPathComponent("part"))
            let agent = try ChildProcess([
                BackgroundRig.agent.path, "--curlnetworking-agent-start", rig.folder.path, "60",
            ])
            #expect(await agent.ending() == .exit(0))
            try await rig.waitForLog { $0.contains("it has no record of a session") }
            #expect(rig.stateFiles == [])
        }
    }
}
