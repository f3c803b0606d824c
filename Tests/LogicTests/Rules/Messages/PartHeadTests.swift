import Testing

@testable import CurlNetworking

@Suite("The head of a part")
struct PartHeadTests {
    @Test("A part's own fields replace the whole's, in any case of letters")
    func merging() {
        let common = ResponseHead(
            version: "HTTP/1.1",
            status: 200,
            fields: [
                HeaderField(name: "Server", value: "s"), HeaderField(name: "X-Both", value: "whole"),
                HeaderField(name: "x-both", value: "again"),
            ]
        )
        let own = [HeaderField(name: "Content-Type", value: "text/plain"), HeaderField(name: "X-BOTH", value: "part")]
        let merged = PartHead(common: common, fields: own).merged
        #expect(merged.status == 200)
        #expect(merged.fields == [HeaderField(name: "Server", value: "s")] + own)
    }
}
