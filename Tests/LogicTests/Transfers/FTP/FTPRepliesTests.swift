import Foundation
import Testing

@testable import CurlNetworking

@Suite("FTP's replies, read as a head")
struct FTPRepliesTests {
    private func head(_ replies: inout FTPReplies, isProxys: Bool = false, _ lines: String...) -> ResponseHead? {
        var found: ResponseHead?
        for line in lines {
            let event = Data((line + "\r\n").utf8).withUnsafeBytes { replies.consume(lines: $0, isProxys: isProxys) }
            if case .complete(let head) = event { found = head }
        }
        return found
    }

    @Test("A download's head is there when the server announces data, with length and date")
    func download() {
        var replies = FTPReplies()
        let head = head(
            &replies,
            "220 (vsFTPd 3.0.3)",
            "331 Password?",
            "230 OK",
            "257 \"/\"",
            "250 OK",
            "213 19941106084937",
            "229 Entering Extended Passive Mode (|||43370|)",
            "200 Binary",
            "213 1234",
            "150 Opening"
        )
        #expect(head?.status == 200)
        #expect(head?.version == ResponseHead.versionOfFTP)
        #expect(head?["Last-Modified"] == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(head?.contentLength == 1234)
        #expect(replies.finish(isRefused: false) == nil)
    }

