import Foundation
import TestSupport
import Testing

@testable import halftunes

@Suite("Half Tunes' folder of a paused upload")
struct HalfTunesUploadPauseTests {
    private static let privateFile = "CurlNetworkingUpload_\(String(repeating: "0", count: 32)).tmp"

    private let directory: TemporaryDirectory
    private let recording: URL
    private let api: URL

    init() throws {
        directory = try TemporaryDirectory()
        recording = try directory.file("song.wav", Data("song".utf8))
        api = try Sample.url("http://127.0.0.1:1")
    }

    private func path(_ name: String) -> String { "song.wav.upload/\(name)" }

    @Test("A note nested so deeply that reading it would crash is none")
    func nesting() throws {
        let folder = UploadPauseFolder(beside: recording, for: api)
        folder.prepare()
        _ = try directory.file(path(Self.privateFile), Data("kept".utf8))
        let resumeData = Data("<string>\(Self.privateFile)</string>".utf8)
        try folder.write(resumeData)
        #expect(folder.resumeData == resumeData)
        _ = try directory.file(path("resume-data"), Sample.propertyList(nested: 20_000))
        #expect(folder.resumeData == nil)
    }
}
