import CurlNetworking
import Foundation
import Glibc
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("Forged resume data reach no file that isn't ours", .timeLimit(.minutes(1)))
struct ResumeForgeryTests {
    typealias List = [String: Any]

    /// What an attacker writes into resume data. `secret` is a private file in the same directory.
    struct Forgery: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (_ list: inout List, _ secret: URL) throws -> Void

        init(_ description: String, _ make: @escaping @Sendable (inout List, URL) throws -> Void) {
            testDescription = description
            self.make = make
        }

        /// Another value for one key; keys of the partial file are written "file.name".
        init(_ key: String, _ value: any Sendable) {
            self.init("\(key) = \(String(describing: value).prefix(60))") { list, _ in list.set(key, value) }
        }

        init(without key: String) {
            self.init("without \(key)") { list, _ in list.set(key, nil) }
        }
    }

    static let forgedFiles = [
        Forgery("the name of somebody's file") { list, secret in
            try list.describe(secret)
        },
        Forgery("the name of somebody's file, from above") { list, secret in
            try list.describe(secret)
            list.set("file.name", "../\(secret.deletingLastPathComponent().lastPathComponent)/secret")
        },
        Forgery("the path of somebody's file") { list, secret in
            try list.describe(secret)
            list.set("file.name", secret.path)
        },
        Forgery("the name and directory of somebody's file") { list, secret in
            let elsewhere = secret.deletingLastPathComponent().appendingPathComponent("elsewhere")
            try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: false)
            let name = "CurlNetworkingDownload_0123456789abcdef0123456789abcdef.tmp"
            let moved = elsewhere.appendingPathComponent(name)
            // Nothing is wrong with it but its place: another name of the secret would be refused as such.
            try FileManager.default.copyItem(at: secret, to: moved)
            #expect(chmod(moved.path, 0o600) == 0)
            try list.describe(moved)
            list.set("file.directory", elsewhere.path)
        },
        Forgery("a symbolic link with one of our names") { list, secret in
            let name = "CurlNetworkingDownload_0123456789abcdef0123456789abcdef.tmp"
            let link = secret.deletingLastPathComponent().appendingPathComponent(name)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: secret)
            try list.describe(secret)
            list.set("file.name", name)
        },
        Forgery("a name of ours with a path in it") { list, secret in
            try list.describe(secret)
            list.set("file.name", "CurlNetworkingDownload_/../../../../../../../etc/passwd.tmp")
        },
        Forgery("a name with a NUL") { list, secret in
            try list.describe(secret)
            list.set("file.name", "secret\u{0}CurlNetworkingDownload_.tmp")
        },
        Forgery("the system's users") { list, _ in
            try list.describe(URL(fileURLWithPath: "/etc/passwd"))
            list.set("file.directory", "/etc")
        },
        Forgery("file.name", ""),
        Forgery("file.name", "."),
        Forgery("file.name", ".."),
        Forgery("file.name", String(repeating: "a", count: 100_000)),
        Forgery("file.directory", ""),
        Forgery("file.directory", "/"),
        Forgery("file.directory", "relative"),
        Forgery("file.length", 0),
        Forgery("file.length", 149_999),
        Forgery("file.length", 150_001),
        Forgery("file.inode", 0),
        Forgery("file.inode", UInt64.max),
        Forgery("file.changedSeconds", Int64.min),
        Forgery("file.changedSeconds", Int64.max),
        Forgery("file.changedNanoseconds", Int64.max),
    ]

    @Test("A forged file is not read, and the download starts from zero", arguments: forgedFiles)
    func file(_ forgery: Forgery) async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let secret = try paused.directory.file("secret", length: ResumeOrigin.heldAt, seed: 9)
        #expect(chmod(secret.path, 0o600) == 0)
        let data = try paused.forged { try forgery.make(&$0, secret) }
        let resumed = try await paused.resume(data)
        if forgery.testDescription != "file.length = 0" { #expect(resumed.error == nil) }
        #expect(!resumed.hasContinued)
        #expect(resumed.body == nil || resumed.body == ResumeOrigin.bytes)
        for request in paused.origin.server.requests.dropFirst() { #expect(request.header("Range") == nil) }
        #expect(try Data(contentsOf: secret) == GeneratedBody.bytes(seed: 9, length: Int(ResumeOrigin.heldAt)))
    }

    static let nonsense = [
        Forgery("version", 0),
        Forgery("version", 2),
        Forgery("version", -1),
        Forgery("version", "1"),
        Forgery(without: "version"),
        Forgery("url.relative", "file:///etc/passwd"),
        Forgery("url.relative", "gopher://127.0.0.1/"),
        Forgery("url.relative", "http://"),
        Forgery("url.relative", "http:///etc/passwd"),
        Forgery("url.relative", "/etc/passwd"),
        Forgery("url.relative", ""),
        Forgery(without: "url"),
        Forgery("method", "DELETE"),
        Forgery("method", "POST"),
        Forgery("method", "GET / HTTP/1.1\r\nHost: elsewhere\r\n\r\nDELETE"),
        Forgery(without: "method"),
        Forgery("headers", ["X-Field: 1\r\nX-Injected": "1"]),
        Forgery("headers", ["": "1"]),
        Forgery("headers", ["X-Field": 1]),
        Forgery(without: "headers"),
        Forgery("validator", ["entityTag": ["_0": "\"a\"\r\nX-Injected: 1"]]),
        Forgery("validator", ["entityTag": ["_0": "\"a\"\nX-Injected: 1"]]),
        Forgery("validator", ["lastModified": ["_0": "\u{0}"]]),
        Forgery("validator", ["unknown": ["_0": "\"a\""]]),
        Forgery(without: "validator"),
        Forgery("completeLength", -1),
        Forgery("completeLength", 149_999),
        Forgery("completeLength", "400000"),
        Forgery("completeLength", 1e300),
        Forgery("timeoutInterval", "soon"),
        Forgery("file.length", -1),
        Forgery("file.length", Int64.min),
        Forgery("file.length", Int64.max),
        Forgery("file.length", UInt64.max),
        Forgery("file.length", 1.5),
        Forgery("file.inode", -1),
        Forgery("file.name", 7),
        Forgery(without: "file.name"),
        Forgery(without: "partialFile"),
    ]

    @Test("Resume data that makes no sense fails the task with a clear error, and nothing is sent", arguments: nonsense)
    func senseless(_ forgery: Forgery) async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let data = try paused.forged { try forgery.make(&$0, paused.directory.url) }
        let resumed = try await paused.resume(data)
        let error = try #require(resumed.error)
        #expect([.unsupportedURL, .badURL].contains(error.code))
        #expect((error.userInfo[NSLocalizedDescriptionKey] as? String)?.isEmpty == false)
        #expect(resumed.body == nil)
        #expect(resumed.story == ["created", "completed"])
        #expect(paused.origin.server.requestCount == 1)
        // What was there already is not lost.
        #expect(try Data(contentsOf: paused.partialFile) == ResumeOrigin.bytes.prefix(Int(ResumeOrigin.heldAt)))
    }

    static let lineBreaks = [
        Forgery("headers", ["X-Field": "value\r\nX-Injected: 1"]),
        Forgery("headers", ["X-Field": "value\nX-Injected: 1"]),
        Forgery("headers", ["X-Field": "value\rX-Injected: 1"]),
        Forgery("headers", ["X-Field": "value\u{0}X-Injected: 1"]),
        Forgery("validator", ["lastModified": ["_0": "\(ResumeOrigin.lastModified)\r\nX-Injected: 1"]]),
        Forgery("url.relative", "http://127.0.0.1/\r\nX-Injected: 1"),
    ]

    @Test("A line break in resume data never becomes a header field", arguments: lineBreaks)
    func lineBreak(_ forgery: Forgery) async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let data = try paused.forged { try forgery.make(&$0, paused.directory.url) }
        let resumed = try await paused.resume(data)
        #expect(resumed.error != nil || resumed.body == ResumeOrigin.bytes)
        for request in paused.origin.server.requests {
            #expect(!String(decoding: request.rawHead, as: UTF8.self).contains("X-Injected"))
        }
    }

    static let oddities = [
        Forgery("timeoutInterval", -1.0),
        Forgery("timeoutInterval", 0.0),
        Forgery("timeoutInterval", 1e308),
        Forgery("timeoutInterval", Double.infinity),
        Forgery("timeoutInterval", Double.nan),
        Forgery("completeLength", Int64.max),
        Forgery(without: "completeLength"),
        Forgery("headers", ["Range": "bytes=7-8", "If-Range": "\"x\""]),
        Forgery("headers", ["range": "bytes=7-8"]),
        Forgery("headers", ["Content-Length": "1000000", "Transfer-Encoding": "chunked"]),
        Forgery("headers", ["Accept-Encoding": "gzip"]),
        Forgery("validator", ["entityTag": ["_0": "\"another\""]]),
        Forgery("unknown", "key"),
    ]

    @Test("Resume data that is merely odd gives the right file all the same", arguments: oddities)
    func oddity(_ forgery: Forgery) async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let data = try paused.forged { try forgery.make(&$0, paused.directory.url) }
        let resumed = try await paused.resume(data)
        #expect(resumed.error == nil)
        #expect(resumed.body == ResumeOrigin.bytes)
    }

    @Test("A smuggled Range field doesn't decide what is downloaded from zero")
    func smuggledRange() async throws {
        let paused = try await PausedDownload(from: ResumeOrigin())
        let data = try paused.forged { $0.set("headers", ["Range": "bytes=7-8"]) }
        try FileManager.default.removeItem(at: paused.partialFile)
        let resumed = try await paused.resume(data)
        #expect(resumed.error != nil || resumed.body == ResumeOrigin.bytes)
    }

    @Test(
        "Data that isn't resume data at all is refused",
        arguments: ["", "x", "<plist/>", "{}", "bplist00", "[]", "{a=b;}"]
    )
    func garbage(_ text: String) async throws {
        let resumed = try await ResumedDownload(Data(text.utf8), in: TemporaryDirectory())
        #expect(resumed.error?.code == .unsupportedURL)
        #expect(resumed.task.originalRequest == nil)
    }

    @Test("A handler and an async call get the same error for bad resume data")
    func threeWays() async throws {
        let session = URLSession.forTest()
        let data = Data("garbage".utf8)
        let error: URLError? = await withCheckedContinuation { continuation in
            session.downloadTask(withResumeData: data) { file, response, error in
                #expect(file == nil && response == nil)
                continuation.resume(returning: error as? URLError)
            }.resume()
        }
        #expect(error?.code == .unsupportedURL)
        let thrown = await #expect(throws: URLError.self) { try await session.download(resumeFrom: data) }
        #expect(thrown?.code == .unsupportedURL)
    }
}

