import Foundation
import Testing

@testable import CurlNetworking

@Suite("The course of a resumable upload")
struct UploadCourseTests {
    let url: URL
    let resource: URL

    init() throws {
        url = try Sample.url("http://example.com/files")
        resource = try Sample.url("http://example.com/uploads/1")
    }

    static func offer(_ location: String = "/uploads/1", offset: String? = nil) -> ResponseHead {
        var head = Sample.head(104, ["Upload-Draft-Interop-Version": "6", "Location": location])
        if let offset { head.fields.append(HeaderField(name: "Upload-Offset", value: offset)) }
        return head
    }

    static func state(_ fields: KeyValuePairs<String, String>, status: Int = 204) -> ResponseHead {
        Sample.head(status, fields)
    }

    /// An upload of 1,000 bytes, of which 600 were sent when its connection was lost.
    func interrupted(mayRepeat: Bool = false, length: Int64? = 1000, sent: Int64 = 600) -> UploadCourse {
        var course = UploadCourse()
        course.beginCreating(length: length, mayRepeat: mayRepeat)
        course.note(Self.offer(), to: url)
        _ = course.noteSent(sent)
        #expect(course.lost() == .ask)
        #expect(course.stage == .asking)
        return course
    }

    @Test("Without an offer of the server's, a lost connection is the end")
    func noOffer() {
        var course = UploadCourse()
        course.beginCreating(length: 1000, mayRepeat: true)
        #expect(course.lost() == .deliver)
        course.note(Sample.head(103, ["Location": "/uploads/1"]), to: url)
        course.note(Self.offer("https://evil.example/"), to: url)
        #expect(course.lost() == .deliver)
    }

    @Test("Bytes that are sent after an early answer to the rest count from where the rest began")
    func earlyResponse() {
        var course = interrupted()
        #expect(course.receive(Self.state(["Upload-Offset": "400", "Upload-Complete": "?0"]), to: resource) == .append)
        #expect(course.noteSent(250) == 400)
        #expect(course.receive(Self.state(["Upload-Complete": "?1"], status: 200), to: resource) == .deliver)
        #expect(course.noteSent(600) == 400)
        #expect(course.gained == 1000)
    }

    @Test(
        "Bytes that are sent after an early answer count, even if the server is to be asked again",
        arguments: [200, 503]
    )
    func earlyIncompleteResponse(status: Int) {
        var course = interrupted()
        #expect(course.receive(Self.state(["Upload-Offset": "400", "Upload-Complete": "?0"]), to: resource) == .append)
        #expect(course.noteSent(250) == 400)
        #expect(course.receive(Self.state(["Upload-Complete": "?0"], status: status), to: resource) == .ask)
        #expect(course.noteSent(300) == 400)
        #expect(course.sent == 700 && course.gained == 700)
        #expect(course.receive(Self.state(["Upload-Offset": "700", "Upload-Complete": "?0"]), to: resource) == .append)
        #expect(course.noteSent(300) == 700)
        #expect(course.sent == 1000 && course.gained == 1000)
    }

    @Test("After a lost connection the server is asked, and gets the rest from there")
    func resumed() {
        var course = interrupted()
        #expect(course.receive(Self.state(["Upload-Offset": "400", "Upload-Complete": "?0"]), to: resource) == .append)
        #expect(course.stage == .appending(UploadRest(from: 400, of: 1000)) && course.acknowledged == 400)
        #expect(course.noteSent(600) == 400)
        #expect(course.receive(Self.state(["Upload-Complete": "?1"], status: 201), to: resource) == .deliver)
        #expect(course.stage == .plain && course.resource == nil)
    }

    @Test("The first resource counts, and only before there is an answer")
    func firstOffer() {
        var course = UploadCourse()
        course.beginCreating(length: 1000, mayRepeat: false)
        course.note(Self.offer("/uploads/1"), to: url)
        course.note(Self.offer("/uploads/2"), to: url)
        #expect(course.resource?.url == resource)
        #expect(course.receive(Sample.head(200), to: url) == .deliver)
        course.note(Self.offer("/uploads/3"), to: url)
        #expect(course.resource == nil && course.lost() == .deliver)
    }

