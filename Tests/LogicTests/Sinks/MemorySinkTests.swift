import Foundation
import Testing

@testable import CurlNetworking

@Suite("A body that is collected in memory")
struct MemorySinkTests {
    @Test("A body's bytes are counted in series, or before a delegate gets them", arguments: [false, true])
    func counting(isCopied: Bool) throws {
        let owner = SinkRig()
        owner.wantsCopy = isCopied
        let sink = MemorySink(owner)
        let head = ResponseHead(version: "HTTP/1.1", status: 200, fields: [])
        let url = try #require(URL(string: "http://h/"))
        sink.begin(AcceptedResponse(response: TaskResponse(head, at: url), head: head, request: nil, expected: 6))
        for piece in ["abc", "def"] { Data(piece.utf8).withUnsafeBytes { sink.receive($0) } }
        #expect(owner.counted == (isCopied ? 6 : 0))
        #expect(owner.delivered == Data((isCopied ? "abcdef" : "").utf8))
        #expect(!owner.deliversUncounted)
        sink.settle()
        sink.settle()
        #expect(owner.counted == 6)
        #expect(sink.wholeBody == Data("abcdef".utf8))
    }
}
