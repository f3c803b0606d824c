import Foundation
import Testing

@testable import CurlNetworking

@Suite("Resuming decisions")
struct ResumePolicyTests {
    static let tag = Resumption(offset: 100, validator: .entityTag("\"v1\""), completeLength: 1000)
    static let date = Resumption(
        offset: 100,
        validator: .lastModified("Sun, 06 Nov 1994 08:49:37 GMT"),
        completeLength: nil
    )

    static func decide(
        _ status: Int,
        _ fields: KeyValuePairs<String, String>,
        _ resumption: Resumption = tag
    ) -> ResumePolicy.Decision {
        ResumePolicy.decision(for: Sample.head(status, fields), to: resumption)
    }

    // MARK: - What is asked for

    @Test("A resuming request asks for the rest of the same, uncoded representation")
    func fields() {
        #expect(
            Self.tag.fields == [
                HeaderField(name: "Range", value: "bytes=100-"),
                HeaderField(name: "If-Range", value: "\"v1\""),
                HeaderField(name: "Accept-Encoding", value: "identity"),
            ]
        )
        #expect(Self.date.fields[1].value == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test("A download with nothing to go on from asks for nothing special")
    func noFields() {
        var resumption = Self.tag
        resumption.offset = 0
        #expect(resumption.fields == [])
    }

    // MARK: - What the answer means

