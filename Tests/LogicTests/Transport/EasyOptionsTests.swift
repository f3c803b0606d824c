import Testing

@testable import CurlTransport

@Suite("Writing a transfer's options onto its handle")
struct EasyOptionsTests {
    /// Counts how often it is applied.
    ///
    /// `@unchecked Sendable`: its test alone has it.
    private final class Probe: ConnectionSettings, @unchecked Sendable {
        private(set) var count = 0

        func apply(to easy: EasyHandle) throws(TransferFailure) {
            count += 1
        }
    }

    static let directions: [FTPOptions.Direction] = [.download(offset: 5), .attributes, .upload(.known(3))]

    @Test("FTP writes what its origin's profile says once", arguments: directions)
    func ftp(direction: FTPOptions.Direction) throws {
        CurlLibrary.initialize()
        let probe = Probe()
        var options = FTPOptions(url: "ftps://127.0.0.1/file", direction: direction)
        options.connection = ConnectionProfile([probe])
        let easy = try #require(EasyHandle())
        try options.apply(to: easy)
        #expect(probe.count == 1)
    }

    @Test(
        "A file has a length that an FTP server may announce, a listing and converted text have none",
        arguments: [
            ("ftp://h/a", true), ("ftp://h/d/a;type=i", true), ("ftp://h/a?b/", true), ("ftp://h/a#b/", true),
            ("ftps://h/a", true), ("ftp://h/a%2Fb", true), ("ftp://h", false), ("ftp://h?a/b", false),
            ("ftps://h/", false),
            ("ftp://h/d/", false), ("ftp://h/d/#top", false), ("ftp://h/d/?C=M", false), ("ftp://h/d%2f", false),
            ("ftp://h/a;type=a", false), ("ftp://h/a;TYPE=A#x", false), ("ftp://h/a;type=d?x", false),
            ("ftp://h/d/;type=i", false),
        ]
    )
    func files(url: String, isFile: Bool) {
        #expect(FTPOptions(url: url, direction: .download(offset: 0)).isOfFile == isFile)
    }

    @Test(
        "For an FTP folder's names, the URL that libcurl gets ends its path with a slash",
        arguments: [
            ("ftp://h/a;type=d", "ftp://h/a/;type=d"), ("ftps://h/a/b;type=D#x", "ftps://h/a/b/;type=D#x"),
            ("ftp://h/a/;type=d", nil), ("ftp://h/a%2F;type=d", nil), ("ftp://h;type=d", nil), ("ftp://h/a", nil),
            ("ftp://h/a;type=i", nil), ("ftp://h/a?x;type=d", nil),
        ]
    )
    func listing(url: String, expected: String?) {
        #expect(FTPOptions(url: url, direction: .download(offset: 0)).urlOfListing == expected)
    }

    @Test("A channel has the least version of TLS, in whichever case its scheme is written")
    func channelScheme() {
        #expect(["https://a/", "HTTPS://a/", "Https://a/"].allSatisfy { ChannelOptions(url: $0, .http1).mayUseTLS })
        #expect(["http://a/", "HTTP://a/"].allSatisfy { !ChannelOptions(url: $0, .http1).mayUseTLS })
    }

    @Test("HTTP writes what its origin's profile says once")
    func http() throws {
        CurlLibrary.initialize()
        let probe = Probe()
        var options = TransferOptions(url: "https://127.0.0.1/", method: "PUT")
        options.body = .known(3)
        options.connection = ConnectionProfile([probe])
        let easy = try #require(EasyHandle())
        try options.apply(to: easy)
        #expect(probe.count == 1)
    }
}