extension PausedDownload {
    /// The resume data, after `forge` has changed their property list.
    func forged(_ forge: (inout [String: Any]) throws -> Void) throws -> Data {
        let list = try PropertyListSerialization.propertyList(from: resumeData, format: nil)
        var dictionary = try #require(list as? [String: Any])
        try forge(&dictionary)
        return try PropertyListSerialization.data(fromPropertyList: dictionary, format: .xml, options: 0)
    }
}

extension [String: Any] {
    /// "a.b" is key b of the dictionary at key a; "file" stands for the partial file.
    fileprivate mutating func set(_ key: String, _ value: Any?) {
        let keys = key.split(separator: ".").map(String.init).map { $0 == "file" ? "partialFile" : $0 }
        guard keys.count == 2 else { return self[keys[0]] = value }
        var inner = self[keys[0]] as? [String: Any] ?? [:]
        inner[keys[1]] = value
        self[keys[0]] = inner
    }

    /// Everything right about `file`, but that it isn't ours.
    fileprivate mutating func describe(_ file: URL) throws {
        var status = stat()
        try #require(lstat(file.path, &status) == 0)
        set("file.name", file.lastPathComponent)
        set("file.directory", file.deletingLastPathComponent().path)
        set("file.length", Int64(status.st_size))
        set("file.inode", UInt64(status.st_ino))
        set("file.changedSeconds", Int64(status.st_ctim.tv_sec))
        set("file.changedNanoseconds", Int64(status.st_ctim.tv_nsec))
        if let complete = self["completeLength"] as? Int64, complete < Int64(status.st_size) {
            self["completeLength"] = Int64(status.st_size)
        }
    }
}
