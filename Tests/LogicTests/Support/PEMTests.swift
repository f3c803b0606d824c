import Foundation
import Testing

@testable import CurlNetworking

@Suite("PEM")
struct PEMTests {
    private static let one = Data([0x30, 0x82, 0x01, 0x02]) + Data(repeating: 7, count: 100)
    private static let other = Data([0x30, 0x82, 0x01, 0x03]) + Data(repeating: 9, count: 100)

    @Test("PEM can be read as it was written, with anything in between and line ends of any kind")
    func roundTrip() {
        let text = "A comment\n" + PEM.encode(Self.one) + "subject=somebody\n" + PEM.encode(Self.other)
        #expect(PEM.certificates(in: Data(text.utf8)) == [Self.one, Self.other])
        let windows = text.replacingOccurrences(of: "\n", with: "\r\n")
        #expect(PEM.certificates(in: Data(windows.utf8)) == [Self.one, Self.other])
    }

    @Test("Lines have 64 characters")
    func lines() {
        let lines = PEM.encode(Self.one).split(separator: "\n")
        #expect(lines.first == "-----BEGIN CERTIFICATE-----")
        #expect(lines.last == "-----END CERTIFICATE-----")
        #expect(lines[1].count == 64)
    }

    @Test("DER is taken as it is")
    func der() {
        #expect(PEM.certificates(in: Self.one) == [Self.one])
    }

    @Test(
        "A text without a certificate, or with a damaged one, has none",
        arguments: [
            "", "hello", "-----BEGIN CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        ]
    )
    func none(text: String) {
        #expect(PEM.certificates(in: Data(text.utf8)).isEmpty)
    }
}
