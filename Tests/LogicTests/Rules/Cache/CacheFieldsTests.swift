import Foundation
import Testing

@testable import CurlNetworking

@Suite("Fields that a cache keeps")
struct CacheFieldsTests {
    private static let received = Date(timeIntervalSince1970: 784_111_777)

    @Test("A 304 replaces the stored fields, but for those of the connection and of the body's form")
    func updating() {
        let stored = Sample.head(
            200,
            [
                "ETag": "\"a\"", "Content-Length": "5", "Content-Type": "text/plain", "X": "old", "Y": "kept",
                "Age": "50",
                "Content-Encoding": "gzip",
            ]
        )
        let update = Sample.head(
            304,
            [
                "etag": "\"a\"", "Content-Length": "0", "Content-Type": "text/html", "x": "new",
                "Connection": "close, hop",
                "Hop": "1", "Z": "1", "Content-Encoding": "br",
            ]
        )
        let updated = CacheFields.updated(stored, with: update, received: Self.received)
        #expect(updated.status == 200)
        #expect(updated["Content-Length"] == "5")
        #expect(updated["Content-Encoding"] == "gzip")
        #expect(updated["Content-Type"] == "text/html")
        #expect(updated["X"] == "new")
        #expect(updated["Y"] == "kept")
        #expect(updated["Z"] == "1")
        for name in ["Connection", "Hop", "Age"] { #expect(updated[name] == nil, "\(name)") }
    }

    @Test(
        "A response is stored with the length of its decoded body, or with none",
        arguments: [
            (["Content-Length": "5"], "5"), (["Content-Length": "5", "content-length": "5"], "5"),
            (["Content-Length": "5", "Transfer-Encoding": "chunked"], nil),
            (["Content-Length": "5", "Content-Encoding": "gzip"], nil),
        ] as [(KeyValuePairs<String, String>, String?)]
    )
    func storing(fields: KeyValuePairs<String, String>, length: String?) {
        let stored = Sample.head(200, fields).stored
        #expect(stored.status == 200 && stored.version == "HTTP/1.1")
        #expect(stored["Content-Length"] == length)
        #expect(stored["Transfer-Encoding"] == nil)
    }

    @Test("All stored fields of a name make way for all new ones")
    func repeatedFields() {
        let stored = Sample.head(200, ["X": "1", "Y": "2", "x": "3"])
        let update = Sample.head(304, ["x": "4", "X": "5", "Date": "Sun, 02 Jan 2000 00:00:00 GMT"])
        let fields = CacheFields.updated(stored, with: update, received: Self.received).fields
        #expect(fields.map(\.value) == ["2", "4", "5", "Sun, 02 Jan 2000 00:00:00 GMT"])
    }

    @Test("Without a date it has that of its receipt, with one its own")
    func date() {
        let stored = Sample.head(200, ["Date": "Sat, 01 Jan 2000 00:00:00 GMT"])
        func date(_ fields: KeyValuePairs<String, String>) -> String? {
            CacheFields.updated(stored, with: Sample.head(304, fields), received: Self.received)["Date"]
        }
        #expect(date([:]) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(date(["date": "Sun, 02 Jan 2000 00:00:00 GMT"]) == "Sun, 02 Jan 2000 00:00:00 GMT")
    }

    @Test("Another tag contradicts, strong or weak; the same one may be stronger or weaker")
    func confirmation() {
        func confirmation(_ stored: String?, _ update: String?) -> CacheFields.Confirmation {
            func head(_ tag: String?) -> ResponseHead { Sample.head(200, tag.map { ["ETag": $0] } ?? [:]) }
            return CacheFields.confirmation(of: head(stored), by: head(update))
        }
        #expect(confirmation("\"a\"", "\"a\"") == .updates)
        #expect(confirmation("\"a\"", nil) == .updates)
        #expect(confirmation("\"a\"", "W/\"a\"") == .updates)
        #expect(confirmation("\"a\"", "W/\"b\"") == .contradicts)
        #expect(confirmation("W/\"a\"", "W/\"b\"") == .contradicts)
        #expect(confirmation("W/\"a\"", "\"b\"") == .contradicts)
        #expect(confirmation(nil, "W/\"b\"") == .updates)
        #expect(confirmation("W/\"a\"", "\"a\"") == .keeps)
        #expect(confirmation("\"a\"", "\"b\"") == .contradicts)
        #expect(confirmation(nil, "\"b\"") == .contradicts)
        // Equal to Swift, and other bytes.
        #expect(confirmation("\"\u{E9}\"", "\"e\u{301}\"") == .contradicts)
    }

    @Test("Without two tags to compare, another date contradicts, however it is written")
    func confirmationByDate() {
        let (old, new) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT")
        func confirmation(
            _ stored: KeyValuePairs<String, String>,
            _ update: KeyValuePairs<String, String>
        ) -> CacheFields.Confirmation {
            CacheFields.confirmation(of: Sample.head(200, stored), by: Sample.head(304, update))
        }
        #expect(confirmation(["Last-Modified": old], ["Last-Modified": old]) == .updates)
        #expect(confirmation(["Last-Modified": old], ["Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT"]) == .updates)
        #expect(confirmation(["Last-Modified": old], ["Last-Modified": new]) == .contradicts)
        #expect(confirmation(["Last-Modified": old], ["Last-Modified": "yesterday"]) == .contradicts)
        #expect(confirmation(["Last-Modified": "yesterday"], ["Last-Modified": "yesterday"]) == .updates)
        #expect(confirmation(["Last-Modified": "yesterday"], ["Last-Modified": "today"]) == .contradicts)
        #expect(confirmation(["Last-Modified": "\u{E9}"], ["Last-Modified": "e\u{301}"]) == .contradicts)
        #expect(confirmation(["Last-Modified": old], [:]) == .updates)
        #expect(confirmation([:], ["Last-Modified": new]) == .updates)
        #expect(confirmation(["ETag": "\"a\"", "Last-Modified": old], ["Last-Modified": new]) == .contradicts)
        #expect(confirmation(["Last-Modified": old], ["ETag": "W/\"a\"", "Last-Modified": new]) == .contradicts)
        let tag = "\"a\""
        #expect(confirmation(["ETag": tag, "Last-Modified": old], ["ETag": tag, "Last-Modified": new]) == .updates)
    }

    @Test("The response to a HEAD is about another representation if its status, tag, date or length is another")
    func other() {
        let (old, new) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT")
        func isOther(
            _ fields: KeyValuePairs<String, String>,
            _ stored: KeyValuePairs<String, String>,
            status: Int = 200
        ) -> Bool {
            CacheFields.isOther(Sample.head(200, fields), than: Sample.head(status, stored))
        }
        let stored: KeyValuePairs = ["ETag": "\"a\"", "Last-Modified": old, "Content-Length": "4"]
        #expect(!isOther(stored, stored))
        #expect(!isOther([:], stored))
        #expect(isOther([:], stored, status: 404))
        #expect(!isOther(["ETag": "W/\"a\""], stored))
        #expect(isOther(["ETag": "\"b\"", "Last-Modified": old, "Content-Length": "4"], stored))
        #expect(!isOther(["Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT"], stored))
        #expect(isOther(["Last-Modified": new], stored))
        #expect(isOther(["Content-Length": "5"], stored))
        #expect(isOther(["ETag": "\"\u{E9}\""], ["ETag": "\"e\u{301}\""]))
        // What is received must match (§4.3.5).
        #expect(isOther(["ETag": "\"a\""], ["Content-Length": "4"]))
        #expect(isOther(["Last-Modified": old], ["Content-Length": "4"]))
    }

    @Test("Lengths are compared only where both are those of the body without a coding")
    func codedLengths() {
        func isOther(_ fields: KeyValuePairs<String, String>, _ stored: ResponseHead) -> Bool {
            CacheFields.isOther(Sample.head(200, fields), than: stored)
        }
        let coded = Sample.head(200, ["Content-Encoding": "gzip", "Content-Length": "30"]).stored
        #expect(!isOther(["Content-Encoding": "gzip", "Content-Length": "31"], coded))
        #expect(!isOther(["Content-Length": "100"], coded))
        let plain = Sample.head(200, ["Content-Length": "100"]).stored
        #expect(!isOther(["Content-Encoding": "gzip", "Content-Length": "30"], plain))
        #expect(!isOther(["Transfer-Encoding": "chunked"], plain))
        #expect(isOther(["Content-Length": "101"], plain))
        // One that can't be decoded is stored as it is.
        let unknown = Sample.head(200, ["Content-Encoding": "aws-chunked", "Content-Length": "30"]).stored
        #expect(isOther(["Content-Encoding": "aws-chunked", "Content-Length": "31"], unknown))
    }

    @Test("An age is a whole number that doesn't overflow, and there is none where it isn't known")
    func aged() {
        let head = Sample.head(200, ["age": "7"])
        #expect(CacheFields.aged(head, by: 12.9)["Age"] == "12")
        #expect(CacheFields.aged(head, by: -5)["Age"] == "0")
        #expect(CacheFields.aged(head, by: 1e30)["Age"] == "2147483648")
        #expect(CacheFields.aged(head, by: .infinity)["Age"] == nil)
    }
}

@Suite("The range that a request asks for")
struct CacheRangeParsingTests {
    @Test("A range's numbers may be of any size")
    func extremes() {
        let maximum = "\(Int.max)"
        #expect(CacheRange("bytes=0-\(maximum)")?.bytes(of: 10) == 0..<10)
        #expect(CacheRange("bytes=\(maximum)-\(maximum)")?.bytes(of: 10) == nil)
        #expect(CacheRange("bytes=\(maximum)-")?.bytes(of: .max) == nil)
        #expect(CacheRange("bytes=-\(maximum)")?.bytes(of: 10) == 0..<10)
        #expect(CacheRange("bytes=-1")?.bytes(of: 0) == nil)
        #expect(CacheRange("bytes=0-")?.bytes(of: 0) == nil)
        #expect(CacheRange("bytes=0-\(maximum)0") == nil)
        #expect(CacheRange("Bytes = 1-2") == .from(1, through: 2))
    }

    @Test(
        "A malformed range is none",
        arguments: ["", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=1-2-3", "bytes=+1-2", "bytes=1 - 2"]
    )
    func nonsense(field: String) {
        #expect(CacheRange(field) == nil)
    }
}
