import Foundation
import Testing

/// Everything that fuzzing has found or needed once, read again.
struct FuzzCorpusTests {
    @Test("A fuzz target reads all of its corpus without a finding", arguments: FuzzTarget.all.map(\.name))
    func replays(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let folder = Self.corpus.appendingPathComponent(name, isDirectory: true)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files { try Data(contentsOf: file).withUnsafeBytes(target.run) }
    }

    @Test("Every folder of the corpus is read by a fuzz target")
    func folders() throws {
        // `HostileBytesTests` gives some of it to whole tasks.
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
            .filter { !$0.hasPrefix("task-") }
        #expect(Set(folders).subtracting(FuzzTarget.all.map(\.name)) == [])
        #expect(Set(FuzzTarget.all.map(\.name)).count == FuzzTarget.all.count)
    }

    private static let corpus = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent()
        .appendingPathComponent("../../Fuzz/Corpus", isDirectory: true)
        .standardizedFileURL
}
