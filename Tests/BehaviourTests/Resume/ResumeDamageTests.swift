import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Damaged resume data make a task fail or start over, and never trap", .timeLimit(.minutes(2)))
struct ResumeDamageTests {
    @Test("Cut off at every byte")
    func truncated() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        for length in 0..<paused.resumeData.count {
            check(paused.resumeData.prefix(length), in: paused.directory)
        }
        #expect(paused.directory.content.count == 1)
        // A cut within the trailing white space is none.
        #expect(throws: URLError.self) { try ResumeData(decoding: paused.resumeData.prefix(700)) }
    }

    @Test("Two thousand random changes")
    func mutated() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        var generator = Random(seed: 2024)
        for _ in 0..<2000 { check(generator.mutated(paused.resumeData), in: paused.directory) }
        #expect(paused.directory.content.count == 1)
    }

    @Test("The other format of property lists is refused")
    func binary() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let list = try PropertyListSerialization.propertyList(from: paused.resumeData, format: nil)
        let binary = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
        #expect(throws: URLError.self) { try ResumeData(decoding: binary) }
    }

    @Test("Some of them with real tasks")
    func mutatedTasks() async throws {
        var paused = try await PausedDownload(from: ResumeOrigin())
        var generator = Random(seed: 1)
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

    @Test("Random bytes of all sizes")
    func random() throws {
        let directory = try TemporaryDirectory()
        var generator = Random(seed: 3)
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

    /// SplitMix64: the same numbers in every run.
    struct Random: RandomNumberGenerator {
        private var state: UInt64

        init(seed: UInt64) {
            state = seed
        }

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }

        mutating func byte() -> UInt8 { UInt8.random(in: 0...255, using: &self) }

        /// One to four changes: bytes replaced, dropped, doubled, or exchanged for others of the same kind.
        mutating func mutated(_ data: Data) -> Data {
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
}
