import Testing

@testable import Curl
@testable import CurlNetworking

@Suite("Which requests may go out once more")
struct ReplayPolicyTests {
    static func failure(_ code: UInt32, isKept: Bool, phase: TransferPhase = .receiving) -> TransferFailure {
        var failure = TransferFailure(code: CurlCode(rawValue: code), text: "", phase: phase)
        failure.isOnKeptConnection = isKept
        return failure
    }

    @Test("Those whose kept connection broke off before a byte came back", arguments: [16, 18, 52, 55, 56] as [UInt32])
    func kept(code: UInt32) {
        #expect(ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: false), .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init(hasHead: true)))
    }

    @Test("Not where the server had begun to answer", arguments: [16, 18, 52, 56] as [UInt32])
    func heard(code: UInt32) {
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init(hasHeard: true)))
    }

    @Test("Those whose body libcurl could not send again, on whichever connection", arguments: [true, false])
    func rewind(isKept: Bool) {
        #expect(ReplayPolicy.isLossOfKeptConnection(Self.failure(65, isKept: isKept), .init()))
    }

    @Test("Those that libcurl has given up after attempts of its own, before a byte came back")
    func givenUp() {
        var failure = Self.failure(55, isKept: false, phase: .sending)
        failure.text = "Connection died, tried 5 times before giving up"
        #expect(ReplayPolicy.isLossOfKeptConnection(failure, .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(failure, .init(hasHeard: true)))
        #expect(!ReplayPolicy.isLossOfKeptConnection(failure, .init(hasHead: true)))
    }

    @Test("Nothing that the server has refused or taken too long for", arguments: [7, 28, 35, 60, 92] as [UInt32])
    func others(code: UInt32) {
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: true), .init()))
    }

    @Test("What should have joined an HTTP/2 connection and spoke HTTP/1.1 on a new one")
    func priorKnowledge() {
        let circumstances = ReplayPolicy.Circumstances(joinsPriorKnowledge: true)
        for code in [1, 52, 56] as [UInt32] {
            #expect(ReplayPolicy.isLossOfKeptConnection(Self.failure(code, isKept: false), circumstances))
        }
        // Another such request had made the connection.
        #expect(ReplayPolicy.isLossOfKeptConnection(Self.failure(1, isKept: true), circumstances))
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(1, isKept: true), .init()))
        #expect(!ReplayPolicy.isLossOfKeptConnection(Self.failure(7, isKept: false, phase: .connecting), circumstances))
    }
}
