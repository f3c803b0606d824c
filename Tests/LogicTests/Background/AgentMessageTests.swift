import Foundation
import Testing

@testable import CurlNetworking

@Suite("What a program makes of an agent's messages")
struct AgentMessageTests {
    private func progress(_ counters: TaskCounters = TaskCounters()) -> TaskProgress {
        TaskProgress(key: UUID(), counters: counters)
    }

    private func listing(_ counters: TaskCounters = TaskCounters()) throws -> TaskListing {
        let submission = TaskSubmission(
            key: UUID(),
            identifier: 1,
            kind: .download,
            request: try #require(RequestDescription(Sample.request())),
            cookies: [],
            intent: TaskIntent(isSuspended: false, settings: TaskSettings())
        )
        return TaskListing(submission: submission, progress: progress(counters))
    }

    private func decoded<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> Value {
        try WireCoding.decoder.decode(type, from: Data(json.utf8))
    }

    /// What the delegate is told, and how much more that is than it knew.
    private func told(_ state: inout TaskState) -> [Int64] {
        var growth: [Int64] = []
        while let message = state.mailbox.next() {
            switch message {
            case .event(.wrote(let total)): growth.append(state.reported.report(written: total))
            case .event(.sent(let sent)): growth.append(state.reported.report(sent))
            case .event(.resumed(let offset, _)): _ = state.reported.report(written: offset)
            default: break
            }
            _ = state.mailbox.delivered()
        }
        return growth
    }

    @Test("The delegate hears of progress since the program before, and of nothing earlier")
    func growth() throws {
        var state = TaskState(try listing(TaskCounters(received: 10)))
        #expect(told(&state) == [])
        state.apply(progress(TaskCounters(received: 25)))
        #expect(told(&state) == [15])
        state.apply(.resumed(offset: 5, expectedTotalBytes: 100))
        state.apply(progress(TaskCounters(received: 12)))
        #expect(told(&state) == [7])
    }

    @Test("The largest integers can follow the smallest ones, and the other way round")
    func extremes() throws {
        var state = TaskState(try listing())
        let most = TaskCounters(
            received: .max,
            sent: .max,
            expectedToReceive: .min,
            expectedToSend: .min,
            requests: .max
        )
        for counters in [most, TaskCounters(), most] { state.apply(progress(counters)) }
        // The one in between has sent nothing yet, which takes nothing back of what was sent.
        #expect(told(&state) == [.max, 0, .max, .max])
    }

    @Test(
        "Counters below zero can't be read",
        arguments: ["received", "sent", "requests"],
        ["-1", "-9223372036854775808"]
    )
    func negative(name: String, number: String) throws {
        let json = #"{"received":0,"sent":0,"expectedToReceive":-1,"expectedToSend":-1,"requests":0}"#
        #expect(try decoded(TaskCounters.self, json).expectedToReceive == -1)
        let wrong = json.replacing("\"\(name)\":0", with: "\"\(name)\":\(number)")
        #expect(throws: DecodingError.self) { try decoded(TaskCounters.self, wrong) }
    }

    @Test("An offset below zero, where a download continues, can't be read")
    func negativeOffset() throws {
        guard case .resumed(0, 1) = try decoded(TaskEvent.self, #"{"resumed":0,"expected":1}"#) else {
            Issue.record("It is another event")
            return
        }
        #expect(throws: DecodingError.self) {
            try decoded(TaskEvent.self, #"{"resumed":-9223372036854775808,"expected":1}"#)
        }
        #expect(try decoded(TaskProgress.Resumption.self, #"{"offset":0,"expected":1}"#).offset == 0)
        #expect(throws: DecodingError.self) {
            try decoded(TaskProgress.Resumption.self, #"{"offset":-9223372036854775808,"expected":1}"#)
        }
    }

    @Test("Metrics whose dates make no sense have no duration", arguments: [Double.nan, .infinity])
    func metrics(date: Double) throws {
        var description = MetricsDescription(
            TaskMetrics(hops: [], interval: DateInterval(start: Date(), duration: 1), redirectCount: 0)
        )
        #expect(description.metrics.interval.duration > 0.9)
        description.start = Date(timeIntervalSinceReferenceDate: date)
        description.end = Date(timeIntervalSinceReferenceDate: date)
        #expect(description.metrics.interval.duration == 0)
    }

    @Test("Metrics that last for ages have no duration", arguments: [Double.infinity, 1e300, 1e10])
    func longMetrics(duration: Double) {
        var description = MetricsDescription(
            TaskMetrics(hops: [], interval: DateInterval(start: Date(), duration: 1), redirectCount: 0)
        )
        description.end = Date(timeIntervalSinceReferenceDate: duration)
        let metrics = URLSessionTaskMetrics(description.metrics)
        #expect(metrics.taskInterval.duration == 0)
        #expect(metrics.description == "0 ms, 0 redirects")
    }

    @Test("Of all attempts' requests, the metrics have the last 50")
    func manyAttempts() throws {
        func attempt(_ numbers: Range<Int>) throws -> MetricsDescription {
            let hops = try numbers.map { number in
                HopMetrics(try Sample.request("http://a/\(number)"))
            }
            return MetricsDescription(
                TaskMetrics(hops: hops, interval: DateInterval(start: Date(), duration: 1), redirectCount: 0)
            )
        }
        var description = try attempt(0..<30)
        #expect(description.metrics.hops.count == 30)
        description.add(try attempt(30..<60))
        #expect(description.metrics.hops.map { $0.request.url?.path } == (10..<60).map { "/\($0)" })
        #expect(try attempt(0..<70).hops.count == 50)
    }

    @Test("No command is run for a session that wants no launch events", arguments: [true, false])
    func launchEvents(areWanted: Bool) {
        let configuration = URLSessionConfiguration.background(withIdentifier: "a")
        configuration.curl.background.launchCommand = ["true"]
        configuration.sessionSendsLaunchEvents = areWanted
        let description = SessionDescription(configuration, delegate: nil)
        #expect(description.launchCommand == (areWanted ? ["true"] : []))
    }

    @Test("A credential comes with whether it is for its task alone; from an earlier version, it is for the session")
    func persistence() throws {
        for persistence in [URLCredential.Persistence.none, .forSession] {
            let credential = URLCredential(user: "u", password: "p", persistence: persistence)
            let reply = ChallengeReply(ChallengeAnswer(disposition: .useCredential, credential: credential))
            let same = try WireCoding.decoder.decode(ChallengeReply.self, from: WireCoding.encoder.encode(reply))
            #expect(same.isForTask == (persistence == URLCredential.Persistence.none))
            let object = try #require(same.answer.1)
            #expect(object.persistence == persistence && object.user == "u" && object.password == "p")
        }
        let earlier =
            #"{"disposition":"useCredential","credential":{"password":{"user":"u","password":"p"}},"isOfDelegate":true}"#
        let object = try #require(try decoded(ChallengeReply.self, earlier).answer.1)
        #expect(object.persistence == .forSession && object.password == "p")
    }
}
