import CurlNetworking
import Foundation
import TestSupport
import Testing

@Suite("Against nginx", .timeLimit(.minutes(1)))
struct NginxTests {
    // MARK: - Resuming

    @Test("A paused download continues where it was")
    func resume() async throws {
        let nginx = try Nginx.shared()
        let directory = try TemporaryDirectory()
        let request = URLRequest(url: nginx.plain("/slow" + NginxSite.mebibytePath))
        let data = try await PausedDownload.pause(request, at: 200_000, in: directory)
        let resumed = try await ResumedDownload(#require(data), in: directory)
        #expect(resumed.error == nil)
        #expect(resumed.hasContinued)
        #expect((resumed.task.response as? HTTPURLResponse)?.statusCode == 206)
        #expect(resumed.body == NginxSite.mebibyte)
        #expect(directory.content == [])
    }

    @Test("A download of a file that has changed meanwhile starts from zero")
    func resumeChanged() async throws {
        let nginx = try Nginx.shared()
        let directory = try TemporaryDirectory()
        let name = UUID().uuidString
        let file = nginx.site.root.appendingPathComponent(name)
        defer { try? FileManager.default.removeItem(at: file) }
        try NginxSite.mebibyte.write(to: file)
        let request = URLRequest(url: nginx.plain("/slow/\(name)"))
        let data = try await PausedDownload.pause(request, at: 200_000, in: directory)
        let changed = Data(NginxSite.mebibyte.reversed().prefix(300_000))
        try changed.write(to: file, options: .atomic)
        let resumed = try await ResumedDownload(#require(data), in: directory)
        #expect(resumed.error == nil)
        #expect(!resumed.hasContinued)
        #expect(resumed.body == changed)
    }

    // MARK: - TLS and HTTP/2

    @Test("64 requests at once share few HTTP/2 connections", .needsTrust)
    func multiplexing() async throws {
        let nginx = try Nginx.shared()
        let url = nginx.tls(NginxSite.mebibytePath).absoluteString
        let helper = try NginxTrust(nginx.site).startHelper("many", url, "64")
        let answers = await helper.remainingLines().map { $0.split(separator: " ").map(String.init) }
        #expect(await helper.ending() == .exit(0))
        #expect(answers.count == 64)
        let good = answers.filter { $0.count == 4 && $0[0] == "200" && $0[1] == "HTTP/2.0" && $0[3] == "1048576" }
        #expect(good.count == 64, "\(answers), \(nginx.complaints)")
        let connections = Set(good.map { $0[2] })
        #expect((1...6).contains(connections.count), "\(connections)")
    }

    @Test("A trusted certificate is accepted, and the connection is used again", .needsTrust)
    func trusted() async throws {
        let nginx = try Nginx.shared()
        let url = nginx.tls(NginxSite.smallPath).absoluteString
        let helper = try NginxTrust(nginx.site).startHelper("get", url, url)
        let answers = await helper.remainingLines()
        #expect(answers.count == 2)
        #expect(answers.allSatisfy { $0.hasPrefix("200 HTTP/2.0 ") && $0.hasSuffix(" 17") }, "\(answers)")
        #expect(Set(answers).count == 1)
    }

    @Test("A certificate of an unknown authority isn't trusted")
    func untrusted() async throws {
        let nginx = try Nginx.shared()
        let result = await URLSession.forTest().load(nginx.tls(NginxSite.smallPath))
        #expect(result.error?.code == .serverCertificateHasUnknownRoot)
        #expect(result.data == nil)
        #expect(result.response == nil)
    }

    // MARK: - gzip

    @Test("A compressed body arrives decoded")
    func gzip() async throws {
        let nginx = try Nginx.shared()
        let result = await URLSession.forTest().load(nginx.plain("/gzip" + NginxSite.textPath))
        #expect(result.error == nil)
        #expect(result.text == NginxSite.text)
        #expect(result.response?.value(forHTTPHeaderField: "Content-Encoding") == "gzip")
    }

    @Test("A compressed body arrives decoded in a download")
    func gzipDownload() async throws {
        let nginx = try Nginx.shared()
        let (file, _) = try await URLSession.forTest().download(from: nginx.plain("/gzip" + NginxSite.textPath))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data(NginxSite.text.utf8))
    }
}
