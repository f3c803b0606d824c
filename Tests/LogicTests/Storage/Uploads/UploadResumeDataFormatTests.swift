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

    func resumeData(_ body: KeptBody, acknowledged: Int64 = 2, sent: Int64? = nil, length: Int64? = 4) throws
        -> UploadResumeData
    {
        let url = try Sample.url("https://user:password@example.com/uploads/1")
        return UploadResumeData(
            request: StoredRequest(request, to: try #require(request.url)),
            resource: UploadResource(url: url, version: .v6),
            acknowledged: acknowledged,
            sent: sent ?? acknowledged,
            length: length,
            body: body
        )
    }

    @Test("Resume data of an upload comes back as it was, without credentials")
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

    @Test("Resume data of an upload that makes no sense is neither written nor read")
    func implausible() throws {
        let body = KeptBody.bytes(Data("body".utf8))
        #expect(try resumeData(body, acknowledged: 5).encoded() == nil)
        #expect(try resumeData(body, acknowledged: -1).encoded() == nil)
        #expect(try resumeData(body, length: 5).encoded() == nil)
        #expect(try resumeData(body, sent: 5).encoded() == nil && resumeData(body, sent: 1).encoded() == nil)
        #expect(try resumeData(body, sent: 4).encoded() != nil)
        #expect(
            try resumeData(.bytes(Data(count: KeptBody.maximumBytes + 1)), length: Int64(KeptBody.maximumBytes) + 1)
                .encoded()
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

    private func destination() throws -> UploadDestination { try resumeData(.stream).destination }

    private func keptFile(_ content: String = "body") throws -> (
        kept: KeptBody, partial: PartialFile, file: UploadedFile
    ) {
        let file = try #require(UploadedFile(try directory.file("report.pdf", Data(content.utf8))))
        let kept = try KeptBody(KeptUpload(destination: try destination(), body: .program(file)), in: directory.url)
        guard case .file(let partial) = kept else { throw URLError(.cannotOpenFile) }
        return (kept, partial, file)
    }

    /// A file such as a server's download leaves behind, and its description.
    private func download(_ content: Data) throws -> PartialFile {
        let file = try DownloadFile(in: directory.url)
        try content.withUnsafeBytes { bytes in try Result { () throws(URLError) in try file.write(bytes) }.get() }
        return try #require(file.keep())
    }

    @Test("Resume data has small bodies in it, and large ones in private files")
    func bytes() throws {
        let destination = try destination()
        let small = try KeptBody(Data(count: KeptBody.maximumBytes), for: destination, in: directory.url)
        #expect(small == .bytes(Data(count: KeptBody.maximumBytes)) && directory.content.isEmpty)
        let large = Data(count: KeptBody.maximumBytes + 1)
        let kept = try KeptBody(large, for: destination, in: directory.url)
        guard case .file(let partial) = kept,
            case .file(let file, let body) = try kept.content(for: destination, in: directory.url)
        else {
            Issue.record("It is in no file")
            return
        }
        #expect(Set(directory.content) == [partial.name, body.name] && file.length == Int64(large.count))
        #expect(try Data(contentsOf: file.url) == large)
        kept.remove(in: directory.url)
        #expect(directory.content.isEmpty)
        #expect { try kept.content(for: destination, in: directory.url) } throws: {
            ($0 as? URLError)?.code == .cannotOpenFile
        }
    }

    @Test("A program's file is named only by a private file, which can't be forged")
    func reference() throws {
        let (kept, partial, file) = try keptFile()
        let destination = try destination()
        guard case .programFile(let found) = try kept.content(for: destination, in: directory.url) else {
            Issue.record("It is no reference")
            return
        }
        #expect(found == file)
        let text = String(decoding: try #require(resumeData(kept).encoded()), as: UTF8.self)
        #expect(!text.contains("report.pdf"))
        // Another name, another directory, and a file that has been changed.
        for name in ["report.pdf", "../report.pdf", "/etc/passwd"] {
            var forged = partial
            forged.name = name
            #expect(throws: URLError.self) { try KeptBody.file(forged).content(for: destination, in: directory.url) }
        }
        #expect(throws: URLError.self) { try kept.content(for: destination, in: try TemporaryDirectory().url) }
        let place = directory.url.appendingPathComponent(partial.name)
        let text2 = String(decoding: try Data(contentsOf: place), as: UTF8.self)
        let handle = try FileHandle(forWritingTo: place)
        try handle.write(contentsOf: Data(text2.replacingOccurrences(of: "report.pdf", with: "secret.pdf").utf8))
        try handle.close()
        #expect(throws: URLError.self) { try kept.content(for: destination, in: directory.url) }
    }

    @Test("A private file's body goes where its upload went, and nowhere else")
    func destinations() throws {
        let kept = try keptFile().kept
        var elsewhere = try resumeData(kept)
        elsewhere.resource = UploadResource(url: try Sample.url("https://evil.example/uploads/1"), version: .v6)
        #expect(throws: URLError.self) { try UploadResumption(elsewhere, in: directory.url) }
        var request = request
        request.url = try Sample.url("https://evil.example/files")
        elsewhere = try resumeData(kept)
        elsewhere.request = StoredRequest(request, to: try #require(request.url))
        #expect(throws: URLError.self) { try UploadResumption(elsewhere, in: directory.url) }
        #expect(throws: Never.self) { try UploadResumption(try resumeData(kept), in: directory.url) }
    }

    @Test("A download's file isn't taken for the place or the body of an upload")
    func forgedByServer() throws {
        let (_, genuine, file) = try keptFile()
        let description = try Data(contentsOf: directory.url.appendingPathComponent(genuine.name))
        let reference = try download(description)
        let destination = try destination()
        #expect(throws: URLError.self) { try KeptBody.file(reference).content(for: destination, in: directory.url) }
        let upload = KeptUpload(destination: destination, body: .ours(try download(Data("body".utf8))))
        let body = try KeptBody(upload, in: directory.url)
        #expect(throws: URLError.self) { try body.content(for: destination, in: directory.url) }
        // Nor is an upload's for a download's.
        #expect(genuine.open(in: directory.url) == nil && file.length == 4)
    }

    @Test("A file's description needs a possible length", arguments: [-1, 0, 1 << 40, .min] as [Int64])
    func lengths(length: Int64) throws {
        let partial = try keptFile().partial
        for isGrowing in [nil, true] {
            var forged = partial
            (forged.length, forged.isGrowing) = (length, isGrowing)
            #expect(try resumeData(.file(forged)).encoded() == nil)
            #expect(KeptUpload(forged, in: directory.url) == nil)
        }
        var growing = partial
        growing.isGrowing = true
        #expect(try resumeData(.file(growing)).encoded() == nil && KeptUpload(growing, in: directory.url) == nil)
    }

    @Test("A file that has changed begins anew, and one that has gone is an error")
    func changedFile() throws {
        let (kept, _, file) = try keptFile()
        let url = file.url
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
