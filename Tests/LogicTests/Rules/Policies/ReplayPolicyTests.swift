import Testing

@testable import CurlTransport
@testable import CurlNetworking

@Suite("Which requests may go out once more")
struct ReplayPolicyTests {
    static func failure(_ code: CurlCode, isKept: Bool, phase: TransferPhase = .receiving) -> TransferFailure {
        var failure = TransferFailure(code: code, text: "", phase: phase)
        failure.isOnKeptConnection = isKept
        return failure
    }

    @Test(
        "A request whose kept connection broke off before a byte came back may be sent again",
        arguments: [.partialFile, .gotNothing, .sendError, .recvError] as [CurlCode]
    )
    func kept(code: CurlCode) {
        #expect(ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: false), .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init(hasHead: true)))
    }

    @Test("Requests with idempotent methods may be carried out twice (RFC 9110 §9.2.2), and no others")
    func methods() {
        for method in ["GET", "HEAD", "PUT", "DELETE"] { #expect(ReplayPolicy.mayBeRepeated(method)) }
        for method in ["POST", "PATCH", "get", "ORDER", ""] { #expect(!ReplayPolicy.mayBeRepeated(method)) }
    }

    @Test(
        "A request that an HTTP/2 server says it hasn't looked at may be sent again, on whichever connection",
        arguments: [true, false]
    )
    func unprocessed(isKept: Bool) {
        #expect(ReplayPolicy.isLossOfKeptConnection(Self.failure(.http2, isKept: isKept), .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(.http2, isKept: isKept), .init(hasHead: true)))
        let unsent = Self.failure(.http2, isKept: isKept, phase: .connecting)
        #expect(!ReplayPolicy.isLossOfKeptConnection(unsent, .init()))
    }

    @Test(
        "A request that the server had begun to answer isn't sent again",
        arguments: [.http2, .partialFile, .gotNothing, .recvError, .sendError] as [CurlCode]
    )
    func heard(code: CurlCode) {
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init(hasHeard: true)))
    }

    @Test("A request that libcurl has put on a connection not yet established is sent again on one of its own")
    func unfinished() {
        var failure = Self.failure(.failedInit, isKept: true, phase: .sending)
        failure.text = "[CONN-9-0] send: no filter connected"
        #expect(ReplayPolicy.isLossOfKeptConnection(failure, .init()))
        #expect(ReplayPolicy.needsOwnConnection(failure))
        #expect(!ReplayPolicy.isLossOfKeptConnection(failure, .init(hasHeard: true)))
        for text in ["[CONN-9-0] recv: no filter connected", "something else"] {
            failure.text = text
            #expect(!ReplayPolicy.isLossOfKeptConnection(failure, .init()))
            #expect(!ReplayPolicy.needsOwnConnection(failure))
        }
    }

    @Test("A request whose chunks a kept connection of HTTP/1.0 doesn't take is sent again on one of its own")
    func chunked() {
        // Before libcurl sends anything.
        let failure = Self.failure(.uploadFailed, isKept: false, phase: .connecting)
        #expect(ReplayPolicy.isLossOfKeptConnection(failure, .init()) && ReplayPolicy.needsOwnConnection(failure))
        #expect(!ReplayPolicy.isLossOfKeptConnection(failure, .init(hasHeard: true)))
    }

    @Test("An answer that came too early is lost where libcurl has nothing to say of a stream's end")
    func lostResponse() {
        #expect(ReplayPolicy.isLossOfResponse(TransferFailure(code: .http2Stream, text: CurlCode.http2Stream.text)))
        let reset = "HTTP/2 stream 1 was not closed cleanly: CANCEL (err 8)"
        #expect(!ReplayPolicy.isLossOfResponse(TransferFailure(code: .http2Stream, text: reset)))
        #expect(!ReplayPolicy.isLossOfResponse(TransferFailure(code: .sendError, text: CurlCode.http2Stream.text)))
    }

