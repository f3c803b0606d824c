import Foundation
import Testing

@testable import CurlNetworkingLoopbackServer

@Suite("The loopback server's bodies")
struct LoopbackServerBodyTests {
    @Test("Any part of a generated body is the same as that part of the whole")
    func randomAccess() {
        let length: Int64 = 3 * 4096 + 100
        let whole = GeneratedBody.bytes(seed: 7, range: 0..<length)
        #expect(whole.count == Int(length))
        let interesting: [Int64] = [0, 1, 7, 8, 9, 4095, 4096, 4097, 4103, 4104, 8191, 8192, length - 1, length]
        for start in interesting {
            for end in interesting where end >= start {
                #expect(GeneratedBody.bytes(seed: 7, range: start..<end) == whole[Int(start)..<Int(end)])
            }
        }
    }

    @Test("Far offsets work, and every block and seed is different")
    func blocks() {
        let far: Int64 = 1 << 50
        #expect(GeneratedBody.bytes(seed: 1, range: far..<far + 10).count == 10)
        let blocks = (0..<1000).map { GeneratedBody.bytes(seed: 1, range: $0 * 4096..<$0 * 4096 + 64) }
        #expect(Set(blocks).count == blocks.count)
        let seeds = (0..<1000).map { GeneratedBody.bytes(seed: $0, range: 4096..<4096 + 64) }
        #expect(Set(seeds).count == seeds.count)
    }

    @Test("A body's part is the part of its bytes, whatever the body is made of")
    func parts() {
        let data = GeneratedBody.bytes(seed: 3, length: 10_000)
        let bodies: [LoopbackServer.Body] = [
            .data(data), .data((Data([1, 2, 3]) + data)[3...]), .generated(length: 10_000, seed: 3),
            .produced(length: 10_000) { data[Int($0.lowerBound)..<Int($0.upperBound)] },
        ]
        for body in bodies {
            #expect(bytes(body) == data)
            let part = body[100..<9000]
            #expect(bytes(part) == data[100..<9000])
            #expect(bytes(part[50..<60]) == data[150..<160])
            #expect(body[9_999..<20_000].length == 1)
        }
    }

    @Test("Bytes that a producer leaves out are zeros")
    func shortProducer() {
        let body = LoopbackServer.Body.produced(length: 5) { _ in Data([1, 2]) }
        #expect(bytes(body) == Data([1, 2, 0, 0, 0]))
    }

    private func bytes(_ body: LoopbackServer.Body) -> Data {
        var data = Data(repeating: 0xEE, count: Int(body.length))
        let count = data.withUnsafeMutableBytes { body.copy(from: 0, to: $0) }
        #expect(count == data.count)
        return data
    }

    @Test(
        "A Range field is read as RFC 9110 says",
        arguments: [
            (nil, .whole), ("", .whole), ("bytes", .whole), ("bytes=", .whole), ("bytes=-", .whole),
            ("items=0-1", .whole),
            ("bytes=a-b", .whole), ("bytes=1-2-3", .whole), ("bytes=5-3", .whole), ("bytes=0-1,5-6", .whole),
            ("bytes=0-0", .part(0..<1)), ("Bytes = 2-4", .whole), ("bytes= 2 - 4", .part(2..<5)),
            ("bytes=2-4", .part(2..<5)), ("bytes=7-", .part(7..<10)), ("bytes=7-99", .part(7..<10)),
            ("bytes=9-9", .part(9..<10)), ("bytes=-3", .part(7..<10)), ("bytes=-99", .part(0..<10)),
            ("bytes=0-99999999999999999999", .part(0..<10)), ("bytes=10-", .unsatisfiable),
            ("bytes=10-20", .unsatisfiable), ("bytes=-0", .unsatisfiable),
            ("bytes=99999999999999999999-", .unsatisfiable),
        ] as [(String?, ByteRange)]
    )
    func ranges(field: String?, expected: ByteRange) {
        #expect(ByteRange(field, length: 10) == expected)
    }

    @Test("No range of nothing can be satisfied")
    func emptyRange() {
        #expect(ByteRange("bytes=0-", length: 0) == .unsatisfiable)
        #expect(ByteRange("bytes=-1", length: 0) == .unsatisfiable)
        #expect(ByteRange(nil, length: 0) == .whole)
    }

    @Test("Dates are written and read in the one format that isn't obsolete")
    func dates() {
        let date = Date(timeIntervalSince1970: 784_111_777)
        #expect(LoopbackServer.HTTPDate.format(date) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(LoopbackServer.HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT") == date)
        #expect(LoopbackServer.HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT") == nil)
        #expect(LoopbackServer.HTTPDate.parse("yesterday") == nil)
    }
}
