import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The resume step", .timeLimit(.minutes(1)))
struct ResumeStepTests {
    private let directory: TemporaryDirectory
    private let partial: PartialFile
    private let rig: StepRig
    private let file: FileSink
    private let step: ResumeStep

    /// A download of 10 bytes, of which the partial file has 4.
    init() throws {
        let directory = try TemporaryDirectory()
        let request = try Sample.request()
        let beginning = try DownloadFile(in: directory.url)
        try DownloadFileTests.write("some", to: beginning)
        partial = try #require(beginning.keep())
        rig = StepRig(request) { $0.curl.temporaryDirectory = directory.url }
        file = FileSink(rig.sinkOwner, in: directory.url, for: request, adding: [])
        step = ResumeStep(try Self.resumeData(partial, request, completeLength: 10), into: file)
        self.directory = directory
    }

    private static func resumeData(
        _ partial: PartialFile,
        _ request: URLRequest,
        completeLength: Int64
    ) throws -> ResumeData {
        ResumeData(
            request: StoredRequest(request, to: try #require(request.url)),
            validator: .entityTag("\"v1\""),
            completeLength: completeLength,
            partialFile: partial
        )
    }

    /// The fields of the next request that ask for a part.
    private func range() throws -> [String] {
        let owner = TicketOwner()
        try rig.enter(owner)
        let plan = try rig.plan(with: step)
        let headers = try #require(plan.options).headers.filter { $0.contains("Range: ") }.sorted()
        #expect((plan.offset > 0) == !headers.isEmpty)
        return headers
    }

    private func receive(_ status: Int, _ fields: KeyValuePairs<String, String> = [:]) throws -> HeadVerdict {
        try step.receive(rig.received(Sample.head(status, fields)), rig)
    }

    /// Ends the download, whose file would otherwise be left.
    private func giveUp() async {
        await withCheckedContinuation { continuation in
            file.abandon(after: URLError(.cancelled), isKept: false) { _ in continuation.resume() }
        }
        #expect(directory.content == [partial.name])
    }

    /// Whether the delegate is told that the download was resumed there, and nothing else.
    private func isToldOnly(offset: Int64, of expected: Int64) -> Bool {
        guard case .resumed(offset, expected)? = rig.events.first else { return false }
        return rig.events.count == 1
    }

    @Test("The rest of the same representation is asked for, and appended to a copy of the partial file")
    func rest() async throws {
        await rig.prepareElsewhere(step)
        #expect(rig.prepare(step).isPass)
        #expect(file.length == 4 && file.supersedesPartialFile)
        #expect(try range() == ["If-Range: \"v1\"", "Range: bytes=4-"])
        let placement = try receive(206, ["Etag": "\"v1\"", "Content-Range": "bytes 4-9/10"]).placement
        #expect(placement?.offset == 4 && placement?.expected == 10 && placement?.isComplete == false)
        #expect(isToldOnly(offset: 4, of: 10), "The delegate is told \(rig.events)")
        await giveUp()
    }

    @Test("A server that sends only a part of the rest is asked for what follows it, and the delegate is told once")
    func parts() async throws {
        await rig.prepareElsewhere(step)
        _ = try receive(206, ["Etag": "\"v1\"", "Content-Range": "bytes 4-6/10"])
        try Data("bod".utf8).withUnsafeBytes { bytes in try file.receive(bytes) }
        let request = try #require(rig.request)
        #expect(step.end(TransferEnding(), of: request, rig).next == request)
        #expect(try range() == ["If-Range: \"v1\"", "Range: bytes=7-"])
        _ = try receive(206, ["Etag": "\"v1\"", "Content-Range": "bytes 7-9/10"])
        try Data("ies".utf8).withUnsafeBytes { bytes in try file.receive(bytes) }
        #expect(step.end(TransferEnding(), of: request, rig).isPass)
        #expect(file.length == 10 && rig.events.count == 1)
        await giveUp()
    }

    @Test("The whole representation takes the place of what was there")
    func startsOver() async throws {
        await rig.prepareElsewhere(step)
        let placement = try receive(200, ["Etag": "\"v2\""]).placement
        #expect(placement?.offset == 0 && file.length == 0 && rig.events.isEmpty)
        #expect(try range().isEmpty)
        await giveUp()
    }

    @Test("A server that has nothing beyond the partial file gives a complete response without a body")
    func complete() async throws {
        let step = ResumeStep(try Self.resumeData(partial, #require(rig.request), completeLength: 4), into: file)
        await rig.prepareElsewhere(step)
        let head = Sample.head(416, ["Etag": "\"v1\"", "Content-Range": "bytes */4", "Content-Type": "text/html"])
        let placement = try #require(try step.receive(rig.received(head), rig).placement)
        #expect(placement.isComplete && placement.offset == 4 && placement.expected == 4)
        #expect(placement.head?.status == 206 && placement.head?["Content-Range"] == "bytes 0-3/4")
        #expect(placement.head?["Content-Type"] == nil, "that is the error page's")
        #expect(isToldOnly(offset: 4, of: 4), "The delegate is told \(rig.events)")
        await giveUp()
    }

    @Test("A server's error is the response, and the partial file can still be resumed from")
    func serverError() async throws {
        await rig.prepareElsewhere(step)
        let placement = try receive(503).placement
        #expect(placement?.offset == 0 && file.length == 0 && !file.supersedesPartialFile)
        await giveUp()
    }

    @Test("A download whose partial file has changed begins at zero")
    func changed() async throws {
        let url = directory.url.appendingPathComponent(partial.name)
        // Longer: for some milliseconds, a kernel before 6.13 may give a changed file the same times.
        try Data("other".utf8).write(to: url)
        await rig.prepareElsewhere(step)
        #expect(rig.prepare(step).isPass)
        #expect(file.length == nil)
        #expect(try range().isEmpty)
        #expect(try receive(206, ["Content-Range": "bytes 4-9/10"]).isPass)
    }
}
