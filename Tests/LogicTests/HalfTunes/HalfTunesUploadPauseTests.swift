import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes' folder of a paused upload")
struct HalfTunesUploadPauseTests {
    private static let privateFile = "CurlNetworkingUpload_\(String(repeating: "0", count: 32)).tmp"
    private static let resumeData = Data("<string>\(privateFile)</string>".utf8)

    private let directory: TemporaryDirectory
    private let recording: URL
    private let api: URL

    init() throws {
        directory = try TemporaryDirectory()
        recording = try directory.file("song.wav", Data("song".utf8))
        api = try Sample.url("http://127.0.0.1:1")
    }

    private var pauseFolder: URL { directory.url.appendingPathComponent("song.wav.upload") }

    private var content: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: pauseFolder.path).sorted()) ?? []
    }

    private func folder() throws -> UploadPauseFolder { try UploadPauseFolder(beside: recording, for: api) }

    private func put(_ name: String, _ content: Data = Data("content".utf8)) throws {
        _ = try directory.file("song.wav.upload/\(name)", content)
    }

    @Test("A paused upload is found again for the same catalogue, while its private file is there")
    func pausing() throws {
        do {
            let folder = try folder()
            try put(Self.privateFile)
            try folder.write(Self.resumeData)
        }
        #expect(try folder().resumeData == Self.resumeData)
        let other = try UploadPauseFolder(beside: recording, for: Sample.url("http://127.0.0.1:2"))
        #expect(other.resumeData == nil)
        unlink(pauseFolder.appendingPathComponent(Self.privateFile).path)
        try put(Self.privateFile.replacing("0", with: "1"))
        #expect(try folder().resumeData == nil)
    }

    @Test("A note nested so deeply that reading it would crash is none")
    func nesting() throws {
        let folder = try folder()
        try put(Self.privateFile)
        try put("resume-data", Sample.propertyList(nested: 20_000))
        #expect(folder.resumeData == nil)
    }

    @Test("The folder is removed with what a program has left in it, and with nothing else")
    func removal() throws {
        let folder = try folder()
        let foreign = ["CurlNetworkingUpload_1.tmp", "mine.tmp"]
        for name in foreign + [Self.privateFile, "\(UUID().uuidString).tmp"] { try put(name) }
        try folder.write(Self.resumeData)
        folder.remove()
        #expect(content == foreign)
        for name in foreign { unlink(pauseFolder.appendingPathComponent(name).path) }
        try self.folder().remove()
        #expect(directory.content == ["song.wav"])
    }

    @Test("A link, a file, or a folder that others have access to isn't taken, and keeps what is in it")
    func others() throws {
        let elsewhere = directory.url.appendingPathComponent("elsewhere", isDirectory: true)
        mkdir(elsewhere.path, 0o700)
        _ = try directory.file("elsewhere/\(Self.privateFile)", Data())
        symlink(elsewhere.path, pauseFolder.path)
        #expect(throws: SystemCallError.self) { try folder() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path) == [Self.privateFile])
        unlink(pauseFolder.path)
        _ = try directory.file("song.wav.upload", Data())
        #expect(throws: SystemCallError.self) { try folder() }
        unlink(pauseFolder.path)
        mkdir(pauseFolder.path, 0o700)
        chmod(pauseFolder.path, 0o710)
        #expect(throws: UploadError.notPrivate(pauseFolder.path)) { try folder() }
        chmod(pauseFolder.path, 0o700)
        #expect(try folder().resumeData == nil)
    }

    @Test("The folder stays while another program uploads the same recording, which can still be paused then")
    func sharing() throws {
        let (first, second, third) = (try folder(), try folder(), try folder())
        first.remove()
        second.tidy()
        #expect(content.isEmpty && directory.content == ["song.wav", "song.wav.upload"])
        try put(Self.privateFile)
        try third.write(Self.resumeData)
        withExtendedLifetime((first, second)) {}
        #expect(try folder().resumeData == Self.resumeData)
    }
}
