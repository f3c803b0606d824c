import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("The documentation's page on errors")
struct ErrorPageTests {
    @Test("The page on errors shows the table that the code uses")
    func table() throws {
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        let rows = page.split(separator: "\n").compactMap { line -> String? in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, let code = UInt32(cells[0]) else { return nil }
            return "\(code) \(cells[2])"
        }
        let table = ErrorTable.codes.map { "\($0.curl.rawValue) `\(Self.name($0.code))`" }
        #expect(rows == table)
        #expect(!table.isEmpty)
    }

    private static let page = Products.sources.appendingPathComponent(
        "Sources/CurlNetworking/CurlNetworking.docc/ErrorCodes.md"
    )

    private static func name(_ code: URLError.Code) -> String {
        let names: [URLError.Code: String] = [
            .unknown: "unknown", .cannotParseResponse: "cannotParseResponse", .badURL: "badURL",
            .unsupportedURL: "unsupportedURL", .cannotFindHost: "cannotFindHost",
            .cannotConnectToHost: "cannotConnectToHost", .badServerResponse: "badServerResponse",
            .noPermissionsToReadFile: "noPermissionsToReadFile", .networkConnectionLost: "networkConnectionLost",
            .cannotCreateFile: "cannotCreateFile", .fileDoesNotExist: "fileDoesNotExist",
            .cannotWriteToFile: "cannotWriteToFile", .cannotOpenFile: "cannotOpenFile", .timedOut: "timedOut",
            .secureConnectionFailed: "secureConnectionFailed", .cancelled: "cancelled",
            .httpTooManyRedirects: "httpTooManyRedirects", .clientCertificateRejected: "clientCertificateRejected",
            .serverCertificateUntrusted: "serverCertificateUntrusted",
            .cannotDecodeContentData: "cannotDecodeContentData",
            .dataLengthExceedsMaximum: "dataLengthExceedsMaximum",
            .requestBodyStreamExhausted: "requestBodyStreamExhausted",
            .userAuthenticationRequired: "userAuthenticationRequired",
            .clientCertificateRequired: "clientCertificateRequired",
        ]
        return names[code] ?? "\(code)"
    }
}
