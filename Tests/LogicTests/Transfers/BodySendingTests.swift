import Foundation
import Testing

@testable import CurlNetworking

@Suite("What keeps libcurl from taking more of a request's body")
struct BodySendingTests {
    @Test("After an error status a starved body has libcurl continue once, until it has sent more")
    func answered() {
        var sending = BodySending(nil)
        var continues = [sending.answered()]
        sending.starved()
        continues.append(sending.answered())
        // libcurl asks again at once, and would for ever.
        sending.starved()
        #expect(sending.isStarved)
        continues.append(sending.answered())
        sending.took(10)
        #expect(!sending.isStarved)
        sending.starved()
        continues.append(sending.answered())
        #expect(continues == [false, true, false, true])
    }

    @Test("What is sent again after a rewind counts again for the metrics, and not for the progress")
    func rewind() {
        var sending = BodySending(DataBody(Data(count: 30)))
        sending.took(20)
        let isRewound = sending.rewind(to: 0)
        #expect(isRewound && sending.count == 0 && sending.totalCount == 20)
        sending.took(30)
        #expect(sending.isComplete && sending.count == 30 && sending.totalCount == 50)
    }

    @Test("A body counts as asked for by the server or by libcurl, until it is sent again")
    func asked() {
        var sending = BodySending(DataBody(Data(count: 30)))
        #expect(sending.wait == .unasked)
        sending.asked()
        #expect(sending.wait == .none)
        let isRewound = sending.rewind(to: 0)
        #expect(isRewound && sending.wait == .unasked)
        sending.starved()
        sending.asked()
        #expect(sending.isStarved)
    }

    @Test("A refusal is taken once")
    func refusal() {
        var sending = BodySending(nil)
        sending.refused()
        #expect(!sending.isStarved)
        let taken = [sending.takeRefusal(), sending.takeRefusal()]
        #expect(taken == [true, false])
        sending.starved()
        let isRefused = sending.takeRefusal()
        #expect(!isRefused && sending.isStarved)
    }
}
