import Testing

@testable import CurlTransport

@Suite("The times of an exchange on a connection that libcurl has made")
struct TransferStatisticsTests {
    private func statistics(
        connected: Duration?,
        secured: Duration? = nil,
        sent: Duration?,
        answered: Duration?,
        end: Duration
    ) -> TransferStatistics {
        var statistics = TransferStatistics()
        (statistics.connected, statistics.secured) = (connected, secured)
        statistics.noteExchange(sent: sent, answered: answered, end: end)
        return statistics
    }

    @Test("The times are the loop's if they are as late as libcurl's")
    func later() {
        let statistics = statistics(
            connected: .seconds(1),
            secured: .seconds(2),
            sent: .seconds(3),
            answered: .seconds(4),
            end: .seconds(5)
        )
        #expect(statistics.requestStarted == .seconds(3))
        #expect(statistics.responseStarted == .seconds(4))
        #expect(statistics.total == .seconds(5))
    }

    @Test("No time is earlier than the connection, though the loop stood still when that was made", arguments: [1, 2])
    func standingStill(handshakes: Int) {
        let made = Duration.seconds(3)
        let statistics = statistics(
            connected: handshakes == 1 ? made : .seconds(1),
            secured: handshakes == 1 ? nil : made,
            sent: .seconds(2),
            answered: .seconds(2),
            end: .seconds(2)
        )
        #expect(statistics.requestStarted == made)
        #expect(statistics.responseStarted == made)
        #expect(statistics.total == made)
    }

    @Test("An event that hasn't happened has no time")
    func unanswered() {
        let statistics = statistics(connected: .seconds(1), sent: nil, answered: nil, end: .zero)
        #expect(statistics.requestStarted == nil && statistics.responseStarted == nil)
        #expect(statistics.total == .seconds(1))
    }
}