    @Test("A 104 tells how much the server has, and can't take that back, nor claim more than was sent")
    func progress() {
        var course = UploadCourse()
        course.beginCreating(length: 1000, mayRepeat: false)
        course.note(Self.offer(), to: url)
        _ = course.noteSent(600)
        for (offset, known) in [("300", 300), ("200", 300), ("700", 300), ("-1", 300), ("600", 600)]
            as [(String, Int64)]
        {
            course.note(
                Self.state(["Upload-Draft-Interop-Version": "6", "Upload-Offset": offset], status: 104),
                to: url
            )
            #expect(course.acknowledged == known)
        }
    }

    @Test("Each answer to the request for the offset has its consequence")
    func offsets() throws {
        typealias Row = (fields: KeyValuePairs<String, String>, status: Int, verdict: UploadCourse.Verdict)
        let table: [Row] = [
            (["Upload-Offset": "0", "Upload-Complete": "?0"], 204, .append),
            (["Upload-Offset": "0"], 200, .append),
            (["Upload-Offset": "999", "Upload-Incomplete": "?1"], 204, .append),
            (["Upload-Offset": "1000", "Upload-Complete": "?0"], 204, .append),
            (["Upload-Offset": "800", "Upload-Complete": "?0", "Upload-Length": "1000"], 204, .append),
            // Everything has arrived, and the answer was lost.
            (["Upload-Offset": "1000", "Upload-Complete": "?1"], 204, .deliverComplete(1000)),
            (["Upload-Offset": "1000", "Upload-Incomplete": "?0"], 204, .deliverComplete(1000)),
            (["Upload-Offset": "999", "Upload-Complete": "?1"], 204, .fail(.contradiction)),
            (["Upload-Offset": "500", "Upload-Length": "999"], 204, .fail(.contradiction)),
            (["Upload-Offset": "1001", "Upload-Complete": "?0"], 204, .fail(.offsetBeyondEnd(1001))),
            (["Upload-Offset": "999999999999999"], 204, .fail(.offsetBeyondEnd(999_999_999_999_999))),
            ([:], 204, .fail(.noOffset)),
            (["Upload-Offset": "-1"], 204, .fail(.noOffset)),
            (["Upload-Offset": "many"], 204, .fail(.noOffset)),
            (["Upload-Complete": "?1"], 204, .fail(.noOffset)),
            (["Upload-Offset": "5, 6"], 204, .fail(.noOffset)),
            // Not everything had been sent: it can't have been processed.
            ([:], 404, .startOver), ([:], 410, .startOver),
            ([:], 500, .ask), ([:], 503, .ask), (["Upload-Offset": "5"], 503, .ask),
            ([:], 400, .deliver), ([:], 401, .deliver), ([:], 403, .deliver), ([:], 302, .deliver),
            ([:], 101, .deliver),
        ]
        for row in table {
            var course = interrupted()
            #expect(course.receive(Self.state(row.fields, status: row.status), to: resource) == row.verdict, "\(row)")
        }
    }

