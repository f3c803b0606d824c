import Testing

@testable import CurlTransport

@Suite("What follows a complete member of coded data")
struct MemberBoundaryTests {
    typealias Finding = MemberBoundary.Finding

    static let cases: [(start: MemberBoundary, bytes: [UInt8], finding: Finding)] = [
        (.gzip, [], .undecided), (.gzip, [0x1F], .undecided), (.gzip, [0x1F, 0x8B, 8, 0], .member(end: 2)),
        (.gzip, [0x1F, 0x8C], .other), (.gzip, [0, 0x1F, 0x8B], .other),
        (.zstd, [0x28, 0xB5, 0x2F], .undecided), (.zstd, [0x28, 0xB5, 0x2F, 0xFD, 0], .member(end: 4)),
        (.zstd, [0x50, 0x2A, 0x4D, 0x18], .member(end: 4)), (.zstd, [0x5F, 0x2A, 0x4D, 0x18], .member(end: 4)),
        (.zstd, [0x60, 0x2A, 0x4D, 0x18], .other), (.zstd, [0x28, 0x2A], .other),
    ]

    @Test("What follows a member of coded data is another one only if its magic number is whole", arguments: cases)
    func whole(start: MemberBoundary, bytes: [UInt8], finding: Finding) {
        var boundary = start
        #expect(bytes.withUnsafeBytes { boundary.feed($0) } == finding)
    }

    @Test("What follows a member of coded data is found even if its bytes come one by one", arguments: cases)
    func single(start: MemberBoundary, bytes: [UInt8], finding: Finding) {
        var boundary = start
        var last = Finding.undecided
        var fed = 0
        for byte in bytes where last == .undecided {
            last = withUnsafeBytes(of: byte) { boundary.feed($0) }
            fed += 1
        }
        // The end is counted in the piece that was fed last.
        if case .member(let end) = finding {
            #expect(last == .member(end: 1) && fed == end && boundary.bytes == Array(bytes[..<end]))
        } else {
            #expect(last == finding)
        }
    }
}
