import Foundation
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Resume data of uploads")
struct UploadResumeDataFormatTests {
    let directory: TemporaryDirectory
    let request: URLRequest

    init() throws {
        directory = try TemporaryDirectory()
        request = try Sample.request(
            "https://user:password@example.com/files",
            "POST",
            ["Authorization": "Bearer secret", "Cookie": "a=secret", "X-Key": "k", "Content-Type": "image/png"]
        )
    }

    func resumeData(_ body: KeptBody, acknowledged: Int64 = 2, length: Int64? = 4) throws -> UploadResumeData {
        let url = try Sample.url("https://user:password@example.com/uploads/1")
        return UploadResumeData(
            request: StoredRequest(request, to: try #require(request.url)),
            resource: UploadResource(url: url, version: .v6),
            acknowledged: acknowledged,
            length: length,
            body: body
        )
    }

    @Test("It comes back as it was, without credentials")
    func roundTrip() throws {
        let resumeData = try resumeData(.bytes(Data("body".utf8)))
        let encoded = try #require(resumeData.encoded())
        let text = String(decoding: encoded, as: UTF8.self)
        for secret in ["secret", "password", "user"] { #expect(!text.contains(secret)) }
        let decoded = try UploadResumeData(decoding: encoded)
        #expect(decoded == resumeData)
        #expect(decoded.request.urlRequest.url?.absoluteString == "https://example.com/files")
        #expect(decoded.request.urlRequest.httpMethod == "POST")
        #expect(decoded.request.urlRequest.allHTTPHeaderFields == ["X-Key": "k", "Content-Type": "image/png"])
        #expect(decoded.resource.url.absoluteString == "https://example.com/uploads/1")
    }

    @Test("What makes no sense is neither written nor read")
    func implausible() throws {
        let body = KeptBody.bytes(Data("body".utf8))
        #expect(try resumeData(body, acknowledged: 5).encoded() == nil)
        #expect(try resumeData(body, acknowledged: -1).encoded() == nil)
        #expect(try resumeData(body, length: 5).encoded() == nil)
        #expect(
            try resumeData(.bytes(Data(count: KeptBody.mostBytes + 1)), length: Int64(KeptBody.mostBytes) + 1).encoded()
                == nil
        )
        var elsewhere = try resumeData(body)
        for url in ["file:///etc/passwd", "ftp://example.com/", "http+unix://%2Frun%2Fa.sock/", "https:///"] {
            elsewhere.resource = UploadResource(url: try Sample.url(url), version: .v6)
            #expect(elsewhere.encoded() == nil)
        }
        let encoded = try #require(resumeData(body).encoded())
        #expect(throws: URLError.self) { try ResumeData(decoding: encoded) }
        for damaged in [encoded.dropLast(50), Data("<?xml".utf8), Data(), encoded + Data(count: 1 << 20)] {
            #expect { try UploadResumeData(decoding: damaged) } throws: { ($0 as? URLError)?.code == .unsupportedURL }
        }
    }

    @Test("Small bodies are in it, and large ones in a private file")
    func bytes() throws {
        let small = try KeptBody(Data(count: KeptBody.mostBytes), in: directory.url)
        #expect(small == .bytes(Data(count: KeptBody.mostBytes)) && directory.content.isEmpty)
        let large = Data(count: KeptBody.mostBytes + 1)
        let kept = try KeptBody(large, in: directory.url)
        guard case .file(let partial) = kept, case .file(let file) = try kept.content(in: directory.url) else {
            Issue.record("It is in no file")
            return
        }
        #expect(directory.content == [partial.name] && file.length == Int64(large.count))
        #expect(try Data(contentsOf: file.url) == large)
        kept.remove(in: directory.url)
        #expect(directory.content.isEmpty)
        #expect { try kept.content(in: directory.url) } throws: { ($0 as? URLError)?.code == .cannotOpenFile }
    }

    @Test("A program's file is named by a private file alone, which nobody can forge")
    func reference() throws {
        let url = try directory.file("report.pdf", Data("body".utf8))
        let file = try #require(UploadedFile(url))
        let kept = try KeptBody(file, in: directory.url)
        guard case .reference(let partial) = kept, case .programFile(let found) = try kept.content(in: directory.url)
        else {
            Issue.record("It is no reference")
            return
        }
        #expect(found == file)
        let text = String(decoding: try #require(resumeData(kept).encoded()), as: UTF8.self)
        #expect(!text.contains("report.pdf"))
        // Another name, another directory, and a file that somebody has changed.
        for name in ["report.pdf", "../report.pdf", "/etc/passwd"] {
            var forged = partial
            forged.name = name
            #expect(throws: URLError.self) { try KeptBody.reference(forged).content(in: directory.url) }
        }
        #expect(throws: URLError.self) { try kept.content(in: try TemporaryDirectory().url) }
        let place = directory.url.appendingPathComponent(partial.name)
        let text2 = String(decoding: try Data(contentsOf: place), as: UTF8.self)
        let handle = try FileHandle(forWritingTo: place)
        try handle.write(contentsOf: Data(text2.replacingOccurrences(of: "report.pdf", with: "secret.pdf").utf8))
        try handle.close()
        #expect(throws: URLError.self) { try kept.content(in: directory.url) }
    }

    @Test("A file that has changed begins anew, and one that has gone is an error")
    func changedFile() throws {
        let url = try directory.file("report.pdf", Data("body".utf8))
        let kept = try KeptBody(try #require(UploadedFile(url)), in: directory.url)
        let resumeData = try resumeData(kept)
        #expect(try UploadResumption(resumeData, in: directory.url).resource == resumeData.resource)
        try Data("longer body".utf8).write(to: url)
        let changed = try UploadResumption(resumeData, in: directory.url)
        #expect(changed.resource == nil && changed.acknowledged == 0 && changed.length == nil)
        try FileManager.default.removeItem(at: url)
        #expect { try UploadResumption(resumeData, in: directory.url) } throws: {
            ($0 as? URLError)?.code == .fileDoesNotExist
        }
    }
}
