import Foundation
import Testing

@testable import CurlNetworking

@Suite("Bodies from memory")
struct RequestBodyTests {
    static func read(_ body: any RequestBody, _ size: Int) throws -> Data? {
        var data = Data(count: size)
        let result = try data.withUnsafeMutableBytes { buffer in
            try Result { () throws(URLError) in try body.read(into: buffer) }.get()
        }
        guard case .bytes(let count) = result else { return nil }
        return data.prefix(count)
    }

    static func readAll(_ body: any RequestBody, by size: Int) throws -> Data {
        var all = Data()
        while let piece = try read(body, size), !piece.isEmpty { all += piece }
        return all
    }

    @Test("A body in memory is read in pieces of any size", arguments: [1, 3, 7, 8, 100])
    func memory(size: Int) throws {
        let data = Data("abcdefgh".utf8)
        let body = DataBody(data)
        #expect(body.length == 8)
        #expect(try Self.readAll(body, by: size) == data)
        #expect(try Self.read(body, size) == Data(), "the end stays the end")
    }

    @Test("A slice of other data is a body like any other")
    func slice() throws {
        let body = DataBody(Data("0123456789".utf8)[3..<7])
        #expect(body.length == 4)
        #expect(try Self.readAll(body, by: 3) == Data("3456".utf8))
    }

    @Test("A body in memory starts again anywhere within itself, and nowhere else")
    func seeking() throws {
        let body = DataBody(Data("abcdefgh".utf8))
        _ = try Self.readAll(body, by: 5)
        #expect(body.seek(to: 0))
        #expect(try Self.read(body, 3) == Data("abc".utf8))
        #expect(body.seek(to: 6))
        #expect(try Self.readAll(body, by: 5) == Data("gh".utf8))
        #expect(body.seek(to: 8))
        #expect(try Self.read(body, 3) == Data())
        for offset in [-1, 9, .max, .min] as [Int64] { #expect(!body.seek(to: offset)) }
    }

    @Test("A part of a body begins and ends where it should, also when it is read again")
    func parts() throws {
        let data = Data("0123456789".utf8)
        for (start, length, text) in [(2, 5, "23456"), (2, nil, "23456789"), (8, 5, "89"), (10, 1, ""), (0, 0, "")]
            as [(Int64, Int64?, String)]
        {
            let body = try #require(RemainingBody(DataBody(data), from: start, length: length))
            #expect(body.length == Int64(text.utf8.count))
            #expect(try Self.readAll(body, by: 3) == Data(text.utf8))
            #expect(body.seek(to: 0))
            #expect(try Self.readAll(body, by: 100) == Data(text.utf8))
        }
        #expect(RemainingBody(DataBody(data), from: 11) == nil && RemainingBody(DataBody(data), from: -1) == nil)
    }

    @Test("An empty body has the length 0, and ends at once")
    func empty() throws {
        let body = DataBody(Data())
        #expect(body.length == 0)
        #expect(try Self.read(body, 10) == Data())
        #expect(body.seek(to: 0))
    }
}
