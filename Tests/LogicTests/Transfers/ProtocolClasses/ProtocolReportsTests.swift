import Foundation
import Testing

@testable import CurlNetworking

@Suite("What a program's own protocol class reports, in the order a task can follow")
struct ProtocolReportsTests {
    private typealias Report = ProtocolReports.Report

    private static let response = URLResponse(
        url: URL(fileURLWithPath: "/first"),
        mimeType: nil,
        expectedContentLength: -1,
        textEncodingName: nil
    )
    private static let other = URLResponse(
        url: URL(fileURLWithPath: "/second"),
        mimeType: nil,
        expectedContentLength: -1,
        textEncodingName: nil
    )
    private static let redirect = Report.redirect(URLRequest(url: URL(fileURLWithPath: "/next")), other)

    private static func data(_ text: String) -> Report { .data(Data(text.utf8)) }

    private static func cached(_ text: String) -> Report {
        .cachedResponseIsValid(CachedURLResponse(response: other, data: Data(text.utf8)))
    }

    /// The steps in words.
    private static func story(_ reports: [Report]) -> [String] {
        var taken = ProtocolReports()
        for report in reports { taken.append(report) }
        return rest(of: &taken)
    }

    private static func rest(of reports: inout ProtocolReports) -> [String] {
        var story: [String] = []
        while let step = reports.next() { story.append(words(step)) }
        return story
    }

    private static func words(_ step: ProtocolReports.Step) -> String {
        switch step {
        case .response(let response, _): response?.url?.lastPathComponent ?? "plain"
        case .data(let data): String(decoding: data, as: UTF8.self)
        case .challenge: "challenge"
        case .redirect(let request, _): "to \(request.url?.lastPathComponent ?? "nowhere")"
        case .ended(let error): error.map { "failed \($0.code.rawValue)" } ?? "finished"
        }
    }

    private static let failure = Report.failed(URLError(.timedOut))

    @Test("A redirect after a response is an error: what follows would be added to what the task has already")
    func lateRedirect() {
        let code = URLError.Code.badServerResponse.rawValue
        let reports = [Report.response(Self.response, .allowed), Self.data("a"), Self.redirect, .finished]
        #expect(Self.story(reports) == ["first", "a", "failed \(code)"])
    }

    @Test("A load as it should be passes as it is")
    func proper() {
        let reports = [Report.response(Self.response, .allowed), Self.data("a"), Self.data("b"), .finished]
        #expect(Self.story(reports) == ["first", "a", "b", "finished"])
    }

    @Test("The first of two reported responses counts")
    func twoResponses() {
        let reports = [
            Report.response(Self.response, .allowed), Self.data("a"), .response(Self.other, .allowed), Self.data("b"),
            .finished,
        ]
        #expect(Self.story(reports) == ["first", "a", "b", "finished"])
    }

    @Test("Data before the response waits for it")
    func earlyData() {
        var reports = ProtocolReports()
        reports.append(Self.data("a"))
        reports.append(Self.data("b"))
        #expect(Self.rest(of: &reports) == [])
        reports.append(.response(Self.response, .allowed))
        reports.append(Self.data("c"))
        #expect(Self.rest(of: &reports) == ["first", "a", "b", "c"])
    }

    @Test("Without a response there is a plain one at the end, and none before a failure")
    func noResponse() {
        #expect(Self.story([Self.data("a"), .finished]) == ["plain", "a", "finished"])
        #expect(Self.story([.finished]) == ["plain", "finished"])
        #expect(Self.story([Self.data("a"), Self.failure]) == ["failed -1001"])
    }

    @Test("The first end is the end")
    func ends() {
        let begin = Report.response(Self.response, .allowed)
        #expect(Self.story([begin, .finished, .finished]) == ["first", "finished"])
        #expect(Self.story([begin, .finished, Self.failure, Self.data("a")]) == ["first", "finished"])
        #expect(Self.story([begin, Self.failure, .finished]) == ["first", "failed -1001"])
        #expect(Self.story([Self.redirect, Self.failure, begin]) == ["to next"])
        #expect(Self.story([Self.failure, Self.redirect]) == ["failed -1001"])
    }

    @Test("A valid cached response is the answer where there is no other")
    func cachedResponse() {
        #expect(Self.story([Self.cached("old"), .finished]) == ["second", "old", "finished"])
        let reported = [Self.cached("old"), .response(Self.response, .notAllowed), Self.data("new"), .finished]
        #expect(Self.story(reported) == ["first", "new", "finished"])
        #expect(Self.story([Self.cached("old"), Self.cached("older"), .finished]) == ["second", "old", "finished"])
        #expect(Self.story([Self.cached("old"), Self.failure]) == ["failed -1001"])
    }

    @Test("A challenge that is taken back before the task has taken it is left out, and no other is")
    func withdrawal() {
        let space = URLProtectionSpace(
            host: "mock",
            port: 80,
            protocol: "http",
            realm: nil,
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic
        )
        let challenges = (0..<2).map { _ in
            URLAuthenticationChallenge(
                protectionSpace: space,
                proposedCredential: nil,
                previousFailureCount: 0,
                failureResponse: nil,
                error: nil,
                sender: ChallengeSender { _ in }
            )
        }
        var reports = ProtocolReports()
        reports.append(.response(Self.response, .allowed))
        for challenge in challenges { reports.append(.challenge(challenge)) }
        reports.append(Self.data("a"))
        #expect(reports.next().map(Self.words) == "first")
        reports.withdraw(challenges[0])
        #expect(Self.rest(of: &reports) == ["challenge", "a"])
        reports.withdraw(challenges[1])
        reports.append(.finished)
        #expect(Self.rest(of: &reports) == ["finished"])
    }

    @Test("Large data comes in pieces, and all of it")
    func pieces() {
        var reports = ProtocolReports()
        reports.append(.response(Self.response, .allowed))
        reports.append(.data(Data(repeating: 1, count: 1_000_000)))
        reports.append(.data(Data(repeating: 2, count: 3)))
        reports.append(.data(Data()))
        var sizes: [Int] = []
        while let step = reports.next() { if case .data(let data) = step { sizes.append(data.count) } }
        #expect(sizes == [262_144, 262_144, 262_144, 213_568, 3, 0])
    }

    @Test("However many reports wait, all come in order")
    func many() {
        var reports = ProtocolReports()
        reports.append(.response(Self.response, .allowed))
        var story: [String] = []
        for number in 0..<10_000 {
            reports.append(Self.data("\(number)"))
            if number % 3 == 0, let step = reports.next() { story.append(Self.words(step)) }
        }
        story += Self.rest(of: &reports)
        #expect(story == ["first"] + (0..<10_000).map { "\($0)" })
    }
}
