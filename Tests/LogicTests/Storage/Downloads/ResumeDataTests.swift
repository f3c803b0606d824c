import Foundation
import Glibc
import TestSupport
import Testing

@testable import CurlNetworking

@Suite("Resume data")
struct ResumeDataTests {
    /// Resume data for a partial file of three bytes.
    static func sample(
        _ request: URLRequest? = nil,
        validator: Resumption.Validator = .entityTag("\"v1\""),
        completeLength: Int64? = 1000
    ) throws -> ResumeData {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("LogicTests-\(UUID().uuidString)")
        try Data("abc".utf8).write(to: file)
        defer { unlink(file.path) }
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let request = try request ?? Sample.request("https://example.com/file?q=1#f", "GET", ["X-A": "b"])
        return ResumeData(
            request: StoredRequest(request, to: try #require(request.url)),
            validator: validator,
            completeLength: completeLength,
            partialFile: try #require(PartialFile(describing: descriptor, at: file))
        )
    }

    /// The sample as a property list, changed.
    static func changed(_ change: (inout [String: Any]) -> Void) throws -> Data {
        let list = try PropertyListSerialization.propertyList(from: #require(sample().encoded()), format: nil)
        var dictionary = try #require(list as? [String: Any])
        change(&dictionary)
        return try PropertyListSerialization.data(fromPropertyList: dictionary, format: .xml, options: 0)
    }

    static func isRefused(_ data: Data) -> Bool {
        do throws(URLError) {
            _ = try ResumeData(decoding: data)
            return false
        } catch {
            return error.code == .unsupportedURL
        }
    }

    // MARK: - To another directory

    /// Resume data of a file in `directory`, and the file's name.
    private static func kept(in directory: TemporaryDirectory) throws -> (data: Data, name: String) {
        let file = try DownloadFile(in: directory.url)
        try Data("abc".utf8).withUnsafeBytes { bytes in
            try Result { () throws(URLError) in try file.write(bytes) }.get()
        }
        var resumeData = try sample()
        resumeData.partialFile = try #require(file.keep())
        return (try #require(resumeData.encoded()), resumeData.partialFile.name)
    }

    @Test("A partial file that is handed over is found as often as it is asked for, unless it has changed")
    func handedOver() throws {
        let (source, target) = (try TemporaryDirectory(), try TemporaryDirectory())
        let (data, name) = try Self.kept(in: source)
        #expect(ResumeData.handedOver(data, from: target.url, to: try TemporaryDirectory().url) == nil)
        let first = try #require(ResumeData.handedOver(data, from: source.url, to: target.url))
        #expect(source.content.isEmpty && target.content == [name])
        #expect(ResumeData.handedOver(data, from: source.url, to: target.url) == first)
        let partial = try ResumeData(decoding: first).partialFile
        close(try #require(partial.open(in: target.url)))
        // The agent that gets it back gives it another name.
        let third = try TemporaryDirectory()
        #expect(partial.moved(to: third.url, as: TemporaryName.kept.make()) != nil)
        #expect(ResumeData.handedOver(data, from: source.url, to: target.url) == nil)

        let path = target.url.appendingPathComponent(partial.name).path
        for content in ["abc", "abcd"] {
            #expect(FileManager.default.createFile(atPath: path, contents: Data(content.utf8)))
            chmod(path, 0o600)
            var known = try ResumeData(decoding: data)
            known.partialFile.inode = try UploadFile(URL(fileURLWithPath: path)).inode
            let data = try #require(known.encoded())
            #expect((ResumeData.handedOver(data, from: source.url, to: target.url) != nil) == (content == "abc"))
        }
        // Another file of the same name.
        #expect(ResumeData.handedOver(data, from: source.url, to: target.url) == nil)
    }

    @Test("A partial file is there as long as it is in the directory that it should be in, unchanged")
    func there() throws {
        let (source, other) = (try TemporaryDirectory(), try TemporaryDirectory())
        let (data, name) = try Self.kept(in: source)
        #expect(ResumeData.isFileThere(data, in: source.url))
        #expect(!ResumeData.isFileThere(data, in: other.url))
        #expect(!ResumeData.isFileThere(Data("no resume data".utf8), in: source.url))
        #expect(chmod(source.url.appendingPathComponent(name).path, 0o640) == 0)
        #expect(!ResumeData.isFileThere(data, in: source.url))
        #expect(unlink(source.url.appendingPathComponent(name).path) == 0)
        #expect(!ResumeData.isFileThere(data, in: source.url))
    }

    // MARK: - There and back

    @Test("Resume data is read back as it was written")
    func roundTrip() throws {
        for validator in [Resumption.Validator.entityTag("\"ü&<>\""), .lastModified("Sun, 06 Nov 1994 08:49:37 GMT")] {
            for length in [nil, 3, 1000, Int64.max] {
                let original = try Self.sample(validator: validator, completeLength: length)
                let decoded = try ResumeData(decoding: #require(original.encoded()))
                #expect(decoded == original)
                #expect(
                    decoded.resumption(from: 3) == Resumption(offset: 3, validator: validator, completeLength: length)
                )
            }
        }
    }

    @Test("The request comes back with its URL, method, headers and time-out")
    func request() throws {
        var request = try Sample.request("https://example.com/a%20b?q#f", "GET", ["X-A": "b", "Accept": "*/*"])
        request.timeoutInterval = 12.5
        let decoded = try ResumeData(decoding: #require(Self.sample(request).encoded())).request.urlRequest
        #expect(decoded.url == request.url)
        #expect(decoded.httpMethod == "GET")
        #expect(decoded.allHTTPHeaderFields == ["X-A": "b", "Accept": "*/*"])
        #expect(decoded.timeoutInterval == 12.5)
    }

    @Test("The wish for no cookies, the main document's URL, and properties of protocol classes come back")
    func rest() throws {
        var request = try Sample.request("https://example.com/")
        request.httpShouldHandleCookies = false
        request.mainDocumentURL = try Sample.url("https://user:topsecret@main.example/page")
        let mutable = try #require((request as NSURLRequest).mutableCopy() as? NSMutableURLRequest)
        CurlNetworking.URLProtocol.setProperty(["a": [1, 2]], forKey: "key", in: mutable)
        CurlNetworking.URLProtocol.setProperty("text", forKey: "other", in: mutable)
        let encoded = try #require(Self.sample(mutable as URLRequest).encoded())
        #expect(!String(decoding: encoded, as: UTF8.self).contains("topsecret"))
        let decoded = try ResumeData(decoding: encoded).request.urlRequest
        #expect(!decoded.httpShouldHandleCookies)
        #expect(decoded.mainDocumentURL == (try Sample.url("https://main.example/page")))
        #expect(CurlNetworking.URLProtocol.property(forKey: "key", in: decoded) as? [String: [Int]] == ["a": [1, 2]])
        #expect(CurlNetworking.URLProtocol.property(forKey: "other", in: decoded) as? String == "text")
    }

    @Test("Resume data of earlier versions, without these, is good")
    func older() throws {
        let data = try Self.changed { list in
            for key in ["handlesCookies", "mainDocumentURL", "properties"] { list[key] = nil }
        }
        let request = try ResumeData(decoding: data).request.urlRequest
        #expect(request.httpShouldHandleCookies && request.mainDocumentURL == nil)
    }

    @Test(
        "Properties that could be hostile are dropped",
        arguments: [
            "bplist00", "", "<plist/>", "<?xml version=\"1.0\"?><plist>" + String(repeating: "<array>", count: 10_000),
        ]
    )
    func hostileProperties(text: String) throws {
        let request = try ResumeData(decoding: Self.changed { $0["properties"] = Data(text.utf8) }).request.urlRequest
        #expect(request.allHTTPHeaderFields == ["X-A": "b"])
    }

    @Test("No other scheme is taken", arguments: ["http+unix", "https+unix", "file", "data", "gopher", "sftp", ""])
    func schemes(scheme: String) throws {
        let url = "\(scheme)://%2Frun%2Fdocker.sock/file"
        #expect(try Self.isRefused(Self.changed { $0["url"] = ["relative": url] }))
        #expect(!StoredRequest.canName(try Sample.url("http+unix://%2Frun%2Fa.sock/")))
        for url in ["http://a/", "https://a/", "ftp://a/", "ftps://a/"] {
            #expect(StoredRequest.canName(try Sample.url(url)))
        }
    }

    @Test("Resume data is a property list with a version")
    func format() throws {
        let list = try PropertyListSerialization.propertyList(from: #require(Self.sample().encoded()), format: nil)
        #expect((list as? [String: Any])?["version"] as? Int == 1)
    }

    @Test("Resume data holds no credentials, neither from the URL nor from the headers")
    func credentials() throws {
        let request = try Sample.request(
            "https://us%20er:topsecret@example.com/",
            "GET",
            [
                "Authorization": "Bearer topsecret", "proxy-authorization": "Basic topsecret", "COOKIE": "a=topsecret",
                "Cookie2": "topsecret", "Range": "bytes=topsecret", "If-Range": "topsecret", "X-A": "b",
            ]
        )
        let data = try Self.sample(request)
        #expect(data.request.url.absoluteString == "https://example.com/")
        #expect(data.request.headers == ["X-A": "b"])
        let text = String(decoding: try #require(data.encoded()), as: UTF8.self)
        #expect(!text.contains("topsecret"))
        #expect(!text.contains("us%20er"))
    }

    @Test("Headers that the session sets itself are not taken from forged resume data")
    func forgedHeaders() throws {
        let data = try Self.changed { $0["headers"] = ["Range": "bytes=0-", "authorization": "x", "X-A": "b"] }
        #expect(try ResumeData(decoding: data).request.urlRequest.allHTTPHeaderFields == ["X-A": "b"])
    }

    @Test("Resume data that would be refused when it is read back is not written")
    func refused() throws {
        #expect(try Self.sample(Sample.request("https://example.com/", "POST")).encoded() == nil)
        #expect(try Self.sample(Sample.request("http+unix://%2Frun%2Fa.sock/")).encoded() == nil)
        #expect(try Self.sample(validator: .entityTag("\"a\u{7f}\"")).encoded() == nil)
        #expect(try Self.sample(completeLength: 2).encoded() == nil, "shorter than the partial file")
    }

    @Test("Resume data that would be too large to be read back is not written")
    func tooLarge() throws {
        let request = try Sample.request(
            "https://example.com/",
            "GET",
            ["X-A": String(repeating: "x", count: 300 * 1024)]
        )
        #expect(try Self.sample(request).encoded() == nil)
    }

    // MARK: - Forgeries

    @Test(
        "Data that isn't resume data is refused",
        arguments: [
            "", "x", "{}", "<?xml", "<?xml version=\"1.0\"?>", "<?xml version=\"1.0\"?><plist/>",
            "<?xml version=\"1.0\"?><plist><array/></plist>", "<?xml version=\"1.0\"?><plist><dict/></plist>",
            "bplist00",
        ]
    )
    func nonsense(text: String) {
        #expect(Self.isRefused(Data(text.utf8)))
    }

    @Test(
        "Each missing or mistyped entry is refused",
        arguments: ["version", "url", "method", "headers", "timeoutInterval", "validator", "partialFile"]
    )
    func entries(key: String) throws {
        #expect(try Self.isRefused(Self.changed { $0[key] = nil }))
        #expect(try Self.isRefused(Self.changed { $0[key] = [1, 2] }))
        #expect(try Self.isRefused(Self.changed { $0[key] = Date() }))
    }

    @Test("Another version is refused")
    func version() throws {
        for version in [0, 2, -1, Int.max] { #expect(try Self.isRefused(Self.changed { $0["version"] = version })) }
    }

    @Test("Implausible contents are refused")
    func implausible() throws {
        #expect(try Self.isRefused(Self.changed { $0["method"] = "POST" }))
        #expect(try Self.isRefused(Self.changed { $0["method"] = "GET\r\nX: y" }))
        for url in ["file:///etc/passwd", "gopher://example.com/", "", "http:///x", "relative"] {
            #expect(try Self.isRefused(Self.changed { $0["url"] = ["relative": url] }), "\(url)")
        }
        #expect(try Self.isRefused(Self.changed { $0["completeLength"] = 2 }), "shorter than the partial file")
        #expect(try Self.isRefused(Self.changed { $0["completeLength"] = -1 }))
        for tag in ["\"a\r\nX: y\"", "\"a\u{0}\"", "\"a\u{7f}\"", "\n"] {
            #expect(
                try Self.isRefused(Self.changed { $0["validator"] = ["entityTag": ["_0": tag]] }),
                "\(tag.debugDescription)"
            )
        }
        for length in [-1, Int64.min] {
            #expect(
                try Self.isRefused(
                    Self.changed { list in
                        var file = list["partialFile"] as? [String: Any] ?? [:]
                        file["length"] = length
                        list["partialFile"] = file
                    }
                )
            )
        }
    }

    @Test(
        "A time-out that isn't an interval makes a request all the same",
        arguments: [Double.infinity, -Double.infinity, Double.nan, -5, 1e300]
    )
    func strangeTimeouts(timeout: Double) throws {
        let decoded = try ResumeData(decoding: Self.changed { $0["timeoutInterval"] = timeout })
        let idleTimeout = Sample.settings().idleTimeout(for: decoded.request.urlRequest)
        #expect(idleTimeout == Duration(timeInterval: timeout))
    }

    @Test("A binary property list is refused: Foundation traps on some")
    func binary() throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        #expect(try Self.isRefused(encoder.encode(Self.sample())))
    }

    @Test("Deep nesting is refused", arguments: ["array", "dict", "array ", "dict\n"])
    func nesting(element: String) {
        let text = String(repeating: "<\(element)>", count: 20_000)
        #expect(Self.isRefused(Data(("<?xml version=\"1.0\"?><plist>" + text).utf8)))
    }

    @Test("Huge data is refused")
    func huge() throws {
        let padding = String(repeating: " ", count: 300 * 1024)
        let data = try #require(Self.sample().encoded())
        #expect(!Self.isRefused(data))
        #expect(Self.isRefused(data + Data(padding.utf8)))
    }

    // MARK: - Damage

    /// Either refused, or something that can be used.
    static func isHandled(_ data: Data) -> Bool {
        do throws(URLError) {
            let decoded = try ResumeData(decoding: data)
            _ = decoded.request.urlRequest
            return decoded.partialFile.length >= 0 && decoded.request.method == "GET"
                && Origin(decoded.request.url) != nil
                && decoded.completeLength ?? .max >= decoded.partialFile.length
        } catch {
            return error.code == .unsupportedURL
        }
    }

    @Test("Resume data that is cut off at any byte is refused")
    func truncation() throws {
        let data = try #require(Self.sample().encoded())
        let end = data.firstRange(of: Data("</plist>".utf8))?.lowerBound ?? data.endIndex
        for count in 0..<data.count {
            let isFine = count < end ? Self.isRefused(data.prefix(count)) : Self.isHandled(data.prefix(count))
            #expect(isFine, "\(count) bytes")
        }
    }

    @Test("A single flipped bit is handled")
    func bitFlips() throws {
        let data = try #require(Self.sample().encoded())
        for index in stride(from: data.startIndex, to: data.endIndex, by: 3) {
            let bit = UInt8(1) << UInt8(index % 8)
            var damaged = data
            damaged[index] ^= bit
            #expect(Self.isHandled(damaged), "bit \(bit) of byte \(index)")
        }
    }

    @Test("5,000 random mutations are handled", arguments: 1...10 as ClosedRange<UInt64>)
    func mutations(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let data = try #require(Self.sample().encoded())
        let words = [
            "<dict>", "</dict>", "<key>", "<array/>", "<integer>", "-1", "9223372036854775808", "&#0;", "&", "<!--",
            "]]>", "<plist>", "\u{0}", "<data>",
        ]
        for _ in 0..<500 {
            var damaged = Array(data)
            for _ in 0..<Int.random(in: 1...8, using: &generator) where !damaged.isEmpty {
                let position = Int.random(in: damaged.indices, using: &generator)
                let end = min(damaged.count, position + Int.random(in: 0..<60, using: &generator))
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: damaged[position] = UInt8.random(in: .min ... .max, using: &generator)
                case 1: damaged.removeSubrange(position..<end)
                case 2: damaged.insert(contentsOf: damaged[position..<end], at: position)
                case 3:
                    damaged.insert(contentsOf: Array((words.randomElement(using: &generator) ?? "").utf8), at: position)
                default: damaged.swapAt(position, Int.random(in: damaged.indices, using: &generator))
                }
            }
            #expect(Self.isHandled(Data(damaged)), "\(String(decoding: damaged, as: UTF8.self))")
        }
    }
}
