import Foundation
import Testing

@testable import CurlNetworkingHalfTunes

@Suite("A download of Half Tunes knows which step follows which")
struct HalfTunesDownloadTests {
    private let data = Data("resume data".utf8)
    private var download: Download

    init() throws {
        let url = try #require(URL(string: "http://h/song.wav"))
        download = Download(DownloadItem(url: url, fileName: "song.wav", title: "Song", sha256: "00"))
    }

    // Steps change the download, which is nothing that can be done within an expectation.
    private func isTaken(_ answer: Bool, at location: SourceLocation = #_sourceLocation) {
        #expect(answer, "the step was refused", sourceLocation: location)
    }

    private func isRefused(_ answer: Bool, at location: SourceLocation = #_sourceLocation) {
        #expect(!answer, "the step was taken", sourceLocation: location)
    }

    private func isAnswered(
        _ answer: Download.PauseAction?,
        _ expected: Download.PauseAction?,
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(answer == expected, sourceLocation: location)
    }

    /// As task 1, with 40 of 100 bytes.
    private var running: Download {
        var download = download
        _ = download.start(task: 1)
        _ = download.wrote(total: 40, expected: 100)
        return download
    }

    @Test("A download goes from the server into its place, and past its checksum")
    mutating func straight() {
        #expect(download.state == .waiting(resumeData: nil))
        isTaken(download.start(task: 1))
        isTaken(download.wrote(total: 50, expected: 100))
        #expect(download.fraction == 0.5)
        isTaken(download.arrived(task: 1))
        #expect(download.state == .checking(isNew: true))
        isTaken(download.checked(isRight: true))
        #expect(download.state == .finished(.verified))
        #expect(!download.isBusy)
    }

    @Test("A download that is paused goes on from where it was when it is resumed")
    func pausing() {
        var download = running
        isAnswered(download.pause(), .cancelTask)
        #expect(download.state == .pausing(task: 1, origin: nil))
        isTaken(download.paused(task: 1, resumeData: data))
        #expect(download.resumeData == data)
        isTaken(download.request())
        isTaken(download.start(task: 2))
        isTaken(download.resumed(at: 40, expected: 100))
        #expect(download.resumedAt == 40)
        #expect(download.gained == 0)
        isTaken(download.wrote(total: 60, expected: 100))
        #expect(download.gained == 20)
    }

    @Test("If a resumed task leaves no resume data, what it began with is still good")
    func origin() {
        var download = running
        _ = download.pause()
        _ = download.paused(task: 1, resumeData: data)
        _ = download.request()
        _ = download.start(task: 2)
        _ = download.pause()
        isTaken(download.paused(task: 2, resumeData: nil))
        #expect(download.state == .paused(resumeData: data))
        _ = download.request()
        _ = download.start(task: 3)
        isTaken(download.fail(task: 3, message: "status 503", isTransient: true))
        #expect(download.resumeData == data)
    }

    @Test("Resume data that is none is forgotten, and the next attempt starts from nothing")
    func rejection() {
        var download = running
        _ = download.pause()
        _ = download.paused(task: 1, resumeData: data)
        _ = download.request()
        _ = download.start(task: 2)
        isTaken(download.rejectOrigin(task: 2, message: "no resume data"))
        #expect(download.state == .failed(DownloadFailure(message: "no resume data", isTransient: true)))
        isTaken(download.request())
        #expect(download.state == .waiting(resumeData: nil))
        #expect(download.received == 0)
    }

    @Test("A download that is paused before its turn has no task to cancel")
    mutating func pausingEarly() {
        isAnswered(download.pause(), .nothing)
        #expect(download.state == .paused(resumeData: nil))
    }

    @Test("What comes from a task that isn't the download's own any more is ignored")
    func stale() {
        var download = running
        isTaken(download.cancel())
        isRefused(download.wrote(total: 50, expected: 100))
        isRefused(download.arrived(task: 1))
        isTaken(download.request())
        #expect(download.received == 0)
        isTaken(download.start(task: 2))
        isRefused(download.fail(task: 1, message: "cancelled", isTransient: false))
        isRefused(download.paused(task: 1, resumeData: data))
        isRefused(download.arrived(task: 1))
        #expect(download.state == .running(task: 2, origin: nil))
    }

    @Test("A file that arrives while it's being paused has arrived")
    func race() {
        var download = running
        _ = download.pause()
        isTaken(download.arrived(task: 1))
        isRefused(download.paused(task: 1, resumeData: nil))
        #expect(download.state == .checking(isNew: true))
    }

    @Test("A new file with the wrong checksum is a failure that another attempt won't mend")
    func wrongChecksum() {
        var download = running
        _ = download.arrived(task: 1)
        isTaken(download.checked(isRight: false))
        guard case .failed(let failure) = download.state else { return #expect(Bool(false), "it has not failed") }
        #expect(!failure.isTransient)
        #expect(failure.resumeData == nil)
    }

    @Test("A file that's there already is taken if it's right, and downloaded again if not")
    mutating func found() {
        isTaken(download.found(length: 100))
        var wrong = download
        isTaken(download.checked(isRight: nil))
        #expect(download.state == .finished(.alreadyThere))
        isTaken(wrong.checked(isRight: false))
        #expect(wrong.state == .waiting(resumeData: nil))
        #expect(wrong.received == 0)
    }

    @Test("A download that is over doesn't begin again, and can't be paused or cancelled")
    func over() {
        var download = running
        _ = download.arrived(task: 1)
        isRefused(download.cancel())
        _ = download.checked(isRight: nil)
        #expect(download.state == .finished(.unverified))
        isRefused(download.request())
        isAnswered(download.pause(), nil)
        isRefused(download.cancel())
    }

    @Test("A server that starts over is believed")
    func startingOver() {
        var download = running
        isTaken(download.wrote(total: 10, expected: 90))
        #expect(download.received == 10)
        #expect(download.gained == 10)
        #expect(download.expected == 90)
    }
}
