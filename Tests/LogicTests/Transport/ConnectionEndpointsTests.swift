import Testing

@testable import CurlTransport

@Suite("Finding the socket of a connection")
struct ConnectionEndpointsTests {
    /// Every socket's connection comes from the port with its number.
    private static func connection(of socket: Int32) -> ConnectionEndpoints? {
        ConnectionEndpoints(localPort: Int(socket), remotePort: 80, remoteAddress: "192.0.2.1")
    }

    /// What is found, and how many sockets were looked at.
    private static func find(_ socket: Int32, guess: Int32?) throws -> (found: Int32?, looks: Int) {
        var looks = 0
        let found = try #require(connection(of: socket)).socket(among: Set(1...1000), guess: guess) {
            looks += 1
            return connection(of: $0)
        }
        return (found, looks)
    }

    @Test("The socket that libcurl last wanted watched is found at the first look, however many are open")
    func guessed() throws {
        #expect(try Self.find(700, guess: 700) == (700, 1))
    }

    @Test("Another socket is found all the same", arguments: [nil, 3, 5000] as [Int32?])
    func notGuessed(guess: Int32?) throws {
        #expect(try Self.find(700, guess: guess).found == 700)
    }

    @Test("A socket that isn't open isn't found, even if its number is guessed")
    func closed() throws {
        #expect(try Self.find(2000, guess: 2000).found == nil)
    }
}