    @Test("A resumed download's head is that of a range of the whole")
    func range() {
        var replies = FTPReplies(offset: 1000)
        let head = head(&replies, "213 19941106084937.123", "227 (127,0,0,1,1,1)", "213 1234", "350 OK", "125 Go on")
        #expect(head?.status == 206)
        #expect(head?.contentRange == ResponseHead.ContentRange(bytes: 1000...1233, completeLength: 1234))
        #expect(head?["Last-Modified"] == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test("A rest of nothing, and one that the server won't send, are ranges that can't be satisfied")
    func unsatisfiable() {
        var replies = FTPReplies(offset: 1234)
        #expect(head(&replies, "213 19941106084937", "229 (|||1|)", "213 1234") == nil)
        let whole = replies.finish(isRefused: false)
        #expect(whole?.status == 416)
        #expect(whole?.contentRange == ResponseHead.ContentRange(bytes: nil, completeLength: 1234))
        replies = FTPReplies(offset: 1234)
        _ = head(&replies, "229 (|||1|)", "213 1234", "502 No REST")
        #expect(replies.finish(isRefused: true)?["Content-Range"] == nil)
    }

    @Test("A server without SIZE may still say how long the file is")
    func announcedSize() {
        var replies = FTPReplies()
        let known = head(
            &replies,
            "229 (|||1|)",
            "550 No SIZE",
            "150 Opening BINARY mode data connection for a (b) (77 bytes)."
        )
        #expect(known?.contentLength == 77)
        replies = FTPReplies()
        #expect(head(&replies, "229 (|||1|)", "150 Here comes the listing (many bytes).")?.contentLength == nil)
    }

    @Test(
        "A length may have words before it, as for libcurl",
        arguments: ["1234", "+1234", "The size is 1234", "size=1234"]
    )
    func words(size: String) {
        var replies = FTPReplies()
        #expect(head(&replies, "229 (|||1|)", "213 \(size)", "150 Now")?.contentLength == 1234)
        #expect(!replies.isCutShort(after: 1234))
    }

    @Test(
        "A file that ends where libcurl misreads the server's length isn't complete",
        arguments: [("213 -70", 70), ("213 0x70", 70), ("213 1.070", 70), ("213 1e3", 3)] as [(String, Int64)]
    )
    func misreadSize(line: String, length: Int64) {
        for offset in [0, 2] as [Int64] {
            var replies = FTPReplies(offset: offset)
            #expect(head(&replies, "229 (|||1|)", line, "150 Now")?.contentLength == nil)
            #expect(replies.isCutShort(after: length - offset))
            #expect(!replies.isCutShort(after: length - offset + 1))
        }
    }

    @Test(
        "A date in a form that can't be read says nothing about the length",
        arguments: ["19941306084937.123", "19941106084937-0500", "191041106084937", "Nov 6 1994"]
    )
    func unreadableDate(date: String) {
        var replies = FTPReplies()
        #expect(head(&replies, "213 \(date)", "229 (|||1|)", "213 70", "150 Now")?.contentLength == 70)
        #expect(!replies.isCutShort(after: 70))
        replies = FTPReplies()
        let head = head(&replies, "213 \(date)", "229 (|||1|)", "550 No SIZE", "150 Opening a (70 bytes)")
        #expect(head?.contentLength == 70 && head?["Last-Modified"] == nil)
        #expect(!replies.isCutShort(after: 70))
    }

    @Test(
        "Without data, too, a date in a form that can't be read says nothing about the length",
        arguments: ["19940231084937", "Nov 6 1994"]
    )
    func unreadableDateOfAttributes(date: String) {
        func length(_ start: [String], _ answers: [String]) -> Int64? {
            var replies = FTPReplies()
            for line in start + answers { #expect(head(&replies, line) == nil) }
            return replies.finish(isRefused: false)?.contentLength
        }
        // A new connection to a server that doesn't know PWD, and a kept one.
        for start in [["220 Hello", "331 Password?", "230 OK", "500 What?", "250 OK"], []] {
            #expect(length(start, ["213 \(date)", "200 Binary", "213 70", "350 OK"]) == 70)
            #expect(length(start, ["213 \(date)", "550 No SIZE", "350 OK"]) == nil)
            #expect(length(start, ["550 No MDTM", "200 Binary", "213 70", "350 OK"]) == 70)
            #expect(length(start, ["213 19941106084937", "213 70", "350 OK"]) == 70)
        }
    }

    @Test(
        "A file is empty to libcurl, or has a single byte, if its announced length can't be read",
        arguments: ["", "9223372036854775808"]
    )
    func misreadAnnouncement(length: String) {
        var replies = FTPReplies()
        #expect(head(&replies, "229 (|||1|)", "150 Opening a (\(length) bytes)") != nil)
        #expect(replies.isCutShort(after: 0))
        #expect(replies.isCutShort(after: 1))
        #expect(!replies.isCutShort(after: 2))
        replies = FTPReplies()
        #expect(head(&replies, "229 (|||1|)", "213 0", "150 Opening a (\(length) bytes)") != nil)
        #expect(!replies.isCutShort(after: 0))
    }

    @Test("Lines inside a reply of several lines mean nothing")
    func severalLines() {
        var replies = FTPReplies()
        #expect(head(&replies, "220-Welcome", " 150 fake", "213-5", "150-fake", "220 End") == nil)
        #expect(head(&replies, "229 (|||1|)", "213 6", "150 Now")?.contentLength == 6)
    }

    @Test("A reply of several lines ends with any line that could be a reply's last, as for libcurl")
    func otherCode() {
        var replies = FTPReplies()
        #expect(head(&replies, "229 (|||1|)", "213 6", "150-Here it comes", "125 ok")?.contentLength == 6)
        replies = FTPReplies()
        #expect(head(&replies, "229 (|||1|)", "213-", "213 5", "150 ok")?.contentLength == 5)
    }

    @Test("Data has a head before it, whether a reply has announced it or not, and only one")
    func unannouncedData() {
        var replies = FTPReplies()
        #expect(head(&replies, "229 (|||1|)", "213 6", "126 odd") == nil)
        #expect(replies.dataBegins()?.contentLength == 6)
        #expect(replies.announcedLength == 6)
        #expect(replies.dataBegins() == nil)
        #expect(head(&replies, "150 late") == nil)
        var upload = FTPReplies(comesAtEnd: true)
        #expect(upload.dataBegins() == nil)
    }

    @Test("A listing's size, which servers count as they like, is none")
    func listingSize() {
        var replies = FTPReplies(mayAnnounceSize: false)
        let head = head(&replies, "229 (|||1|)", "150 Opening ASCII mode data connection (77 bytes).")
        #expect(head != nil && head?.contentLength == nil)
    }

    @Test("An upload's head comes at its end")
    func upload() {
        var replies = FTPReplies(comesAtEnd: true)
        #expect(head(&replies, "229 (|||1|)", "150 Ok to send data.", "226 Transfer complete.") == nil)
        let end = replies.finish(isRefused: false)
        #expect(end?.status == 200)
        #expect(end?.contentLength == 0)
    }

    @Test("An HTTP proxy's head is read as what it is")
    func proxy() {
        var replies = FTPReplies(offset: 5)
        let head = head(&replies, isProxys: true, "HTTP/1.1 206 Partial Content", "Content-Range: bytes 5-9/10", "")
        #expect(head?.version == "HTTP/1.1")
        #expect(head?.status == 206)
    }

    @Test("Only a proxy speaks HTTP")
    func noProxy() {
        var replies = FTPReplies()
        #expect(head(&replies, "HTTP/1.1 200 OK", "Content-Length: 5", "") == nil)
        #expect(head(&replies, "229 (|||1|)", "213 7", "150 Opening")?.contentLength == 7)
    }

    @Test("A farewell is no answer, and counts whenever it comes")
    func farewell() {
        var replies = FTPReplies()
        #expect(head(&replies, "421 Timeout.") == nil)
        #expect(replies.farewell == "421 Timeout.")
        #expect(!replies.hasAnswer)
        replies = FTPReplies()
        #expect(head(&replies, "213 7", "150 Opening", "421 Going down") != nil)
        #expect(replies.farewell == "421 Going down")
        #expect(replies.hasAnswer)
    }

    @Test(
        "Nonsense is no date",
        arguments: [
            "", "1994", "19941306084937", "199411060849377", "1994110608493x", "19941106254937", "-9941106084937",
            "11130522000000.5", "00010101000000", "19940231084937",
        ]
    )
    func noDate(text: String) {
        #expect(FTPReplies.httpDate(text) == nil)
    }

    @Test(
        "Nonsense of a server is ignored",
        arguments: ["", "2", "213", "213 -5", "213 99999999999999999999", "abc def", "213 x"]
    )
    func nonsense(line: String) {
        var replies = FTPReplies()
        #expect(head(&replies, "229 (|||1|)", line, "150 Now")?.contentLength == nil)
    }
}