    @Test("The right range of the same representation continues the download")
    func append() {
        let whole = ResumePolicy.Decision.append(end: 1000, completeLength: 1000)
        #expect(Self.decide(206, ["Content-Range": "bytes 100-999/1000", "ETag": "\"v1\""]) == whole)
        #expect(
            Self.decide(206, ["content-range": "Bytes 100-999/1000"]) == whole,
            "the validator need not be repeated"
        )
        #expect(Self.decide(206, ["Content-Range": "bytes 100-999/*"]) == whole, "the length is known from before")
        #expect(
            Self.decide(206, ["Content-Range": "bytes 100-199/1000"]) == .append(end: 200, completeLength: 1000),
            "a server may send less"
        )
        #expect(
            Self.decide(206, ["Content-Range": "bytes 100-199/*"], Self.date) == .append(end: 200, completeLength: nil)
        )
        #expect(
            Self.decide(206, ["Content-Range": "bytes 100-999/1000", "Content-Encoding": "identity"]) == whole
        )
    }

    static let wrongRanges: [KeyValuePairs<String, String>] = [
        [:],
        ["Content-Range": "bytes 0-999/1000"],
        ["Content-Range": "bytes 101-999/1000"],
        ["Content-Range": "bytes 99-999/1000"],
        ["Content-Range": "bytes 100-999/999"],
        ["Content-Range": "bytes 100-999/1001"],
        ["Content-Range": "bytes 100-1000/1000"],
        ["Content-Range": "bytes 100-9223372036854775807/*"],
        ["Content-Range": "bytes */1000"],
        ["Content-Range": "items 100-999/1000"],
        ["Content-Range": "bytes 100-999"],
        ["Content-Type": "multipart/byteranges; boundary=x"],
        ["Content-Range": "bytes 100-999/1000", "ETag": "\"v2\""],
        ["Content-Range": "bytes 100-999/1000", "ETag": "W/\"v1\""],
        ["Content-Range": "bytes 100-999/1000", "Content-Encoding": "gzip"],
    ]

    @Test("A wrong range, another validator or a coded part is of no use", arguments: wrongRanges)
    func wrongRange(fields: KeyValuePairs<String, String>) {
        #expect(Self.decide(206, fields) == .askAgain)
    }

    @Test("Another tag is another representation, even if Swift takes both for equal")
    func equivalentTag() {
        var resumption = Self.tag
        resumption.validator = .entityTag("\"\u{E9}\"")
        let range = ("Content-Range", "bytes 100-999/1000")
        let whole = ResumePolicy.Decision.append(end: 1000, completeLength: 1000)
        #expect(Self.decide(206, [range.0: range.1, "ETag": "\"\u{E9}\""], resumption) == whole)
        #expect(Self.decide(206, [range.0: range.1, "ETag": "\"e\u{301}\""], resumption) == .askAgain)
    }

    @Test("A range that wasn't asked for is of no use")
    func unaskedRange() {
        var resumption = Self.tag
        resumption.offset = 0
        #expect(Self.decide(206, ["Content-Range": "bytes 0-999/1000"], resumption) == .askAgain)
    }

    @Test("Another Last-Modified is another representation")
    func changedDate() {
        let range = "bytes 100-999/1000"
        #expect(
            Self.decide(
                206,
                ["Content-Range": range, "Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"],
                Self.date
            ) == .askAgain
        )
        #expect(
            Self.decide(
                206,
                ["Content-Range": range, "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
                Self.date
            )
                == .append(end: 1000, completeLength: 1000)
        )
    }

    @Test("A tag where there was none is another representation, whatever its date")
    func addedTag() {
        var fields: KeyValuePairs = ["Content-Range": "bytes 100-999/1000", "Last-Modified": Self.modified]
        #expect(Self.decide(206, fields, Self.date) == .append(end: 1000, completeLength: 1000))
        for tag in ["\"v1\"", "W/\"v1\""] {
            fields = ["Content-Range": "bytes 100-999/1000", "Last-Modified": Self.modified, "ETag": tag]
            #expect(Self.decide(206, fields, Self.date) == .askAgain, "\(tag)")
        }
    }

    @Test("200 starts over, whatever else it says")
    func startOver() {
        #expect(Self.decide(200, ["Content-Range": "bytes 100-999/1000", "ETag": "\"v1\""]) == .startOver)
    }

    @Test("416 means complete when the length is that of the partial file, and else nothing")
    func notSatisfiable() {
        var whole = Self.tag
        whole.offset = 1000
        #expect(Self.decide(416, ["Content-Range": "bytes */1000"], whole) == .complete)
        #expect(Self.decide(416, ["Content-Range": "bytes */1000", "ETag": "\"v1\""], whole) == .complete)
        #expect(Self.decide(416, ["Content-Range": "bytes */1000", "ETag": "\"v2\""], whole) == .askAgain)
        #expect(Self.decide(416, ["Content-Range": "bytes */999"], whole) == .askAgain)
        #expect(Self.decide(416, [:], whole) == .askAgain)
        #expect(Self.decide(416, ["Content-Range": "bytes */1000"]) == .askAgain)
        #expect(Self.decide(416, ["Content-Range": "bytes */100"]) == .askAgain, "it was longer once")
        #expect(Self.decide(416, ["Content-Range": "bytes */100"], Self.date) == .complete)
        var empty = Self.date
        empty.offset = 0
        #expect(Self.decide(416, ["Content-Range": "bytes */0"], empty) == .askAgain)
    }

    @Test("Any other status is an answer of its own", arguments: [201, 204, 304, 400, 401, 404, 412, 500, 503])
    func others(status: Int) {
        #expect(Self.decide(status, ["Content-Range": "bytes 100-999/1000"]) == .deliver)
    }

    static let endings: [(Int64, Int64?, ResumePolicy.Ending)] = [
        (500, 500, .complete), (500, 1000, .askForRest), (100, 1000, .fail), (499, 500, .askForRest),
        (500, nil, .askForRest), (499, nil, .askForRest), (100, nil, .fail),
        (501, 500, .askAgain), (501, 1000, .askAgain), (1000, 1000, .askAgain), (501, nil, .askAgain),
        (500, 499, .askAgain),
    ]

    @Test("What the end of an appended body means depends on the file's length", arguments: endings)
    func ending(length: Int64, completeLength: Int64?, expected: ResumePolicy.Ending) {
        #expect(ResumePolicy.ending(at: length, from: 100, end: 500, completeLength: completeLength) == expected)
    }

    @Test("After a part, 416 without a length says that there is no more, unless it can't be")
    func endOfUnknownLength() {
        var next = Self.date
        next.followsPart = true
        #expect(Self.decide(416, [:], next) == .complete)
        #expect(Self.decide(416, ["Content-Range": "bytes */*"], next) == .complete)
        #expect(Self.decide(416, ["Content-Range": "bytes */100"], next) == .complete)
        #expect(Self.decide(416, ["Content-Range": "bytes */200"], next) == .askAgain)
        #expect(Self.decide(416, ["Last-Modified": Self.later], next) == .askAgain)
        next.completeLength = 200
        #expect(Self.decide(416, [:], next) == .askAgain)
    }

    // MARK: - Validators

    static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"

    static func representation(
        _ fields: KeyValuePairs<String, String>,
        status: Int = 200,
        _ method: String = "GET",
        _ headers: KeyValuePairs<String, String> = [:],
        adding additional: [HeaderField] = []
    ) throws -> Representation? {
        try ResumePolicy.representation(
            of: Sample.head(status, fields),
            to: Sample.request("http://example.com/", method, headers),
            adding: additional
        )
    }

    static func validator(
        _ fields: KeyValuePairs<String, String>,
        status: Int = 200,
        _ method: String = "GET",
        _ headers: KeyValuePairs<String, String> = [:]
    ) throws -> Resumption.Validator? {
        try representation(fields, status: status, method, headers)?.validator
    }

    static let later = "Sun, 06 Nov 1994 08:49:38 GMT"

    @Test("A strong ETag is the best validator; beside a weak one a date is none (RFC 9110 §13.1.5)")
    func choice() throws {
        let date: KeyValuePairs = ["Last-Modified": Self.modified, "Date": Self.later]
        #expect(try Self.validator(date) == .lastModified(Self.modified))
        #expect(try Self.validator(["ETag": "\"v1\"", "Last-Modified": Self.modified]) == .entityTag("\"v1\""))
        #expect(try Self.validator(["ETag": "\"\""]) == .entityTag("\"\""))
        // To Swift, the quotation mark and the accent are one character.
        #expect(try Self.validator(["ETag": "\"\u{301}\""]) == .entityTag("\"\u{301}\""))
        for tag in ["W/\"v1\"", "v1", "\"", "", "\"v1", "v1\""] {
            #expect(try Self.validator(["ETag": tag]) == nil, "\(tag)")
            let both: KeyValuePairs = ["ETag": tag, "Last-Modified": Self.modified, "Date": Self.later]
            #expect(try Self.validator(both) == nil, "\(tag)")
        }
    }

    @Test("A date validates nothing unless the file was sent a second later or more (RFC 9110 §8.8.2.2)")
    func weakDate() throws {
        #expect(try Self.validator(["Last-Modified": Self.modified, "Date": Self.modified]) == nil)
        #expect(try Self.validator(["Last-Modified": Self.later, "Date": Self.modified]) == nil)
        #expect(try Self.validator(["Last-Modified": Self.modified]) == nil, "it isn't said when")
        #expect(try Self.validator(["Last-Modified": Self.modified, "Date": "today"]) == nil)
        #expect(try Self.validator(["Last-Modified": "yesterday", "Date": Self.later]) == nil)
    }

    @Test("FTP has no other validator than the file's date, and never says when it sends")
    func ftp() throws {
        var head = Sample.head(200, ["Last-Modified": Self.modified])
        head.version = ResponseHead.versionOfFTP
        let request = try Sample.request("ftp://example.com/file")
        let found = ResumePolicy.representation(of: head, to: request, adding: [])
        #expect(found?.validator == .lastModified(Self.modified))
    }

    @Test("A response that can't be resumed has no validator")
    func unresumable() throws {
        let tag = ("ETag", "\"v1\"")
        #expect(try Self.validator([tag.0: tag.1], "POST") == nil)
        #expect(try Self.validator([tag.0: tag.1], "GET", ["Range": "bytes=5-9"]) == nil)
        #expect(try Self.validator([tag.0: tag.1, "Accept-Ranges": "none"]) == nil)
        #expect(try Self.validator([tag.0: tag.1, "Accept-Ranges": "None"]) == nil)
        #expect(try Self.validator([tag.0: tag.1, "Content-Encoding": "gzip"]) == nil)
        for status in [203, 204, 301, 404, 416, 500] {
            #expect(try Self.validator([tag.0: tag.1], status: status) == nil)
        }
        #expect(try Self.validator([:]) == nil)
        #expect(try Self.validator([tag.0: tag.1, "Accept-Ranges": "bytes"]) == .entityTag("\"v1\""))
    }

    @Test("Only a part that begins at the first byte can be continued, to the length of the whole and not its own")
    func parts() throws {
        func representation(_ range: String?) throws -> Representation? {
            let range = range.map { [("Content-Range", $0)] } ?? []
            let fields = [("ETag", "\"v1\""), ("Content-Length", "500")] + range
            let head = ResponseHead(
                version: "HTTP/1.1",
                status: 206,
                fields: fields.map { HeaderField(name: $0.0, value: $0.1) }
            )
            return try ResumePolicy.representation(of: head, to: Sample.request(), adding: [])
        }
        let tag = Resumption.Validator.entityTag("\"v1\"")
        #expect(try representation("bytes 0-499/1000") == Representation(validator: tag, completeLength: 1000))
        #expect(try representation("bytes 0-499/*") == Representation(validator: tag, completeLength: nil))
        for range in ["bytes 500-999/1000", "bytes 1-499/500", "bytes */1000", "items 0-499/1000", "bytes 0-499", nil] {
            #expect(try representation(range) == nil, "\(range ?? "none")")
        }
        let whole = try Self.representation(["ETag": "\"v1\"", "Content-Length": "500"])
        #expect(whole == Representation(validator: tag, completeLength: 500))
        #expect(try Self.representation(["ETag": "\"v1\""]) == Representation(validator: tag, completeLength: nil))
    }

    @Test("A session that asks for a range with each request has nothing that can be resumed")
    func sessionRange() throws {
        let tag: KeyValuePairs = ["ETag": "\"v1\""]
        let range = HeaderField(name: "range", value: "bytes=0-499")
        #expect(try Self.representation(tag, adding: [range]) == nil)
        #expect(try Self.representation(tag, adding: [HeaderField(name: "X-Range", value: "1")]) != nil)
    }

    @Test("A request with a body can't be repeated: resume data has no place for one")
    func bodies() throws {
        var request = try Sample.request()
        #expect(ResumePolicy.canRepeat(request))
        request.httpBody = Data()
        #expect(ResumePolicy.canRepeat(request))
        request.httpBody = Data("a".utf8)
        #expect(!ResumePolicy.canRepeat(request))
        request.httpBodyStream = InputStream(data: Data("a".utf8))
        #expect(!ResumePolicy.canRepeat(request))
    }
}
