import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The step of protocol classes")
struct ProtocolClassStepTests {
    private final class Delegate: NSObject, URLSessionTaskDelegate {}

    private final class Class: CurlNetworking.URLProtocol, @unchecked Sendable {}

    private let step = ProtocolClassStep()
    private let request: URLRequest

    init() throws {
        request = try Sample.request("http://example.com/", "PUT")
    }

    private func rig(_ body: TaskBody.Source = .request, hasClass: Bool = true) -> StepRig {
        let rig = StepRig(request, body) { $0.protocolClasses = hasClass ? [Class.self] : [] }
        rig.task = URLSessionDataTask(engine: TaskEngineTests.Engine(request))
        return rig
    }

    private static let challenge = Sample.challenge()

    @Test("A request is offered to the session's classes once")
    func offered() {
        #expect(rig().prepare(step).transfer is ProtocolTransfer)
        #expect(rig().prepare(step, .repeated).isPass)
        #expect(rig(hasClass: false).prepare(step).isPass)
    }

    @Test("The request for a resumed upload's offset is offered to no class")
    func resuming() throws {
        let data = UploadResumeData(
            request: StoredRequest(request, to: try #require(request.url)),
            resource: UploadResource(url: try Sample.url("http://example.com/uploads/1"), version: .v6),
            acknowledged: 0,
            sent: 0,
            length: 1,
            body: .bytes(Data(count: 1))
        )
        let resumption = try UploadResumption(data, in: FileManager.default.temporaryDirectory)
        let upload = UploadStep(offering: .v6, resuming: resumption)
        let rig = rig()
        rig.steps = Steps(rig.session.settings, Steps.Facts(upload: upload))
        #expect(rig.prepare(ResumedUploadStep(upload)).isPass)
        #expect(rig.prepare(step).isPass)
    }

    @Test("An upload whose file can't be one fails before a class is asked")
    func refused() throws {
        let rig = rig(.file(try Sample.url("http://example.com/file")))
        #expect(rig.prepare(step).failure?.code == .fileDoesNotExist)
    }

    @Test("The network loads what no class takes, but doesn't follow a class's redirect to a file")
    func declined() throws {
        let rig = rig()
        _ = rig.prepare(step)
        step.decline(nil)
        #expect(rig.proceeded == 1 && rig.error == nil)
        let url = try Sample.url("http://example.com/")
        let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
        step.redirect(to: try Sample.request("file:///etc/passwd"), from: request, by: response)
        step.decline(nil)
        #expect(rig.proceeded == 1 && rig.error != nil)
    }

    @Test("A class's challenge is the delegate's, and handled by default without one", arguments: [false, true])
    func challenged(hasDelegate: Bool) throws {
        let rig = rig()
        if hasDelegate { rig.delegates = DelegateSet(Delegate()) }
        _ = rig.prepare(step)
        let answers = Watched([URLSession.AuthChallengeDisposition]())
        let sender = ChallengeSender { answer in answers.update { $0.append(answer.disposition) } }
        step.challenge(Self.challenge, answerTo: sender)
        #expect(rig.questions.count == (hasDelegate ? 1 : 0))
        #expect(answers.value == (hasDelegate ? [] : [.performDefaultHandling]))
    }

    @Test("A challenge that is cancelled cancels the task, and any other answer doesn't end it")
    func answered() {
        let rig = rig()
        _ = rig.prepare(step)
        for disposition in [nil, .useCredential, .performDefaultHandling] as [URLSession.AuthChallengeDisposition?] {
            step.challengeEnded(disposition)
        }
        #expect(rig.error == nil)
        step.challengeEnded(.cancelAuthenticationChallenge)
        #expect(rig.error?.code == .cancelled)
    }
}
