import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The step that opens an upload's file", .timeLimit(.minutes(1)))
struct BodyFileStepTests {
    private let directory: TemporaryDirectory
    private let url: URL
    private let request: URLRequest
    private let rig: StepRig

    init() throws {
        directory = try TemporaryDirectory()
        url = try directory.file(Data("body".utf8))
        request = try Sample.request("http://example.com/", "PUT")
        rig = StepRig(request, .file(url))
    }

    @Test("Each request that sends the file gets it opened anew")
    func opened() async throws {
        let step = BodyFileStep(url)
        #expect(try step.take() == nil)
        for _ in 1...2 {
            await rig.completeElsewhere(step)
            #expect(rig.onLoop { step.complete(rig) }.isPass)
            #expect(try step.take()?.length == 4)
            #expect(try step.take() == nil)
        }
        #expect(step.description == UploadedFile(url))
    }

    @Test("A file that isn't there fails the request that would send it")
    func missing() async throws {
        let step = BodyFileStep(directory.url.appendingPathComponent("other"))
        await rig.completeElsewhere(step)
        let error = #expect(throws: URLError.self) { try step.take() }
        #expect(error?.code == .fileDoesNotExist && error?.failingURL == request.url)
        #expect(step.description == nil)
    }

    @Test("A file other than the one that the task was made for isn't sent", arguments: [false, true])
    func changed(isChanged: Bool) async throws {
        let step = BodyFileStep(url, expecting: UploadedFile(url))
        if isChanged { try Data("another body".utf8).write(to: url) }
        await rig.completeElsewhere(step)
        let file = try #require(try step.take())
        let plan = try TransferPlan(
            request,
            ticket: nil,
            body: FileBody(file, for: request.url) {},
            settings: rig.session.settings,
            keepsCredentials: true
        )
        let result = Result { try step.encode(plan, rig) }
        guard isChanged else { return try result.get() }
        #expect { try result.get() } throws: { ($0 as? URLError)?.code == .cannotOpenFile }
    }

    @Test("A redirect that has left the body behind needs no file")
    func leftBehind() throws {
        let step = BodyFileStep(url)
        let redirect = try rig.steps.redirect.receive(
            rig.received(Sample.head(303, ["Location": "/new"])),
            rig
        )
        rig.request = redirect.next
        #expect(rig.request?.httpMethod == "GET")
        #expect(rig.onLoop { step.complete(rig) }.isPass)
        #expect(try step.take() == nil)
    }
}
