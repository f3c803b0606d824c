import CurlTransport
import Foundation
import Testing

@testable import CurlNetworking

@Suite("The codings that a response's head names")
struct ResponseCodingTests {
    private static func head(_ name: String, _ values: [String]) -> ResponseHead {
        var head = Sample.head(200)
        head.fields += values.map { HeaderField(name: name, value: $0) }
        return head
    }

    private static let contents: [([String], ResponseHead.Coding)] = [
        ([], .none), ([""], .none), ([" , ,"], .none), (["identity"], .none), (["IDENTITY, identity"], .none),
        (["gzip"], .codings([.gzip])), (["X-GZip"], .codings([.gzip])), (["br,zstd"], .codings([.brotli, .zstd])),
        (["deflate", "gzip"], .codings([.deflate, .gzip])), ([", gzip ,identity,"], .codings([.gzip])),
        (["aws-chunked"], .none), (["gzip, aws-chunked"], .none), (["aws-chunked", "gzip"], .none),
        (["gzip;q=1"], .none),
        ([Array(repeating: "br", count: 5).joined(separator: ",")], .codings(Array(repeating: .brotli, count: 5))),
        ([Array(repeating: "br", count: 6).joined(separator: ",")], .tooMany(6)),
        (Array(repeating: "gzip", count: 100), .tooMany(100)),
    ]

    @Test("Content codings are read from all lines, in their order", arguments: contents.indices)
    func content(index: Int) {
        let (values, coding) = Self.contents[index]
        let head = Self.head("content-encoding", values)
        #expect(head.contentCoding == coding)
        #expect(head.isContentCoded == (coding != .none))
    }

    @Test("A part can be decoded only from the beginning of the coded data")
    func part() {
        func part(_ range: String?) -> ResponseHead {
            var head = Sample.head(206, ["Content-Encoding": "gzip"])
            if let range { head.fields.append(HeaderField(name: "Content-Range", value: range)) }
            return head
        }
        #expect(part("bytes 0-9/100").contentCoding == .codings([.gzip]))
        let others: [String?] = ["bytes 1-9/100", "bytes */100", "items 0-9/100", nil]
        for head in others.map(part) {
            #expect(head.contentCoding == .none)
            #expect(head.namedCoding == .codings([.gzip]))
            #expect(!head.isContentCoded)
        }
    }

    @Test("A list of more than a hundred elements is refused, however long it is")
    func longLists() {
        func list(_ element: String, _ count: Int) -> [String] {
            let half = Array(repeating: element, count: count / 2).joined(separator: ",")
            return [half, half]
        }
        #expect(Self.head("Content-Encoding", list("identity", 100)).namedCoding == .none)
        #expect(Self.head("Content-Encoding", list("identity", 30_000)).namedCoding == .tooMany(101))
        #expect(!Self.head("Transfer-Encoding", list("chunked", 100)).hasUnwantedTransferCoding)
        #expect(Self.head("Transfer-Encoding", list("chunked", 30_000)).hasUnwantedTransferCoding)
        #expect(!Self.head("Content-Length", list("5", 100)).hasContradictingLengths)
        #expect(Self.head("Content-Length", list("5", 30_000)).hasContradictingLengths)
        #expect(Self.head("Content-Encoding", list("identity", 30_000)).tokens(of: "Content-Encoding") == nil)
    }

    @Test("Any transfer coding but chunked is unwanted")
    func transfer() {
        for values in [[], ["chunked"], ["Chunked"], ["identity"], ["chunked", "chunked"], [""]] {
            #expect(!Self.head("Transfer-Encoding", values).hasUnwantedTransferCoding)
        }
        for values in [["gzip"], ["gzip, chunked"], ["chunked", "GZIP"], ["rot13"], ["br,"], ["\"chunked\""]] {
            #expect(Self.head("Transfer-Encoding", values).hasUnwantedTransferCoding)
        }
    }

    @Test("Only spaces and tabs may surround the elements of a list")
    func spaces() {
        #expect(Self.head("Content-Length", [" 5\t, 5"]).contentLength == 5)
        #expect(Self.head("Content-Length", ["5\u{a0}"]).hasContradictingLengths)
        #expect(Self.head("Transfer-Encoding", ["\tchunked "]).isChunked)
        #expect(!Self.head("Transfer-Encoding", ["chunked\u{a0}"]).isChunked)
        #expect(Self.head("Transfer-Encoding", ["chunked\u{a0}"]).hasUnwantedTransferCoding)
    }

    @Test("A quote in a list of codings names one that can't be decoded")
    func quotes() {
        #expect(Self.head("Content-Encoding", ["gzip, \"gzip"]).namedCoding == .none)
    }
}

@Suite("Input that waits to be decoded")
struct CodedInputTests {
    @Test("Coded input is taken from its first piece on, as much as was decoded")
    func pieces() {
        var input = CodedInput()
        #expect(input.isEmpty && input.first.isEmpty)
        for text in ["hello", "", ", ", "world"] { Data(text.utf8).withUnsafeBytes { input.append($0) } }
        #expect(input.count == 12)
        var text = ""
        for count in [0, 2, 3, 1, 1, 5] {
            text += String(decoding: input.first.prefix(count), as: UTF8.self)
            input.drop(count)
        }
        #expect(text == "hello, world" && input.isEmpty && input.first.isEmpty)
        input.drop(1)
        #expect(input.isEmpty)
    }
}
