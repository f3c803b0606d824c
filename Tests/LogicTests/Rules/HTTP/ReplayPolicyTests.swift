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
        "Those whose kept connection broke off before a byte came back",
        arguments: [.partialFile, .gotNothing, .sendError, .recvError] as [CurlCode]
    )
    func kept(code: CurlCode) {
        #expect(ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: false), .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init(hasHead: true)))
    }

    @Test("Those with idempotent methods may be carried out twice (RFC 9110 §9.2.2), others not, whatever they are")
    func methods() {
        for method in ["GET", "HEAD", "PUT", "DELETE"] { #expect(ReplayPolicy.mayBeRepeated(method)) }
        for method in ["POST", "PATCH", "get", "ORDER", ""] { #expect(!ReplayPolicy.mayBeRepeated(method)) }
    }

    @Test("Those that an HTTP/2 server says it hasn't looked at, on whichever connection", arguments: [true, false])
    func unprocessed(isKept: Bool) {
        #expect(ReplayPolicy.isLossOfKeptConnection(Self.failure(.http2, isKept: isKept), .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(.http2, isKept: isKept), .init(hasHead: true)))
        let unsent = Self.failure(.http2, isKept: isKept, phase: .connecting)
        #expect(!ReplayPolicy.isLossOfKeptConnection(unsent, .init()))
    }

    @Test(
        "Not where the server had begun to answer",
        arguments: [.http2, .partialFile, .gotNothing, .recvError, .sendError] as [CurlCode]
    )
    func heard(code: CurlCode) {
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init(hasHeard: true)))
    }

    @Test("Those that libcurl could not begin again, on whichever connection", arguments: [true, false])
    func rewind(isKept: Bool) {
        #expect(ReplayPolicy.isLossOfKeptConnection(Self.failure(.sendFailRewind, isKept: isKept), .init()))
        #expect(ReplayPolicy.needsOwnConnection(Self.failure(.sendFailRewind, isKept: isKept)))
    }

    @Test("Those that libcurl has given up after attempts of its own, before a byte came back")
    func givenUp() {
        var failure = Self.failure(.sendError, isKept: false, phase: .sending)
        failure.text = "Connection died, tried 5 times before giving up"
        #expect(ReplayPolicy.isLossOfKeptConnection(failure, .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(failure, .init(hasHeard: true)))
        #expect(!ReplayPolicy.isLossOfKeptConnection(failure, .init(hasHead: true)))
    }

    @Test(
        "Nothing that the server has refused or taken too long for",
        arguments: [.couldntConnect, .operationTimedOut, .sslConnectError, .peerFailedVerification, .http2Stream]
            as [CurlCode]
    )
    func others(code: CurlCode) {
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init()))
    }
}
