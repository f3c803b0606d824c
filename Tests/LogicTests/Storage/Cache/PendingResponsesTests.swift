import Testing

@testable import CurlNetworking

@Suite("Responses on their way into a cache")
struct PendingResponsesTests {
    private let responses = PendingResponses()

    private func isStored(_ response: PendingResponse) -> Bool { response.store { true } ?? false }

    @Test("A response is stored unless one to a later request was")
    func order() {
        let (first, second, third) = (responses.begin("a"), responses.begin("a"), responses.begin("a"))
        #expect(isStored(second))
        #expect(!isStored(first))
        #expect(isStored(third))
        #expect(!isStored(second))
    }

    @Test("Outdating responses on their way leaves later and other ones alone", arguments: [false, true])
    func outdated(all: Bool) {
        let (earlier, other) = (responses.begin("a"), responses.begin("b"))
        if all { responses.outdateAll() } else { responses.outdate("a") }
        let later = responses.begin("a")
        #expect(!isStored(earlier))
        #expect(isStored(other) == !all)
        #expect(isStored(later))
    }

    @Test("A caller that outdates responses on their way learns, once, that one was stored meanwhile")
    func stored() {
        let (first, second) = (responses.begin("a"), responses.begin("a"))
        #expect(!responses.outdate("a"))
        let third = responses.begin("a")
        #expect(isStored(third))
        responses.outdateAll()
        #expect(!responses.outdate("b"))
        #expect(responses.outdate("a"))
        #expect(!responses.outdate("a"))
        for response in [first, second, third] { #expect(!isStored(response)) }
    }

    @Test("A response is current as long as it would be stored")
    func current() {
        let (first, second) = (responses.begin("a"), responses.begin("a"))
        #expect(first.isCurrent && second.isCurrent)
        #expect(isStored(second))
        #expect(!first.isCurrent && second.isCurrent)
        responses.outdate("a")
        #expect(!second.isCurrent)
        #expect(responses.begin("a").isCurrent)
    }

    @Test("Nothing is remembered of a URL once no response is on its way")
    func released() {
        do {
            let (first, second) = (responses.begin("a"), responses.begin("a"))
            #expect(isStored(first) && isStored(second))
        }
        responses.outdate("a")
        #expect(responses.count == 0)
        #expect(isStored(responses.begin("a")))
        #expect(responses.count == 0)
    }
}
