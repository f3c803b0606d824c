import Testing

@testable import CurlNetworking

@Suite("Reported progress")
struct ReportedProgressTests {
    @Test("Progress counts from what was last reported")
    func growth() {
        var reported = ReportedProgress()
        #expect(reported.report(MailboxTests.sent(10)) == 10)
        #expect(reported.report(MailboxTests.sent(25)) == 15)
        #expect(reported.report(written: 100) == 100)
        #expect(reported.report(written: 100) == 0)
        #expect(reported.sent == MailboxTests.sent(25))
        #expect(reported.written == 100)
        #expect(reported.report(MailboxTests.sent(20)) == 20, "a body that is sent again begins anew")
        #expect(reported.report(MailboxTests.sent(30, request: 2)) == 30, "another request begins anew")
        var rest = MailboxTests.sent(50, request: 4)
        rest.isRest = true
        #expect(reported.report(rest) == 20, "a rest goes on")
        reported.skipSent(to: 80)
        (rest.request, rest.total) = (6, 100)
        #expect(reported.report(rest) == 20, "at what the server had beyond that")
        #expect(reported.report(written: 40) == 40, "the file began anew")
    }
}
