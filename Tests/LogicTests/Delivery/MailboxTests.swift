import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("A task's mailbox")
struct MailboxTests {
    static func response() throws -> TaskResponse {
        let response = try URLResponse(
            url: Sample.url("http://example.com/"),
            mimeType: nil,
            expectedContentLength: 0,
            textEncodingName: nil
        )
        return TaskResponse(response)
    }

    static func append(_ text: String, to mailbox: inout Mailbox) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            mailbox.change { _ = $0.append(UnsafeRawBufferPointer(bytes), expected: nil) }
        }
    }

    static func name(_ message: Mailbox.Message) -> String {
        switch message {
        case .event(.resumed(let offset, let total)): "resumed \(offset) of \(total)"
        case .event(.becameDownload): "became download"
        case .event(.becameStream): "became stream"
        case .event(.readClosed): "read closed"
        case .event(.writeClosed): "write closed"
        case .event(.captured): "captured"
        case .event(.sent(let sent)): "sent \(sent.total)"
        case .event(.body(let data)): "body \(String(decoding: data, as: UTF8.self))"
        case .event(.wrote(let total)): "wrote \(total)"
        case .event(.isWaitingForConnectivity): "waits for connectivity"
        case .event(.informational(let head, _)): "informational \(head.status)"
        case .event(.openedWebSocket): "opened web socket"
        case .event(.closedWebSocket): "closed web socket"
        case .disposition: "response"
        case .partDisposition(let head): "part \(head.fields.map(\.value).joined())"
        case .question(.redirect): "redirect"
        case .question(.challenge): "challenge"
        case .question(.bodyStream): "needs body stream"
        case .question(.delayedRequest): "delayed request"
        case .question(.willCache): "will cache"
        case .resumeData: "resume data"
        case .call(.result, _): "call"
        case .call(.message, _): "message"
        case .call(.failure, _): "failed call"
        case .completed: "completed"
        case .end: "step"
        case .progress: "progress"
        }
    }

    static func sent(_ total: Int64, request: Int = 1) -> TaskEvent.SentBytes {
        TaskEvent.SentBytes(total: total, expected: 100, request: request)
    }

    static func part(_ names: String...) -> PartHead {
        let common = ResponseHead(version: "HTTP/1.1", status: 200, fields: [])
        return PartHead(common: common, fields: names.map { HeaderField(name: "X", value: $0) })
    }

    /// Takes everything that can be taken; how the body is cut into pieces doesn't matter here.
    static func take(_ mailbox: inout Mailbox) -> [String] {
        var names: [String] = []
        var body = Data()
        while let message = mailbox.next() {
            if case .event(.body(let piece)) = message {
                body += piece
            } else {
                if !body.isEmpty { names.append(name(.event(.body(body)))) }
                body = Data()
                names.append(name(message))
            }
        }
        return body.isEmpty ? names : names + [name(.event(.body(body)))]
    }

    @Test("The response comes before the body, and the body before the completion")
    func order() throws {
        var mailbox = Mailbox()
        #expect(try mailbox.change { try $0.post(.disposition(of: Self.response())) })
        #expect(!Self.append("a", to: &mailbox))
        #expect(mailbox.change { $0.post(.completed) } == false)
        #expect(!Self.append("b", to: &mailbox), "late bytes still come before the completion")
        #expect(Self.take(&mailbox) == ["response"])
        #expect(mailbox.change { $0.answered() } == true)
        #expect(Self.take(&mailbox) == ["body ab", "completed"])
    }

    @Test("A call goes ahead of a completion that waits, after the other calls")
    func callBeforeCompletion() {
        var mailbox = Mailbox()
        let calls = Watched<[Int]>([])
        for number in 0..<3 {
            if number == 1 { mailbox.change { $0.post(.completed) } }
            mailbox.change { $0.post(.call(.result) { calls.update { $0.append(number) } }) }
        }
        while case .call(_, let body) = mailbox.next() { body() }
        #expect(calls.value == [0, 1, 2])
        #expect(Self.take(&mailbox) == [], "the completion was taken after them")
        mailbox.change { $0.post(.call(.result) {}) }
        #expect(Self.take(&mailbox) == ["call"])
    }

    @Test("A result goes ahead of a web socket's end, and a failure only of the completion")
    func webSocketEnd() {
        var mailbox = Mailbox()
        mailbox.change { $0.post(.event(.openedWebSocket(subprotocol: nil))) }
        mailbox.change { $0.post(.event(.closedWebSocket(code: 1000, reason: Data()))) }
        mailbox.change { $0.post(.call(.failure) {}) }
        mailbox.change { $0.post(.completed) }
        mailbox.change { $0.post(.call(.result) {}) }
        mailbox.change { $0.post(.call(.failure) {}) }
        for name in ["opened web socket", "call"] { #expect(mailbox.next().map(Self.name) == name) }
        // As a handler does that asks for the next message.
        mailbox.change { $0.post(.call(.result) {}) }
        let names = ["call", "closed web socket", "failed call", "failed call", "completed"]
        #expect(Self.take(&mailbox) == names)
        #expect(mailbox.change { $0.post(.call(.failure) {}) } == true)
        #expect(Self.take(&mailbox) == ["failed call"])
    }

    @Test("While the task is suspended, messages of a web socket wait if its end is next, and only then")
    func suspendedWebSocket() {
        var mailbox = Mailbox()
        mailbox.setSuspended(true)
        mailbox.change { $0.post(.call(.message) {}) }
        mailbox.change { $0.post(.call(.result) {}) }
        #expect(Self.take(&mailbox) == ["message", "call"])
        mailbox.change { $0.post(.call(.message) {}) }
        mailbox.change { $0.post(.event(.closedWebSocket(code: 1000, reason: Data()))) }
        #expect(Self.take(&mailbox) == [])
        mailbox.change { $0.post(.completed) }
        #expect(Self.take(&mailbox) == [])
        #expect(mailbox.change { $0.setSuspended(false) })
        #expect(Self.take(&mailbox) == ["message", "closed web socket", "completed"])
        // The program can't resume a task that is over.
        mailbox.setSuspended(true)
        #expect(mailbox.change { $0.post(.call(.message) {}) } == true)
        mailbox.change { $0.post(.call(.failure) {}) }
        #expect(Self.take(&mailbox) == ["message", "failed call"])
    }

    @Test("Messages of a suspended web socket no longer wait when it is cancelled")
    func discardedSuspendedWebSocket() {
        var mailbox = Mailbox()
        mailbox.setSuspended(true)
        mailbox.post(.call(.message) {})
        mailbox.post(.event(.closedWebSocket(code: 1000, reason: Data())))
        mailbox.post(.completed)
        let discarded = mailbox.discard()
        #expect(discarded.schedules)
        #expect(Self.take(&mailbox) == ["message", "completed"])
    }

    @Test("A cancelled web socket's delegate isn't told that it is closed, but its handlers that they failed")
    func discardedWebSocketEnd() {
        var mailbox = Mailbox()
        mailbox.change { $0.post(.event(.closedWebSocket(code: 1000, reason: Data()))) }
        mailbox.change { $0.post(.call(.failure) {}) }
        mailbox.change { $0.post(.completed) }
        #expect(mailbox.discard().messages.count == 1)
        #expect(Self.take(&mailbox) == ["failed call", "completed"])
    }

    @Test("The completion alone waits for callers that have yet to be answered, each of them")
    func heldCompletion() {
        var mailbox = Mailbox()
        mailbox.holdCompletion()
        mailbox.holdCompletion()
        #expect(
            mailbox.change { $0.post(.completed) } == false,
            "nobody is to be scheduled for what can't be delivered"
        )
        #expect(mailbox.change { $0.post(.call(.result) {}) } == true)
        #expect(Self.take(&mailbox) == ["call"])
        #expect(mailbox.change { $0.releaseCompletion() } == false)
        #expect(Self.take(&mailbox) == [])
        #expect(Self.append("a", to: &mailbox))
        #expect(Self.take(&mailbox) == ["body a"])
        #expect(mailbox.change { $0.releaseCompletion() } == true)
        #expect(Self.take(&mailbox) == ["completed"])
    }

    @Test("Nothing behind an unanswered response is delivered, however often it is asked for")
    func unansweredResponse() throws {
        var mailbox = Mailbox()
        try mailbox.change { try $0.post(.disposition(of: Self.response())) }
        _ = mailbox.next()
        #expect(mailbox.isAwaitingAnswer)
        #expect(
            mailbox.change { $0.post(.completed) } == false,
            "nobody is to be scheduled for what can't be delivered"
        )
        #expect(!Self.append("a", to: &mailbox))
        for _ in 0..<3 { #expect(Self.take(&mailbox) == []) }
        #expect(mailbox.change { $0.answered() } == true)
        #expect(mailbox.change { $0.answered() } == false, "the first answer counts")
        #expect(Self.take(&mailbox) == ["body a", "completed"])
    }

    @Test("An answer given while the delivery is still under way continues it")
    func immediateAnswer() throws {
        var mailbox = Mailbox()
        #expect(try mailbox.change { try $0.post(.disposition(of: Self.response())) })
        mailbox.change { $0.post(.completed) }
        _ = mailbox.next()
        #expect(mailbox.change { $0.answered() } == false, "whoever delivers is about to ask again")
        #expect(Self.take(&mailbox) == ["completed"])
    }

    @Test("Progress that hasn't been delivered yet is replaced by newer progress")
    func coalescing() {
        var mailbox = Mailbox()
        #expect(mailbox.change { $0.post(.event(.sent(Self.sent(1)))) } == true)
        for total in 2...100 { mailbox.change { $0.post(.event(.sent(Self.sent(Int64(total))))) } }
        mailbox.change { $0.post(.event(.wrote(5))) }
        mailbox.change { $0.post(.event(.wrote(7))) }
        mailbox.change { $0.post(.completed) }
        #expect(Self.take(&mailbox) == ["sent 100", "wrote 7", "completed"])
    }

    @Test("Of informational responses that wait, the newest are kept, and so is the newest progress between them")
    func informational() throws {
        let request = try URLRequest(url: Sample.url("http://example.com/"))
        var mailbox = Mailbox()
        func post(_ status: Int) {
            let head = ResponseHead(version: "HTTP/1.1", status: status, fields: [])
            mailbox.change { $0.post(.event(.informational(head, to: request))) }
        }
        mailbox.change { $0.post(.event(.resumed(offset: 1, expectedTotalBytes: 2))) }
        let (count, most) = (100_000, Mailbox.maximumInformational)
        for number in 0..<count {
            post(number)
            mailbox.change { $0.post(.event(.sent(Self.sent(Int64(number))))) }
        }
        mailbox.change { $0.post(.completed) }
        let names = Self.take(&mailbox)
        let first = count - names.count { $0.hasPrefix("informational") }
        #expect((count - most...count - most / 2).contains(first))
        let newest = (first..<count).flatMap { ["informational \($0)", "sent \($0)"] }
        #expect(names == ["resumed 1 of 2", "sent \(first - 1)"] + newest + ["completed"])
        // Those that were delivered count no more.
        for number in 0..<most { post(number) }
        #expect(Self.take(&mailbox) == (0..<most).map { "informational \($0)" })
    }

    @Test("Totals take each other's place, but not that of a file that starts over")
    func restarted() {
        var mailbox = Mailbox()
        for total: Int64 in [100, 200, 0, 300, 400] { mailbox.change { $0.post(.event(.wrote(total))) } }
        var totals: [Int64] = []
        while case .event(.wrote(let total))? = mailbox.next() { totals.append(total) }
        #expect(totals == [0, 400])
    }

    @Test("A part comes after the bytes of the one before and ahead of its own, and waits for its answer")
    func parts() {
        var mailbox = Mailbox()
        func part(_ name: String) -> Bool {
            mailbox.change { _ = $0.beginPart(Self.part(name)) }
        }
        #expect(part("1"))
        #expect(!Self.append("a", to: &mailbox))
        #expect(!part("2"))
        #expect(!part("3"))
        #expect(!Self.append("b", to: &mailbox))
        mailbox.change { $0.post(.completed) }
        #expect(Self.take(&mailbox) == ["part 1"])
        #expect(mailbox.change { $0.answered() } == true)
        #expect(Self.take(&mailbox) == ["body a", "part 2"])
        #expect(mailbox.change { $0.answered() } == true)
        #expect(Self.take(&mailbox) == ["part 3"])
        #expect(mailbox.change { $0.answered() } == true)
        #expect(Self.take(&mailbox) == ["body b", "completed"])
    }

    @Test("Parts that wait count, and are bounded")
    func boundedParts() {
        var mailbox = Mailbox()
        var full: [Int] = []
        for number in 0..<(Mailbox.maximumBeforePart / PartHead.minimumCost) {
            if mailbox.beginPart(Self.part()) == true { full.append(number) }
        }
        #expect(full == [BodyBuffer.highMark / PartHead.minimumCost])
        let surplus = mailbox.beginPart(Self.part())
        #expect(surplus == nil)
        _ = mailbox.discard()
        #expect(mailbox.body.waitingBytes == 0)
        let next = mailbox.beginPart(Self.part())
        #expect(next == false && mailbox.isIdle, "no more of them are wanted")
    }

    @Test("A part's fields count too")
    func costOfFields() throws {
        var mailbox = Mailbox()
        let common = ResponseHead(version: "HTTP/1.1", status: 200, fields: [])
        let head = PartHead(common: common, fields: Array(repeating: HeaderField(name: "a", value: ""), count: 5000))
        var count = 0
        while mailbox.beginPart(head) != nil { count += 1 }
        #expect(count * 5000 * MemoryLayout<HeaderField>.size <= Mailbox.maximumBeforePart)
        mailbox.change { $0.post(.completed) }
        var waiting = mailbox.body.waitingBytes
        while case .partDisposition(let head) = mailbox.next() {
            _ = mailbox.consumed(head.cost)
            #expect(mailbox.body.waitingBytes < waiting)
            waiting = mailbox.body.waitingBytes
            mailbox.change { $0.answered() }
        }
        #expect(waiting == 0)
    }

    @Test("A task's Progress is brought up to date once, ahead of all messages and whatever holds these up")
    func progress() throws {
        var mailbox = Mailbox()
        try mailbox.change { try $0.post(.disposition(of: Self.response())) }
        _ = mailbox.next()
        _ = mailbox.delivered()
        mailbox.change { $0.post(.completed) }
        #expect(mailbox.change { $0.postProgress() } == true)
        #expect(mailbox.change { $0.postProgress() } == false, "one is on its way")
        #expect(Self.take(&mailbox) == ["progress"])
        mailbox.hold()
        #expect(mailbox.change { $0.answered() } == false)
        #expect(mailbox.change { $0.postProgress() } == true)
        #expect(mailbox.change { $0.release() } == false, "somebody comes already")
        #expect(Self.take(&mailbox) == ["progress", "completed"])
        #expect(mailbox.isIdle)
    }

    @Test("A question that is passed on is the next message in every state: unanswered, held, discarded, completed")
    func passedOn() throws {
        var mailbox = Mailbox()
        #expect(try mailbox.change { try $0.post(.disposition(of: Self.response())) })
        _ = mailbox.next()
        mailbox.change { $0.post(.event(.resumed(offset: 1, expectedTotalBytes: 2))) }
        #expect(mailbox.change { $0.passOn {} } == false, "after the message that passes it on")
        let isScheduled = mailbox.delivered()
        #expect(isScheduled, "in an operation of its own")
        #expect(Self.take(&mailbox) == ["call"])
        mailbox.hold()
        #expect(mailbox.change { $0.passOn {} })
        #expect(!mailbox.isIdle)
        #expect(mailbox.change { $0.passOn {} } == false, "one after the other")
        #expect(Self.take(&mailbox) == ["call", "call"])
        mailbox.change { $0.release() }
        _ = mailbox.discard()
        #expect(mailbox.change { $0.passOn {} })
        #expect(mailbox.change { $0.post(.completed) } == false)
        #expect(Self.take(&mailbox) == ["call", "completed"])
        #expect(mailbox.change { $0.passOn {} })
        #expect(Self.take(&mailbox) == ["call"])
        #expect(mailbox.isIdle)
    }

    @Test("Discarding keeps the completion and the resume data, and nothing else")
    func discard() throws {
        var mailbox = Mailbox()
        mailbox.change { $0.post(.event(.resumed(offset: 1, expectedTotalBytes: 2))) }
        mailbox.change { $0.post(.question(.bodyStream(from: 0) { _ in })) }
        mailbox.change { $0.post(.event(.sent(Self.sent(1)))) }
        try mailbox.change { try $0.post(.disposition(of: Self.response())) }
        _ = Self.append("body", to: &mailbox)
        mailbox.change { $0.post(.event(.wrote(1))) }
        mailbox.change { $0.post(.resumeData(nil) { _ in }) }
        mailbox.change { $0.post(.completed) }
        let discarded = mailbox.discard()
        #expect(!discarded.schedules, "a delivery is scheduled already")
        // The offset, two byte counts and two questions.
        #expect(discarded.messages.count == 5)
        #expect(Self.take(&mailbox) == ["resume data", "completed"])
        #expect(mailbox.body.waitingBytes == 0)
    }

    @Test("Discarding keeps what a task has become: the completion is about that")
    func discardConverted() throws {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try Sample.url("http://example.com/"))
        for event in [TaskEvent.becameDownload(from: task), .becameStream(from: task)] {
            var mailbox = Mailbox()
            mailbox.change { $0.postFirst(.event(event)) }
            mailbox.change { $0.post(.event(.wrote(1))) }
            mailbox.change { $0.post(.completed) }
            _ = mailbox.discard()
            #expect(Self.take(&mailbox).count == 2)
        }
        task.cancel()
    }

    @Test("What is posted after a discard is discarded by the same rules")
    func afterDiscarding() throws {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try Sample.url("http://example.com/"))
        var mailbox = Mailbox()
        _ = Self.append("body", to: &mailbox)
        _ = mailbox.discard()
        #expect(Self.take(&mailbox) == [])
        #expect(mailbox.beginPart(Self.part("1")) == false)
        #expect(!Self.append("part", to: &mailbox))
        #expect(mailbox.change { $0.post(.event(.sent(Self.sent(1)))) } == false)
        #expect(try mailbox.change { try $0.post(.disposition(of: Self.response())) } == false)
        #expect(mailbox.change { $0.postFirst(.event(.wrote(1))) } == false)
        #expect(mailbox.isIdle && mailbox.body.waitingBytes == 0)
        #expect(mailbox.change { $0.post(.call(.result) {}) } == true)
        mailbox.change { $0.post(.resumeData(nil) { _ in }) }
        mailbox.change { $0.post(.completed) }
        mailbox.change { $0.postFirst(.event(.becameDownload(from: task))) }
        #expect(Self.take(&mailbox) == ["became download", "call", "resume data", "completed"])
        task.cancel()
    }

    @Test("Discarding answers a response that waits, and asks for the delivery of the rest")
    func discardAwaiting() throws {
        var mailbox = Mailbox()
        try mailbox.change { try $0.post(.disposition(of: Self.response())) }
        #expect(Self.take(&mailbox) == ["response"])
        mailbox.change { $0.post(.completed) }
        let discarded = mailbox.discard()
        #expect(discarded.schedules)
        #expect(Self.take(&mailbox) == ["completed"])
    }

    @Test("A message put first overtakes all that wait")
    func first() throws {
        var mailbox = Mailbox()
        try mailbox.change { try $0.post(.disposition(of: Self.response())) }
        #expect(Self.take(&mailbox) == ["response"])
        mailbox.change { $0.post(.event(.resumed(offset: 0, expectedTotalBytes: 0))) }
        mailbox.change { $0.post(.completed) }
        #expect(mailbox.change { $0.postFirst(.question(.bodyStream(from: 0) { _ in })) } == false)
        #expect(mailbox.change { $0.answered() } == true)
        #expect(Self.take(&mailbox) == ["needs body stream", "resumed 0 of 0", "completed"])
    }

    @Test("A body that is taken out in one go is whole, in order, and counts no longer")
    func takeBody() throws {
        var mailbox = Mailbox()
        for text in ["a", "bc", "def"] { _ = Self.append(text, to: &mailbox) }
        mailbox.change { $0.post(.completed) }
        #expect(mailbox.takeBody().reduce(Data(), +) == Data("abcdef".utf8))
        #expect(mailbox.body.isEmpty)
        #expect(mailbox.body.waitingBytes == 0)
        #expect(Self.take(&mailbox) == ["completed"])
    }

    @Test("While the body is held, it waits with all that comes after it, and everything else is delivered")
    func heldBody() throws {
        var mailbox = Mailbox()
        mailbox.setSuspended(true)
        #expect(!Self.append("body", to: &mailbox))
        #expect(mailbox.change { $0.post(.event(.sent(Self.sent(5)))) })
        #expect(Self.take(&mailbox) == ["sent 5"])
        #expect(!mailbox.change { $0.post(.completed) })
        #expect(Self.take(&mailbox) == [])
        #expect(mailbox.change { $0.setSuspended(false) })
        #expect(Self.take(&mailbox) == ["body body", "completed"])
    }

    @Test("What is left of a body that was held is dropped by a cancellation, and doesn't hold the completion")
    func discardedHeldBody() throws {
        var mailbox = Mailbox()
        mailbox.setSuspended(true)
        #expect(!Self.append("body", to: &mailbox))
        mailbox.post(.completed)
        let discarded = mailbox.discard()
        #expect(discarded.schedules)
        #expect(Self.take(&mailbox) == ["completed"])
    }

    @Test("A message that has been delivered is followed by another operation where there are more, and only there")
    func delivered() throws {
        var mailbox = Mailbox()
        #expect(try mailbox.change { try $0.post(.disposition(of: Self.response())) })
        _ = mailbox.next()
        #expect(mailbox.delivered() == false, "what comes next waits for the answer")
        #expect(mailbox.change { $0.post(.completed) } == false)
        #expect(mailbox.change { $0.answered() } == true)
        _ = mailbox.next()
        #expect(mailbox.delivered() == false)
        #expect(mailbox.isIdle)
    }

    @Test("The rest of a completion is told ahead of whatever may have come after its first step")
    func steps() {
        var mailbox = Mailbox()
        mailbox.change { $0.post(.completed) }
        guard case .completed = mailbox.next() else {
            Issue.record("no completion")
            return
        }
        mailbox.change { $0.post(.event(.wrote(1))) }
        mailbox.goesOn(with: [.over, .over])
        #expect(mailbox.delivered() == true)
        #expect(Self.take(&mailbox) == ["step", "step", "wrote 1"])
    }

    @Test("The consumer's pace comes back through the mailbox")
    func consumed() {
        var mailbox = Mailbox()
        let piece = [UInt8](repeating: 1, count: BodyBuffer.highMark + 1)
        let isFull = piece.withUnsafeBytes { mailbox.append($0, expected: nil) }
        #expect(isFull)
        guard case .event(.body(let data)) = mailbox.next() else {
            Issue.record("no body")
            return
        }
        #expect(mailbox.consumed(data.count) == true, "the transfer may go on")
        #expect(mailbox.consumed(0) == false)
    }

    @Test(
        "There is one delivery at a time, and no message is left without one",
        arguments: 1...30 as ClosedRange<UInt64>
    )
    func noLostWakeUp(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var mailbox = Mailbox()
        var deliveries = 0
        var posted = 0
        var delivered = 0
        func schedule(_ wanted: Bool) {
            guard wanted else { return }
            deliveries += 1
            #expect(deliveries == 1, "two deliveries at once")
        }
        let response = try Self.response()
        var passedOn = 0
        for _ in 0..<3000 {
            switch Int.random(in: 0..<11, using: &generator) {
            case 0, 1:
                posted += 1
                schedule(mailbox.change { $0.post(.event(.resumed(offset: Int64(posted), expectedTotalBytes: 0))) })
            case 2:
                posted += 1
                schedule(Self.append("x", to: &mailbox))
            case 3:
                posted += 1
                schedule(mailbox.change { $0.post(.disposition(of: response)) })
            case 4:
                schedule(mailbox.change { $0.answered() })
            case 5..<9 where deliveries == 1:
                let wasAwaiting = mailbox.isAwaitingAnswer
                guard let message = mailbox.next() else {
                    deliveries = 0
                    continue
                }
                if case .call = message {
                    passedOn -= 1
                    continue
                }
                #expect(!wasAwaiting, "delivered behind an unanswered response")
                if case .event(.body(let data)) = message {
                    delivered += data.count
                    _ = mailbox.consumed(data.count)
                } else {
                    delivered += 1
                }
            case 9:
                passedOn += 1
                schedule(mailbox.change { $0.passOn {} })
            default:
                break
            }
            if passedOn > 0 || delivered < posted && !mailbox.isAwaitingAnswer {
                #expect(deliveries == 1, "something waits, and nobody comes for it")
            }
        }
    }
}

extension Mailbox {
    /// Makes a change; true if a delivery must be scheduled after it.
    @discardableResult
    fileprivate mutating func change(_ body: (inout Mailbox) throws -> Void) rethrows -> Bool {
        try body(&self)
        return claimDelivery()
    }
}
