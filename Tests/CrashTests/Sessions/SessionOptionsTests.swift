import CurlNetworking
import Foundation
import Testing

@Suite("Creating a session with options that make no sense", .timeLimit(.minutes(1)))
struct SessionOptionsTests {
    @Test("Creating a session with an option that makes no sense is a programming error that names the option")
    func traps() async throws {
        let result = try #require(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let configuration = URLSessionConfiguration.ephemeral
                configuration.curl.hosts["api.example.com"].maximumConnections = 0
                _ = URLSession(configuration: configuration)
            }
        )
        let message = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(message.contains("curl.hosts[\"api.example.com\"].maximumConnections"))
    }
}
