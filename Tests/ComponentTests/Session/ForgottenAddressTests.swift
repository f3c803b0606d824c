import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("A pool that forgets hosts whose addresses the program has set", .timeLimit(.minutes(1)))
struct ForgottenAddressTests {
    private final class Owner: AdmissionTicketOwner {
        func admitted(_ ticket: Admission.Ticket) {}
    }

    /// libcurl's handle keeps the addresses of all hosts that it was told of.
    @Test("After a thousand hosts that match one pattern, the next requests use another of libcurl's handles")
    func handle() throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.curl.hosts["*.test"].names.addresses = ["127.0.0.1"]
        let settings = SessionSettings(configuration)
        let pool = ConnectionPools(settings, deliveryQueue: DeliveryQueue(OperationQueue())).first
        let owner = Owner()
        try pool.loop.queue.sync {
            let connections = try pool.currentMulti()
            for number in 0...1000 {
                #expect(pool.multi === connections)
                let origin = try #require(Origin(Sample.url("http://h\(number).test/")))
                let ticket = Admission.Ticket(origin: origin, owner: owner)
                _ = pool.enter(ticket, priority: 0.5)
                pool.leave(ticket)
            }
            #expect(pool.multi == nil && pool.retiredMultis.isEmpty)
        }
        pool.close()
    }
}
