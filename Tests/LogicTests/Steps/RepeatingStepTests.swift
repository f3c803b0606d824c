import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The replay step")
struct ReplayStepTests {
    let step = ReplayStep()
    let rig: StepRig
    let request: URLRequest
    let owner = TicketOwner()

    init() throws {
        request = try Sample.request()
        rig = StepRig(request)
        try rig.enter(owner)
    }

    func ending(_ loss: TransferEnding.ConnectionLoss, _ error: URLError? = URLError(.networkConnectionLost))
        -> TransferEnding
    {
        var ending = TransferEnding(error)
        ending.loss = loss
        return ending
    }

    @Test("A request whose kept connection was dead goes out once more, on a new one")
    func keptConnection() throws {
        #expect(step.end(ending(.keptConnection), of: request, rig).next == request)
        let plan = try rig.plan(with: step)
        #expect(plan.connection == .new)
        #expect(step.end(ending(.keptConnection), of: request, rig).isPass)
    }

    @Test(
        "A request that lost a connection of HTTP/2 without TLS waits for another to share, and then gets its own",
        arguments: [TransferEnding.ConnectionLoss.keptConnection, .everyConnection]
    )
    func sharedConnection(loss: TransferEnding.ConnectionLoss) throws {
        let rig = StepRig(request) { $0.curl.httpVersion = .http2PriorKnowledge }
        try rig.enter(owner)
        let ticket = try #require(rig.ticket)
        rig.pool.noteResponse(ticket, in: "HTTP/2")
        #expect(step.end(ending(loss), of: request, rig).next == request)
        #expect(rig.ticket == nil)
        try rig.enter(owner)
        #expect(try rig.plan(with: step).connection == .requeued)
        #expect(step.end(ending(loss), of: request, rig).next == request)
        #expect(try rig.plan(with: step).connection == .own)
        #expect(step.end(ending(loss), of: request, rig).isPass)
    }

    @Test("A request that lost every connection gets its own, and then fails")
    func everyConnection() throws {
        #expect(step.end(ending(.keptConnection), of: request, rig).next == request)
        #expect(step.end(ending(.everyConnection), of: request, rig).next == request)
        #expect(try rig.plan(with: step).connection == .own)
        #expect(step.end(ending(.everyConnection), of: request, rig).isPass)
    }

    @Test("An upload whose answer libcurl has lost goes out once more if it may, and then fails")
    func answer() throws {
        let post = try Sample.request("http://example.com/", "POST")
        #expect(step.end(ending(.response), of: post, rig).isPass)
        #expect(step.end(ending(.response), of: request, rig).next == request)
        #expect(step.lossOfResponse?.code == .networkConnectionLost)
        #expect(try rig.plan(with: step).connection == .own)
        #expect(step.lossOfResponse == nil)
        #expect(step.end(ending(.response), of: request, rig).isPass)
    }

    @Test(
        "An upload that was kept off HTTP/2, and for which the server refused the handshake, goes out once more",
        arguments: ["POST", "PUT"],
        [false, true]
    )
    func refusedHandshake(method: String, isRepeated: Bool) throws {
        let upload = try Sample.request("http://example.com/", method)
        if isRepeated { _ = step.end(ending(.response), of: upload, rig) }
        let ticket = try #require(rig.ticket)
        ticket.isKeptOffHTTP2 = true
        let refusal = URLError(.secureConnectionFailed).with(phase: .securing)
        #expect(step.end(ending(.none, refusal), of: upload, rig).isAgain)
        ticket.isKeptOffHTTP2 = false
        #expect(step.end(ending(.none, refusal), of: upload, rig).isPass)
    }

    @Test("An upload that was kept off HTTP/2, and got no answer, goes out once more if it may")
    func silence() throws {
        try #require(rig.ticket).isKeptOffHTTP2 = true
        let lost = URLError(.networkConnectionLost).with(phase: .receiving)
        let post = try Sample.request("http://example.com/", "POST")
        #expect(step.end(ending(.none, lost), of: post, rig).isPass)
        #expect(step.end(ending(.none, lost), of: request, rig).next == request)
    }

    @Test("An upload to a server that agreed to HTTP/1.1, and gave no answer, isn't repeated over HTTP/2")
    func agreement() throws {
        let ticket = try #require(rig.ticket)
        ticket.isKeptOffHTTP2 = true
        rig.pool.noteConnection(ticket, negotiated: "http/1.1")
        let lost = URLError(.networkConnectionLost).with(phase: .sending)
        #expect(step.end(ending(.none, lost), of: request, rig).isPass)
    }