    @Test("An answer was lost, too, if the server had closed the stream, or if nothing but the stream's end was read")
    func lostWithStream() {
        let closed = "HTTP/2 stream 1 was not closed cleanly: STREAM_CLOSED (err 5)"
        #expect(ReplayPolicy.isLossOfResponse(TransferFailure(code: .http2Stream, text: closed)))
        for isOverHTTP2 in [true, false] {
            let empty = Self.failure(.gotNothing, isKept: false)
            #expect(ReplayPolicy.isLossOfWholeResponse(empty, isOverHTTP2: isOverHTTP2) == isOverHTTP2)
        }
    }

    @Test("An answer may have been lost where the server cancelled the stream, if libcurl loses such answers")
    func lostWithCancelledStream() {
        let cancelled = "HTTP/2 stream 1 was not closed cleanly: CANCEL (err 8)"
        let refused = "HTTP/2 stream 1 was not closed cleanly: REFUSED_STREAM (err 7)"
        for (version, losesAnswers) in [(CurlVersion(7, 88), true), (CurlVersion(8, 1), false)] {
            func mayBeLoss(_ code: CurlCode, _ text: String) -> Bool {
                let failure = TransferFailure(code: code, text: text)
                return ReplayPolicy.mayBeLossOfResponse(failure, quirks: CurlQuirks(version: version))
            }
            #expect(mayBeLoss(.http2Stream, cancelled) == losesAnswers)
            #expect(!mayBeLoss(.http2Stream, refused) && !mayBeLoss(.recvError, cancelled))
        }
    }

    @Test("libcurl sends a request that may not be carried out twice once more at most, and not if it appends")
    func sends() {
        func most(_ method: String, isSingle: Bool = false, takesSeveral: Bool = false) -> Int? {
            ReplayPolicy.maximumSends(method, isSingle: isSingle, takesSeveral: takesSeveral)
        }
        #expect(most("GET") == nil && most("GET", isSingle: true) == nil)
        #expect(most("POST") == 2 && most("POST", isSingle: true) == 1)
        #expect(most("POST", takesSeveral: true) == nil)
    }

    @Test("A tunnel's credential doesn't have the request sent more often, an open proxy's and the server's may")
    func steps() {
        let password = ProxyAuthentication(.any, user: "user", password: "secret")
        var options = TransferOptions(url: "https://a/", method: "POST", headers: [String]())
        options.proxy.authentication = password
        #expect(options.authenticatesInSteps)
        options.proxy.tunnel = ProxyUse.Tunnel(port: 443)
        #expect(!options.authenticatesInSteps)
        options.connectionAuthentication = .ntlm
        #expect(options.authenticatesInSteps)
    }

    @Test(
        "A request that libcurl could not begin again may be sent again, on whichever connection",
        arguments: [true, false]
    )
    func rewind(isKept: Bool) {
        #expect(ReplayPolicy.isLossOfKeptConnection(Self.failure(.sendFailRewind, isKept: isKept), .init()))
        #expect(ReplayPolicy.needsOwnConnection(Self.failure(.sendFailRewind, isKept: isKept)))
    }

    @Test("A request that libcurl may not send once more may be sent again, on its own connection")
    func usedUp() {
        var failure = Self.failure(.sendError, isKept: false, phase: .connecting)
        failure.hasUsedUpSends = true
        #expect(ReplayPolicy.isLossOfKeptConnection(failure, .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(failure, .init(hasHead: true)))
        #expect(ReplayPolicy.needsOwnConnection(failure))
    }

    @Test("A request that libcurl gave up after attempts of its own, before a byte came back, may be sent again")
    func givenUp() {
        var failure = Self.failure(.sendError, isKept: false, phase: .sending)
        failure.text = "Connection died, tried 5 times before giving up"
        #expect(ReplayPolicy.isLossOfKeptConnection(failure, .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(failure, .init(hasHeard: true)))
        #expect(!ReplayPolicy.isLossOfKeptConnection(failure, .init(hasHead: true)))
    }

    @Test(
        "A request that the server has refused or taken too long for isn't sent again",
        arguments: [.couldntConnect, .operationTimedOut, .sslConnectError, .peerFailedVerification, .http2Stream]
            as [CurlCode]
    )
    func others(code: CurlCode) {
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init()))
    }
}