    @Test("An offset below what the server has acknowledged fails the upload")
    func goingBack() {
        var course = UploadCourse()
        course.beginCreating(length: 1000, mayRepeat: true)
        course.note(Self.offer(), to: url)
        _ = course.noteSent(600)
        course.note(Self.offer(offset: "500"), to: url)
        #expect(course.lost() == .ask)
        #expect(
            course.receive(Self.state(["Upload-Offset": "499"]), to: resource) == .fail(.offsetWentBack(499, from: 500))
        )
        #expect(course.resource == nil)
    }

    @Test("Each answer to the rest has its consequence")
    func appends() {
        typealias Row = (fields: KeyValuePairs<String, String>, status: Int, verdict: UploadCourse.Verdict)
        let table: [Row] = [
            (["Upload-Complete": "?1"], 200, .deliver), ([:], 200, .deliver), ([:], 204, .deliver),
            (["Upload-Complete": "?0"], 200, .ask), (["Upload-Incomplete": "?1"], 204, .ask),
            (["Upload-Offset": "300"], 409, .ask), ([:], 409, .ask),
            // The answer to the upload itself.
            (["Upload-Complete": "?1"], 409, .deliver), (["Upload-Complete": "?1"], 404, .deliver),
            (["Upload-Complete": "?1"], 500, .deliver),
            ([:], 404, .startOver), ([:], 410, .startOver),
            ([:], 400, .deliver), ([:], 401, .deliver), ([:], 413, .deliver), ([:], 415, .deliver),
            ([:], 500, .deliver), ([:], 501, .deliver),
            // Of something on the way.
            ([:], 502, .ask), ([:], 503, .ask), (["Upload-Complete": "?0"], 504, .ask),
            (["Upload-Complete": "?1"], 503, .deliver),
        ]
        for row in table {
            var course = interrupted()
            #expect(course.receive(Self.state(["Upload-Offset": "400"]), to: resource) == .append)
            #expect(course.receive(Self.state(row.fields, status: row.status), to: resource) == row.verdict, "\(row)")
        }
    }

    @Test("A gateway's error to the upload itself is no answer to one that can be resumed")
    func missingResponse() {
        for status in [502, 503, 504] {
            var course = UploadCourse()
            course.beginCreating(length: 1000, mayRepeat: false)
            #expect(course.receive(Sample.head(status), to: url) == .deliver)
            course.beginCreating(length: 1000, mayRepeat: false)
            course.note(Self.offer(), to: url)
            #expect(course.receive(Sample.head(status), to: url) == .ask)
            #expect(course.stage == .asking && course.resource?.url == resource)
        }
        var refused = UploadCourse()
        refused.beginCreating(length: 1000, mayRepeat: false)
        refused.note(Self.offer(), to: url)
        #expect(refused.receive(Sample.head(500), to: url) == .deliver)
    }

    @Test(
        "A success that doesn't say that the upload is complete ends it up to version 7, and later means that bytes were appended"
    )
    func silence() {
        for version in UploadVersion.allCases {
            var course = UploadCourse()
            let known = UploadResource(url: resource, version: version)
            course.beginAsking(known, acknowledged: 0, sent: 0, length: 1000)
            #expect(course.receive(Self.state(["Upload-Offset": "400"]), to: resource) == .append)
            #expect(course.receive(Sample.head(200), to: resource) == (version >= .v8 ? .ask : .deliver))
        }
    }

    @Test("An upload is sent in pieces of the size to which the server limits a request, one after the other")
    func pieces() {
        var course = interrupted()
        let state = Self.state(["Upload-Offset": "100", "Upload-Limit": "max-size=5000, max-append-size=400;x=1"])
        #expect(course.receive(state, to: resource) == .append)
        #expect(course.stage == .appending(UploadRest(from: 100, of: 1000, upTo: 500)))
        _ = course.noteSent(400)
        #expect(course.receive(Self.state(["Upload-Complete": "?0"]), to: resource) == .appendNext)
        #expect(course.stage == .appending(UploadRest(from: 500, of: 1000, upTo: 900)) && course.acknowledged == 500)
        _ = course.noteSent(400)
        #expect(
            course.receive(Self.state(["Upload-Complete": "?0", "Upload-Offset": "900"]), to: resource) == .appendNext
        )
        #expect(course.stage == .appending(UploadRest(from: 900, of: 1000)))
        #expect(course.receive(Self.state(["Upload-Complete": "?1"]), to: resource) == .deliver)
    }

    @Test("An upload can't be complete after a piece that isn't the last; an error ends it all the same")
    func completeTooEarly() {
        for (status, verdict) in [(200, .fail(.contradiction)), (204, .fail(.contradiction)), (403, .deliver)]
            as [(Int, UploadCourse.Verdict)]
        {
            var course = interrupted()
            let state = Self.state(["Upload-Offset": "100", "Upload-Limit": "max-append-size=400"])
            #expect(course.receive(state, to: resource) == .append)
            _ = course.noteSent(400)
            #expect(course.receive(Sample.head(status, ["Upload-Complete": "?1"]), to: resource) == verdict)
        }
    }

    @Test("A piece that the server has answered too early, or not as a whole, is asked about")
    func doubtfulPieces() {
        for (sent, offset) in [(399, nil), (400, "499"), (400, "501"), (0, "500")] as [(Int64, String?)] {
            var course = interrupted(sent: 100)
            let state = Self.state(["Upload-Offset": "100", "Upload-Limit": "max-append-size=400"])
            #expect(course.receive(state, to: resource) == .append)
            _ = course.noteSent(sent)
            var head = Self.state(["Upload-Complete": "?0"])
            if let offset { head.fields.append(HeaderField(name: "Upload-Offset", value: offset)) }
            #expect(course.receive(head, to: resource) == .ask)
        }
    }

    @Test("A rest that is too large is sent in smaller pieces, down to a limit")
    func tooLarge() {
        var course = interrupted(length: 1_000_000, sent: 600)
        var ends: [Int64?] = []
        for _ in 0..<10 {
            guard course.receive(Self.state(["Upload-Offset": "0"]), to: resource) == .append,
                case .appending(let rest) = course.stage
            else { break }
            ends.append(rest.end)
            if course.receive(Sample.head(413), to: resource) == .deliver { break }
        }
        #expect(ends == [nil, 500_000, 250_000, 125_000, 62_500])
        // Or as large as the server says; one of unknown length can't be.
        course = interrupted(length: 1_000_000, sent: 600)
        #expect(course.receive(Self.state(["Upload-Offset": "0"]), to: resource) == .append)
        #expect(
            course.receive(Self.state(["Upload-Limit": "max-append-size=70000"], status: 413), to: resource) == .ask
        )
        #expect(course.receive(Self.state(["Upload-Offset": "0"]), to: resource) == .append)
        #expect(course.stage == .appending(UploadRest(from: 0, of: 1_000_000, upTo: 70_000)))
        course = interrupted(length: nil)
        #expect(course.receive(Self.state(["Upload-Offset": "0"]), to: resource) == .append)
        #expect(course.receive(Sample.head(413), to: resource) == .deliver)
    }

    @Test("Pieces stay as small as a rest that was refused makes them, though the server would take larger ones")
    func tooLargeOnTheWay() {
        var course = interrupted(length: 1_000_000, sent: 600)
        let state = Self.state(["Upload-Offset": "0", "Upload-Limit": "max-append-size=5000000"])
        var ends: [Int64?] = []
        for _ in 0..<3 {
            #expect(course.receive(state, to: resource) == .append)
            guard case .appending(let rest) = course.stage else { break }
            ends.append(rest.end)
            #expect(course.receive(Sample.head(413), to: resource) == .ask)
        }
        #expect(ends == [nil, 500_000, 250_000])
    }

    @Test("An upload that is too large as a whole is sent in pieces, if the server says how large they may be")
    func tooLargeAsWhole() throws {
        func refused(_ limit: String, isOffered: Bool = true, isComplete: String = "?0") -> UploadCourse? {
            var course = UploadCourse()
            course.beginCreating(length: 1_000_000, mayRepeat: true)
            if isOffered { course.note(Self.offer(), to: url) }
            _ = course.noteSent(500_000)
            let head = Self.state(["Upload-Limit": limit, "Upload-Complete": isComplete], status: 413)
            return course.receive(head, to: url) == .ask ? course : nil
        }
        var course = try #require(refused("max-append-size=70000"))
        #expect(course.receive(Self.state(["Upload-Offset": "0"]), to: resource) == .append)
        #expect(course.stage == .appending(UploadRest(from: 0, of: 1_000_000, upTo: 70_000)))
        // Where no piece may be enough, the refusal is the answer.
        #expect(refused("max-append-size=70000", isOffered: false) == nil)
        #expect(refused("max-append-size=70000", isComplete: "?1") == nil)
        #expect(refused("max-size=70000") == nil && refused("max-append-size=1000000") == nil)
        // And where the server takes no pieces either: the upload's own request, without an offer, brings it again.
        for status in [400, 403, 404, 410] {
            var forgotten = try #require(refused("max-append-size=70000"))
            #expect(forgotten.receive(Sample.head(status), to: resource) == .startOver)
            #expect(forgotten.stage == .plain && forgotten.isRefusedAsWhole)
        }
    }

    @Test("A server may take an upload in many pieces, and not in tiny ones")
    func pieceBudget() {
        var budget = TaskBudget()
        for count in 1...1000 {
            #expect(throws: Never.self) { try budget.spendPiece(of: url, at: Int64(count) * 64 * 1024) }
        }
        budget = TaskBudget()
        for _ in 0..<TaskBudget.pieces.count { #expect(throws: Never.self) { try budget.spendPiece(of: url, at: 10) } }
        #expect { try budget.spendPiece(of: url, at: 10) } throws: { ($0 as? URLError)?.code == .badServerResponse }
    }

    @Test("An upload that may have been processed isn't repeated, unless its method or the program allows it")
    func gone() {
        var sent = interrupted(sent: 1000)
        #expect(sent.receive(Sample.head(404), to: resource) == .fail(.gone(status: 404)))
        var unknown = interrupted(length: nil)
        #expect(unknown.receive(Sample.head(410), to: resource) == .fail(.gone(status: 410)))
        var put = interrupted(mayRepeat: true, sent: 1000)
        #expect(put.receive(Sample.head(404), to: resource) == .startOver)
        #expect(put.stage == .plain && put.resource == nil)
    }

    @Test("An upload that was interrupted earlier begins with the request for its offset")
    func earlier() {
        var course = UploadCourse()
        let known = UploadResource(url: resource, version: .v3)
        course.beginAsking(known, acknowledged: 400, sent: 600, length: 1000)
        #expect(course.stage == .asking && course.resource == known)
        #expect(
            course.receive(Self.state(["Upload-Offset": "400", "Upload-Incomplete": "?1"]), to: resource) == .append
        )
        #expect(course.lost() == .ask)
        #expect(course.receive(Sample.head(404), to: resource) == .startOver)
    }

    @Test("A redirect of the question that was followed has led to the resource")
    func moved() throws {
        var course = interrupted()
        let other = try Sample.url("http://example.com/elsewhere")
        #expect(course.receive(Self.state(["Upload-Offset": "400"]), to: other) == .append)
        #expect(course.resource == UploadResource(url: other, version: .v6))
    }

    @Test("Where the end isn't known, a server can't have more than was sent")
    func beyondSent() {
        for offset in ["601", "900000000000000"] {
            var course = interrupted(length: nil, sent: 600)
            let verdict = course.receive(Self.state(["Upload-Offset": offset]), to: resource)
            #expect(verdict == .fail(.offsetBeyondSent(Int64(offset) ?? 0)))
        }
        var course = interrupted(length: nil, sent: 600)
        #expect(course.receive(Self.state(["Upload-Offset": "600"]), to: resource) == .append)
        var earlier = UploadCourse()
        let known = UploadResource(url: resource, version: .v6)
        earlier.beginAsking(known, acknowledged: 400, sent: 600, length: nil)
        #expect(earlier.receive(Self.state(["Upload-Offset": "600"]), to: resource) == .append)
        earlier.beginAsking(known, acknowledged: 400, sent: 600, length: nil)
        #expect(
            earlier.receive(Self.state(["Upload-Offset": "601"]), to: resource) == .fail(.offsetBeyondSent(601))
        )
    }

    @Test(
        "Where the end isn't known, a server that has less than was sent doesn't have everything",
        arguments: [0, 599] as [Int64]
    )
    func completeBeforeEnd(offset: Int64) {
        var course = interrupted(length: nil, sent: 600)
        let state = Self.state(["Upload-Offset": "\(offset)", "Upload-Complete": "?1"])
        #expect(course.receive(state, to: resource) == .fail(.contradiction))
        course = interrupted(length: nil, sent: 600)
        let whole = Self.state(["Upload-Offset": "600", "Upload-Complete": "?1"])
        #expect(course.receive(whole, to: resource) == .deliverComplete(600))
    }

    @Test("A server's claims earn nothing: only bytes that the task has sent count, each once")
    func gains() {
        var course = interrupted(mayRepeat: true, length: 1_000_000, sent: 600)
        #expect(course.gained == 600)
        // It claims more than was sent, again and again.
        for offset in [700, 800, 900_000] as [Int64] {
            #expect(course.receive(Self.state(["Upload-Offset": "\(offset)"]), to: resource) == .append)
            #expect(course.lost() == .ask)
            #expect(course.gained == 600)
        }
        #expect(course.receive(Self.state(["Upload-Offset": "900000"]), to: resource) == .append)
        _ = course.noteSent(50)
        _ = course.noteSent(100)
        #expect(course.gained == 700)
        #expect(course.receive(Sample.head(404), to: resource) == .startOver)
        course.beginCreating(length: 1_000_000, mayRepeat: true)
        _ = course.noteSent(900_000)
        #expect(course.gained == 700 && course.sent == 900_000)
        _ = course.noteSent(900_200)
        #expect(course.gained == 800)
    }

    @Test("A task resumes an upload only so often, unless it gets ahead")
    func budget() {
        var stuck = TaskBudget()
        for _ in 0..<TaskBudget.resumptions.count {
            #expect(throws: Never.self) { try stuck.spendResumption(of: url, at: 0) }
        }
        #expect(throws: URLError.self) { try stuck.spendResumption(of: url, at: 0) }
        var ahead = TaskBudget()
        for count in 1...1000 {
            #expect(throws: Never.self) {
                try ahead.spendResumption(of: url, at: Int64(count) * TaskBudget.resumptions.bytesForOneMore)
            }
        }
    }
}