    @Test("Any other failure, and every success, is the next step's")
    func others() {
        #expect(step.end(ending(.none), of: request, rig).isPass)
        #expect(step.end(ending(.keptConnection, nil), of: request, rig).isPass)
    }
}

@Suite("The connectivity step")
struct ConnectivityStepTests {
    let rig: StepRig
    let request: URLRequest

    init() throws {
        request = try Sample.request()
        rig = StepRig(request)
    }

    func ending(_ code: URLError.Code, _ phase: TransferPhase, isOfNetwork: Bool = true) -> TransferEnding {
        var ending = TransferEnding(URLError(code, url: request.url, "").with(phase: phase))
        ending.isOfNetwork = isOfNetwork
        return ending
    }

    @Test("A task that may wait waits for a way to its host, and tells its delegate once")
    func waits() {
        let step = ConnectivityStep(waits: true)
        rig.isWatched = true
        rig.onLoop {
            for _ in 0..<3 {
                #expect(step.end(ending(.cannotConnectToHost, .connecting), of: request, rig).isWait)
                step.networkChanged()
            }
        }
        #expect(rig.proceeded == 3 && rig.events.count == 1)
        #expect(rig.failureToConnect?.code == .cannotConnectToHost)
    }

    @Test("A request that was sent isn't sent again, and an error that isn't the network's brings no wait")
    func others() {
        let step = ConnectivityStep(waits: true)
        #expect(step.end(ending(.networkConnectionLost, .receiving), of: request, rig).isPass)
        #expect(step.end(ending(.cannotConnectToHost, .connecting, isOfNetwork: false), of: request, rig).isPass)
        #expect(step.end(TransferEnding(), of: request, rig).isPass)
    }

    @Test(
        "An attempt to connect that libcurl gave up for a suspended task is made again; one of a cancelled task isn't",
        arguments: [TransferPhase.connecting, .securing]
    )
    func suspended(phase: TransferPhase) {
        let step = ConnectivityStep(waits: false)
        #expect(step.end(ending(.timedOut, phase), of: request, rig).isPass)
        rig.isSuspended = true
        #expect(step.end(ending(.timedOut, phase), of: request, rig).isAgain)
        #expect(step.end(ending(.timedOut, .sending), of: request, rig).isPass)
        #expect(step.end(ending(.secureConnectionFailed, phase), of: request, rig).isPass)
        rig.isCancelled = true
        #expect(step.end(ending(.timedOut, phase), of: request, rig).isPass)
    }

    @Test("A suspended task that may wait doesn't wait for a host that has answered")
    func suspendedWaiter() {
        let step = ConnectivityStep(waits: true)
        rig.isSuspended = true
        #expect(step.end(ending(.timedOut, .securing), of: request, rig).isAgain)
        #expect(step.cause(in: .preparing) == nil)
    }

    @Test("Why a host wasn't reached holds until an attempt has a connection, or another request begins")
    func cause() {
        let step = ConnectivityStep(waits: true)
        rig.onLoop {
            #expect(step.end(ending(.cannotConnectToHost, .connecting), of: request, rig).isWait)
            #expect(step.cause(in: .preparing)?.code == .cannotConnectToHost)
            step.networkChanged()
            for phase in [TransferPhase.preparing, .resolving, .connecting] {
                #expect(step.cause(in: phase)?.code == .cannotConnectToHost)
            }
            for phase in [TransferPhase.securing, .sending, .receiving] { #expect(step.cause(in: phase) == nil) }
            step.attemptEnds(in: .connecting)
            #expect(step.cause(in: .connecting)?.code == .cannotConnectToHost)
            step.requestBegins()
            #expect(step.cause(in: .connecting) == nil)
        }
    }

    @Test("An attempt that ends at the host's certificate has reached the host")
    func causeAfterHandshake() {
        let step = ConnectivityStep(waits: true)
        rig.onLoop {
            #expect(step.end(ending(.cannotConnectToHost, .connecting), of: request, rig).isWait)
            step.networkChanged()
            step.attemptEnds(in: .securing)
            #expect(step.cause(in: .preparing) == nil)
        }
    }
}
