import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Damaged resume data make a task fail or start over, and never trap", .timeLimit(.minutes(2)))
struct ResumeDamageTests {
    @Test("Resume data that is cut off at any byte fails or starts over")
    func truncated() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        for length in 0..<paused.resumeData.count {
            check(paused.resumeData.prefix(length), in: paused.directory)
        }
        #expect(paused.directory.content.count == 1)
        // A cut within the trailing white space is none.
        #expect(throws: URLError.self) { try ResumeData(decoding: paused.resumeData.prefix(700)) }
    }

    @Test("Resume data with random changes fails or starts over")
    func mutated() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        var generator = SeededGenerator(seed: 2024)
        for _ in 0..<2000 { check(generator.mutated(paused.resumeData), in: paused.directory) }
        #expect(paused.directory.content.count == 1)
    }

    @Test("Resume data in the binary format of property lists is refused")
    func binary() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let list = try PropertyListSerialization.propertyList(from: paused.resumeData, format: nil)
        let binary = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
        #expect(throws: URLError.self) { try ResumeData(decoding: binary) }
    }

    @Test("Tasks with randomly changed resume data get the right file or leave the partial one alone")
    func mutatedTasks() async throws {
        var paused = try await PausedDownload(from: ResumeOrigin())
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<60 {
            let mutant = generator.mutated(paused.resumeData)
            // Other hosts and ports are not for this test to call.
            guard (try? ResumeData(decoding: mutant).request.url) ?? paused.origin.url == paused.origin.url else {
                continue
            }
            let partial = try Data(contentsOf: paused.partialFile)
            let resumed = try await paused.resume(mutant)
            if resumed.error == nil {
                #expect(resumed.body == ResumeOrigin.bytes)
                paused = try await PausedDownload(from: ResumeOrigin())
            } else {
                #expect(try Data(contentsOf: paused.partialFile) == partial)
            }
        }
    }

    @Test("Random bytes of all sizes are not resume data")
    func random() throws {
        let directory = try TemporaryDirectory()
        var generator = SeededGenerator(seed: 3)
        for round in 0..<500 {
            var data = Data((0..<Int.random(in: 0...400, using: &generator)).map { _ in generator.byte() })
            if round % 3 == 1 { data = Data("bplist00".utf8) + data }
            if round % 3 == 2 { data = Data("<plist version=\"1.0\"><dict>".utf8) + data }
            check(data, in: directory)
        }
        check(Data(count: 4 << 20), in: directory)
    }

    /// What decodes must be plausible, and must not lead out of the directory.
    private func check(_ data: Data, in directory: TemporaryDirectory) {
        guard let decoded = try? ResumeData(decoding: data) else { return }
        #expect(["http", "https"].contains(decoded.request.url.scheme?.lowercased()))
        #expect(decoded.request.method == "GET")
        #expect(decoded.partialFile.length >= 0)
        if let descriptor = decoded.partialFile.open(in: directory.url) {
            close(descriptor)
            #expect(directory.content == [decoded.partialFile.name])
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func byte() -> UInt8 { UInt8.random(in: 0...255, using: &self) }

    /// One to four changes: bytes replaced, dropped, doubled, or exchanged for others of the same kind.
    fileprivate mutating func mutated(_ data: Data) -> Data {
        var bytes = Array(data)
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let index = Int.random(in: 0..<bytes.count, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0: bytes[index] = byte()
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(bytes[index], at: index)
            case 3: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 4: bytes[index] = UInt8(ascii: "0") + UInt8.random(in: 0..<10, using: &self)
            default: bytes.removeSubrange(index..<min(bytes.count, index + Int.random(in: 1...40, using: &self)))
            }
            if bytes.isEmpty { return Data() }
        }
        return Data(bytes)
    }
}
