import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The description of a partial file that goes on growing")
struct GrowingPartialFileTests {
    private let directory: TemporaryDirectory
    private let file: DownloadFile
    private let partial: PartialFile

    init() throws {
        directory = try TemporaryDirectory()
        file = try DownloadFile(in: directory.url)
        try DownloadFileTests.write("some", to: file)
        partial = try #require(file.describe())
    }

    private func content(copying partial: PartialFile) throws -> String? {
        guard let copy = try DownloadFile(copying: partial, in: directory.url) else { return nil }
        defer { copy.remove() }
        return try String(contentsOf: copy.url, encoding: .utf8)
    }

    @Test("The description covers all that has been appended by then")
    func growing() throws {
        #expect(partial.length == 4)
        try DownloadFileTests.write(" more", to: file)
        #expect(try content(copying: partial) == "some more")
        _ = file.keep()
        #expect(try content(copying: partial) == "some more")
    }

    @Test("A file that has become shorter is not the same, nor is another one in its place")
    func shorter() throws {
        _ = file.keep()
        let url = directory.url.appendingPathComponent(partial.name)
        try FileHandle(forWritingTo: url).truncate(atOffset: 3)
        #expect(try content(copying: partial) == nil)
        try FileManager.default.removeItem(at: url)
        try Data("another one".utf8).write(to: url)
        #expect(try content(copying: partial) == nil)
    }

    @Test("A file that its download has open isn't removed by others")
    func removing() throws {
        partial.remove(in: directory.url)
        #expect(directory.content == [partial.name])
        _ = file.keep()
        partial.remove(in: directory.url)
        #expect(directory.content == [])
    }

    @Test("A file that has been taken away isn't described")
    func missing() throws {
        try FileManager.default.removeItem(at: file.url)
        #expect(file.describe() == nil)
        file.remove()
    }

    @Test("Only the description of a growing file says so in resume data")
    func coding() throws {
        let encoder = PropertyListEncoder()
        let growing = try PropertyListDecoder().decode(PartialFile.self, from: encoder.encode(partial))
        #expect(growing == partial)
        #expect(growing.isGrowing == true)
        let kept = try #require(file.keep())
        #expect(try PropertyListDecoder().decode(PartialFile.self, from: encoder.encode(kept)).isGrowing == nil)
    }
}
