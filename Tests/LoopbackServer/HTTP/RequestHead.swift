import Foundation

/// Why a request isn't understood, and the status that tells the client.
struct Rejection: Error, Equatable {
    let status: Int
    let reason: String

    static func malformed(_ reason: String) -> Rejection { Rejection(status: 400, reason: reason) }
    static let headTooLarge = Rejection(status: 431, reason: "The head is too large")
}

/// Request line and header fields, and what they say about the rest (RFC 9112, sections 2 to 6).
struct RequestHead: Sendable {
    /// How the body's end is found.
    enum Framing: Equatable {
        case none
        case length(Int64)
        case chunked
    }

    let method: String
    let target: String
    let httpVersion: String
    /// All of it, the empty line included. Its field lines are well-formed.
    let raw: Data

    private(set) var framing = Framing.none
    private(set) var keepsAlive: Bool
    private(set) var expectsContinue = false

    /// - Parameter bytes: Everything up to and including the empty line.
    init(_ bytes: UnsafeRawBufferPointer) throws(Rejection) {
        var rest = bytes
        guard let line = rest.takeLine(), let (method, behind) = line.divided(at: .space),
            let (target, version) = behind.divided(at: .space), !target.isEmpty, method.isToken
        else { throw .malformed("The request line isn't a method, a target and a version") }
        let minorVersion = try Self.minorVersion(version)

        self.method = method.string
        self.target = target.string
        httpVersion = minorVersion == 1 ? "HTTP/1.1" : version.string
        keepsAlive = minorVersion > 0
        raw = bytes.data
        while let line = rest.takeLine(), !line.isEmpty {
            let (name, value) = try line.field()
            try interpret(name, value)
        }
    }

    private static func minorVersion(_ version: UnsafeRawBufferPointer) throws(Rejection) -> UInt8 {
        guard version.count == 8, version.part(..<5).elementsEqual("HTTP/".utf8), version[6] == UInt8(ascii: "."),
            let major = version[5].digit, let minor = version[7].digit
        else { throw .malformed("The version isn't an HTTP version") }
        guard major == 1 else { throw Rejection(status: 505, reason: "Not HTTP/1.x") }
        return minor
    }

    private mutating func interpret(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(Rejection) {
        switch name.count {
        case 6 where name.isSame(as: "Expect"):
            expectsContinue = value.isSame(as: "100-continue")
        case 10 where name.isSame(as: "Connection"):
            if value.hasOption("close") {
                keepsAlive = false
            } else if value.hasOption("keep-alive") {
                keepsAlive = true
            }
        case 14 where name.isSame(as: "Content-Length"):
            guard let length = value.length else { throw .malformed("Content-Length isn't a length") }
            switch framing {
            case .none: framing = .length(length)
            case .length(length): break
            case .length: throw .malformed("Two different Content-Length fields")
            case .chunked: throw .malformed("Content-Length beside Transfer-Encoding")
            }
        case 17 where name.isSame(as: "Transfer-Encoding"):
            guard value.isSame(as: "chunked") else { throw Rejection(status: 501, reason: "Unknown transfer coding") }
            guard framing == .none else { throw .malformed("Transfer-Encoding beside another framing") }
            framing = .chunked
        default:
            break
        }
    }
}
