import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The closing handshake of web sockets")
struct WebSocketCloseHandshakeTests {
    private typealias Handshake = WebSocketCloseHandshake

    private let normal = WebSocketClosing(1000)
    private let away = WebSocketClosing(1001, reason: Data("bye".utf8))
    private let violation = WebSocketViolation(.invalidPayload, "bad")

    private func make() -> Handshake { Handshake(closeTimeout: .seconds(10), disconnectTimeout: .seconds(1)) }

    @Test("The server closes: its status is repeated, and it hangs up")
    func byServer() {
        var handshake = make()
        #expect(handshake.handle(.received(away)) == [.send(WebSocketClosing(1001)), .wait(.seconds(1))])
        #expect(!handshake.isSending && !handshake.isReceiving)
        #expect(handshake.handle(.connectionEnded) == [.finish(.closed(away))])
        #expect(handshake.isClosed)
    }

    @Test("The program closes: the server answers and hangs up, or does neither in time")
    func byProgram() {
        var handshake = make()
        #expect(handshake.handle(.close(normal)) == [.send(normal), .wait(.seconds(10))])
        #expect(handshake.answersPings && !handshake.isSending && !handshake.isReceiving)
        #expect(handshake.handle(.received(away)) == [.wait(.seconds(1))])
        #expect(!handshake.answersPings)
        #expect(handshake.handle(.timeIsUp(afterProgress: false)) == [.finish(.closed(away))])
        for event in [Handshake.Event.timeIsUp(afterProgress: false), .connectionEnded] {
            var handshake = make()
            _ = handshake.handle(.close(normal))
            #expect(handshake.handle(event) == [.finish(.lost(sent: normal))])
        }
    }

    @Test("The program wants to close, and the server takes what comes before: as slowly as it likes, but something")
    func draining() {
        var handshake = make()
        #expect(handshake.handle(.closeSoon) == [.wait(.seconds(10))])
        #expect(handshake.isSending && !handshake.isReceiving)
        #expect(handshake.handle(.closeSoon) == [])
        #expect(handshake.handle(.timeIsUp(afterProgress: true)) == [.wait(.seconds(10))])
        var stuck = handshake
        #expect(stuck.handle(.timeIsUp(afterProgress: false)) == [.finish(.lost(sent: nil))])
        #expect(handshake.handle(.close(normal)) == [.send(normal), .wait(.seconds(10))])
        // The system may have taken more than the server has.
        #expect(handshake.handle(.timeIsUp(afterProgress: true)) == [.wait(.seconds(10))])
        #expect(handshake.handle(.timeIsUp(afterProgress: false)) == [.finish(.lost(sent: normal))])
    }

    @Test("A violation is answered with its status, unless a close frame has been sent")
    func violations() {
        var handshake = make()
        #expect(handshake.handle(.violation(violation)) == [.send(WebSocketClosing(1007)), .wait(.seconds(1))])
        #expect(handshake.handle(.received(away)) == [])
        #expect(handshake.handle(.connectionEnded) == [.finish(.failed(violation))])
        var closing = make()
        _ = closing.handle(.close(normal))
        #expect(closing.handle(.violation(violation)) == [.finish(.failed(violation))])
    }

    @Test("A program that goes away says so, unless a close frame has been sent, and nothing is sent after that")
    func cancelled() {
        var open = make()
        #expect(open.handle(.cancelled) == [.send(WebSocketClosing(1001))])
        #expect(open.isClosed && !open.isSending)
        #expect(open.handle(.close(normal)) == [])
        for event in [Handshake.Event.close(normal), .received(normal), .violation(violation)] {
            var handshake = make()
            _ = handshake.handle(event)
            #expect(handshake.handle(.cancelled) == [])
            #expect(handshake.isClosed && !handshake.isSending)
        }
    }

    @Test(
        "Whatever happens in whatever order, one close frame is sent at most, and there is one end",
        arguments: 0..<200
    )
    func model(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let events: [Handshake.Event] = [
            .close(normal), .close(away), .received(normal), .received(away), .violation(violation), .connectionEnded,
            .timeIsUp(afterProgress: false), .timeIsUp(afterProgress: true), .cancelled, .closeSoon,
        ]
        var handshake = make()
        var (sent, finished, isWaiting, isCancelled) = (0, 0, false, false)
        for _ in 0..<12 {
            let event = events.randomElement(using: &random) ?? .cancelled
            // No time runs that wasn't set.
            if case .timeIsUp = event, !isWaiting { continue }
            let wasClosed = handshake.isClosed
            let wasSending = handshake.isSending
            if event == .cancelled, !wasClosed { isCancelled = true }
            for action in handshake.handle(event) {
                switch action {
                case .send:
                    sent += 1
                    #expect(wasSending && finished == 0)
                case .wait:
                    isWaiting = true
                    #expect(finished == 0)
                case .finish:
                    finished += 1
                    isWaiting = false
                }
            }
            if wasClosed { #expect(handshake.isClosed) }
            #expect(handshake.isClosed == (finished == 1 || isCancelled))
            // Once it isn't open any more, a time runs out.
            #expect(handshake.isSending || handshake.isClosed || isWaiting)
        }
        #expect(sent <= 1 && finished <= 1)
        for _ in 0..<3 {
            _ = handshake.handle(.close(normal))
            for action in handshake.handle(.timeIsUp(afterProgress: false)) {
                if case .finish = action { finished += 1 }
            }
        }
        // A caller that cancels needn't be told.
        #expect(finished == (isCancelled ? 0 : 1))
    }

    @Test("A status and reason that a program asks to send are made sendable")
    func sendable() {
        #expect(WebSocketClosing(sending: 1000, reason: Data("a".utf8)).payload == [3, 0xE8, 0x61])
        for code in [0, 1004, 1005, 1006, 1015, 2999, 5000, -1, 70000] {
            #expect(WebSocketClosing(sending: code, reason: Data("a".utf8)).payload == [])
        }
        let long = WebSocketClosing(sending: 4000, reason: Data(String(repeating: "€", count: 60).utf8))
        #expect(long.reason == Data(String(repeating: "€", count: 41).utf8))
        #expect(WebSocketClosing(sending: 1000, reason: Data([0xFF])).reason.isEmpty)
    }
}
