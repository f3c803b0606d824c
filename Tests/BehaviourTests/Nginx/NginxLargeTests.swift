import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Large bodies from and to nginx keep memory flat", .timeLimit(.minutes(2)))
struct NginxLargeTests {
    /// The thread sanitizer needs some more.
    static let allowedGrowth = (ProcessUsage.isSanitized ? 80 : 60) << 20

    @Test("Downloading 300 MB to a file keeps memory flat")
    func file() async throws {
        let nginx = try Nginx.shared()
        let load = try await LargeLoad("file", nginx.plain(NginxSite.largePath).absoluteString)
        try #require(load.line.hasPrefix("file /"))
        let file = URL(fileURLWithPath: String(load.line.dropFirst(5)))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try haveSameContent(file, nginx.site.large))
        #expect(load.growth < Self.allowedGrowth)
    }

    @Test("Reading 300 MB in chunks keeps memory flat")
    func chunks() async throws {
        let nginx = try Nginx.shared()
        let load = try await LargeLoad("bytes", nginx.plain(NginxSite.largePath).absoluteString)
        let marks = stride(from: 12_345, to: NginxSite.largeLength, by: 1 << 20)
        let sum = marks.reduce(0) { $0 + Int(NginxSite.largeByte(at: $1)) }
        #expect(load.line == "bytes \(NginxSite.largeLength) \(sum) \(NginxSite.largeLength)")
        #expect(load.growth < Self.allowedGrowth)
    }

    @Test("Uploading 100 MB from a file keeps memory flat")
    func upload() async throws {
        let nginx = try Nginx.shared()
        let directory = try TemporaryDirectory()
        let file = try directory.file("upload", Data())
        let handle = try FileHandle(forWritingTo: file)
        for _ in 0..<100 { try handle.write(contentsOf: NginxSite.mebibyte) }
        try handle.close()
        let name = UUID().uuidString
        defer { try? FileManager.default.removeItem(at: nginx.site.upload(name)) }
        let load = try await LargeLoad("upload", nginx.plain("/upload/\(name)").absoluteString, file.path)
        #expect(load.line == "upload 201")
        #expect(try haveSameContent(nginx.site.upload(name), file))
        #expect(load.growth < Self.allowedGrowth)
    }
}
