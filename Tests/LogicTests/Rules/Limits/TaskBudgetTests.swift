import Foundation
import Testing

@testable import CurlNetworking

@Suite("How often a task goes round again")
struct TaskBudgetTests {
    @Test("Handshakes end with an error of the handshake")
    func handshakes() throws {
        let url = try #require(URL(string: "https://example.com/"))
        var budget = TaskBudget()
        for _ in 0..<TaskBudget.handshakes { try budget.spendHandshake(at: url) }
        let error = #expect(throws: URLError.self) { try budget.spendHandshake(at: url) }
        #expect(error?.code == .secureConnectionFailed && error?.failingURL == url)
        #expect(error?.userInfo[CurlErrorKey.phase] as? String == "securing")
    }

    @Test("Challenges end with an error about credentials")
    func challenges() throws {
        let url = try #require(URL(string: "https://example.com/"))
        var budget = TaskBudget()
        for _ in 0..<TaskBudget.challenges { try budget.spendChallenge(at: url) }
        let error = #expect(throws: URLError.self) { try budget.spendChallenge(at: url) }
        #expect(error?.code == .userAuthenticationRequired && error?.failingURL == url)
    }

    @Test("A request goes out no more than twice again")
    func replays() {
        var budget = TaskBudget()
        let answers = (0..<4).map { _ in budget.spendReplay() }
        #expect(answers == [true, true, false, false])
    }

    @Test("Crumbs come to an end, however large the file", arguments: [1, 10, 1000, 65_000])
    func crumbs(size: Int64) throws {
        var budget = TaskBudget()
        var (length, count): (Int64, Int64) = (0, 0)
        let error = #expect(throws: URLError.self) {
            while true {
                length += size
                try budget.spendPart(of: nil, at: length)
                count += 1
            }
        }
        #expect(error?.code == .badServerResponse)
        #expect(count >= 100 && count <= 100 + length / TaskBudget.parts.bytesForOneMore)
    }

    @Test("Parts of an honest size are enough for any file")
    func honestParts() throws {
        var budget = TaskBudget()
        for part in 1...100_000 { try budget.spendPart(of: nil, at: Int64(part) * TaskBudget.parts.bytesForOneMore) }
    }

    @Test("Bounds of one kind leave those of the others alone")
    func independent() throws {
        var budget = TaskBudget()
        for _ in 0..<TaskBudget.challenges { try budget.spendChallenge(at: nil) }
        for _ in 0..<TaskBudget.handshakes { try budget.spendHandshake(at: nil) }
        for _ in 0..<TaskBudget.parts.count { try budget.spendPart(of: nil, at: 0) }
        #expect(budget.spendReplay() == true)
    }
}
