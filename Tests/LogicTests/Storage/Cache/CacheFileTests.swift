import Foundation
import Testing

@testable import CurlNetworking

@Suite("A stored response as a file")
struct CacheFileTests {
    private static let key = "http://example.com/a?b=c"

    private static func file(_ response: StoredResponse) -> [UInt8] {
        CacheFile.head(of: response) + response.data
    }

    private static func response(in file: [UInt8], for key: String = key) -> StoredResponse? {
        file.withUnsafeBytes { bytes in
            let start = UnsafeRawBufferPointer(rebasing: bytes.prefix(CacheFile.Header.length))
            guard let header = CacheFile.Header(start, fileLength: bytes.count) else { return nil }
            let end = CacheFile.Header.length + header.descriptionLength
            return CacheFile.response(
                for: key,
                header: header,
                description: UnsafeRawBufferPointer(rebasing: bytes[CacheFile.Header.length..<end]),
                body: Data(bytes[end...])
            )
        }
    }

    private static func sample(_ change: (inout StoredResponse) -> Void = { _ in }) throws -> StoredResponse {
        var response = try Sample.stored("the body", at: key)
        change(&response)
        return response
    }

    @Test("A stored response is read as it was written")
    func roundTrip() throws {
        let written = try Self.sample {
            $0.head = Sample.head(203, ["X": "ä", "X": "", "Y": "z"])
            $0.head.version = "HTTP/2"
            $0.userInfo = Data([1, 2, 3])
        }
        let read = try #require(Self.response(in: Self.file(written)))
        #expect(read.key == written.key)
        #expect(read.url == written.url)
        #expect(read.form == .http)
        #expect(read.head == written.head)
        #expect(read.requested == written.requested)
        #expect(read.received == written.received)
        #expect(read.variant == written.variant)
        #expect(read.data == written.data)
        #expect(read.storagePolicy == .allowed)
        #expect(read.userInfo == written.userInfo)
    }

    @Test("A response without some properties, or of another protocol than HTTP, is read as it was written")
    func absences() throws {
        let other = StoredResponse.Form.Other(mimeType: "text/plain", expectedLength: -1, textEncoding: nil)
        let written = try Self.sample {
            $0.requested = nil
            $0.received = nil
            $0.variant = nil
            $0.form = .other(other)
            $0.data = Data()
        }
        let read = try #require(Self.response(in: Self.file(written)))
        #expect(read.requested == nil && read.received == nil && read.variant == nil)
        #expect(read.form == .other(other))
        #expect(read.data.isEmpty)
        #expect(read.response.mimeType == "text/plain")
    }

    @Test("A file that is cut off anywhere, or longer than it should be, isn't read")
    func torn() throws {
        let file = try Self.file(Self.sample())
        for count in file.indices { #expect(Self.response(in: Array(file[..<count])) == nil, "\(count)") }
        #expect(Self.response(in: file + [0]) == nil)
    }

    @Test("A file with any bit changed isn't read")
    func damaged() throws {
        var file = try Self.file(Self.sample())
        for index in file.indices {
            for bit in 0..<8 {
                file[index] ^= 1 << bit
                #expect(Self.response(in: file) == nil, "byte \(index), bit \(bit)")
                file[index] ^= 1 << bit
            }
        }
        #expect(Self.response(in: file) != nil)
    }

    @Test("A sound file of another URL isn't read")
    func otherKey() throws {
        #expect(try Self.response(in: Self.file(Self.sample()), for: Self.key + "d") == nil)
    }

    @Test("A description whose checksum is right, and whose numbers are not, isn't read", arguments: 0..<200)
    func forged(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var writer = ByteWriter()
        for _ in 0..<Int.random(in: 0..<40, using: &generator) {
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: writer.write(UInt32.max)
            case 1: writer.write(Self.key)
            case 2: writer.write(UInt64.random(in: .min ... .max, using: &generator))
            default: writer.write(UInt8.random(in: 0...2, using: &generator))
            }
        }
        let description = writer.bytes
        let checksum = description.withUnsafeBytes { bytes in
            XXHash64.hash(UnsafeRawBufferPointer(start: nil, count: 0), seed: XXHash64.hash(bytes, seed: 0))
        }
        var header = ByteWriter()
        header.write(checksum)
        header.write(UInt64(description.count))
        header.write(UInt64(0))
        let file = Array("CNCACHE".utf8) + [1] + header.bytes + description
        #expect(Self.response(in: file) == nil)
    }

    @Test("A file with lengths that overflow isn't read")
    func overflow() {
        for (description, body) in [(UInt64.max, 1), (1, UInt64.max), (UInt64(Int.max), UInt64(Int.max))]
            as [(UInt64, UInt64)]
        {
            var header = ByteWriter()
            header.write(UInt64(0))
            header.write(description)
            header.write(body)
            #expect(Self.response(in: Array("CNCACHE".utf8) + [1] + header.bytes) == nil)
        }
    }
}
