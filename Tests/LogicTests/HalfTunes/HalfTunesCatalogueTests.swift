import CurlNetworking
import Foundation
import Testing

@testable import CurlNetworkingLoopbackServer
@testable import CurlNetworkingHalfTunes

@Suite("Half Tunes has an embedded catalogue")
struct HalfTunesCatalogueTests {
    // MARK: - Previews

    @Test("Every preview has the checksum that the catalogue names", arguments: Song.all.map(\.id))
    func checksum(id: Int) throws {
        let song = try #require(Catalogue.embedded.song(id: id))
        let preview = try #require(song.preview())
        var hash = SHA256()
        // In pieces that have nothing to do with frames.
        for start in stride(from: 0, to: preview.length, by: 99_991) {
            preview.bytes(in: start..<min(start + 99_991, preview.length)).withUnsafeBytes { hash.update($0) }
        }
        let digest = hash.finish()
        #expect(digest == song.sha256)
    }

    @Test("Any range of a preview is that part of the whole")
    func randomAccess() throws {
        let preview = try #require(Song.all.first?.preview())
        let start = Int64(100_000)
        let whole = preview.bytes(in: 0..<start)
        #expect(whole.count == Int(start))
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let lower = Int64.random(in: 0..<start, using: &generator)
            let upper = Int64.random(in: lower...start, using: &generator)
            #expect(preview.bytes(in: lower..<upper) == whole[Int(lower)..<Int(upper)])
        }
        let end = preview.length
        #expect(preview.bytes(in: end - 7..<end + 100).count == 7)
        #expect(preview.bytes(in: end..<end + 1).isEmpty)
    }

    @Test("A preview is a WAV file of 16-bit stereo")
    func header() throws {
        let preview = try #require(Song.all.first?.preview())
        let header = preview.bytes(in: 0..<44)
        func text(_ range: Range<Int>) -> String { String(decoding: header[range], as: UTF8.self) }
        func number(_ range: Range<Int>) -> Int { range.reversed().reduce(0) { $0 << 8 | Int(header[$1]) } }
        #expect(text(0..<4) == "RIFF")
        #expect(number(4..<8) == Int(preview.length) - 8)
        #expect(text(8..<16) == "WAVEfmt ")
        #expect(number(16..<20) == 16)
        #expect(number(20..<22) == 1, "PCM")
        #expect(number(22..<24) == 2)
        #expect(number(24..<28) == 44_100)
        #expect(number(28..<32) == 44_100 * 4)
        #expect(number(32..<34) == 4)
        #expect(number(34..<36) == 16)
        #expect(text(36..<40) == "data")
        #expect(number(40..<44) == Int(preview.length) - 44)
        #expect((2_000_000..<6_000_000).contains(preview.length))
    }

    @Test("A tone has its pitch, is loud enough to be heard, and fades out")
    func tone() throws {
        let melody = try #require(Melody("A4:8"))
        let synthesiser = Synthesiser(melody, unitMilliseconds: 1000, seconds: 8)
        var samples = [Int16](repeating: 0, count: 2 * 44_100)
        samples.withUnsafeMutableBufferPointer { synthesiser.render(from: 0, into: $0) }
        let left = stride(from: 0, to: samples.count, by: 2).map { samples[$0] }
        let turns = zip(left, left.dropFirst()).count { $0 < 0 && $1 >= 0 }
        #expect((439...441).contains(turns))
        #expect((left.max() ?? 0) > 8_000)
        #expect(left.first == 0)

        samples.withUnsafeMutableBufferPointer { synthesiser.render(from: 8 * 44_100 - 100, into: $0) }
        #expect(samples.prefix(200).allSatisfy { abs(Int($0)) < 100 })
    }

    // MARK: - Melodies

    @Test("Melodies are read as they are written")
    func notation() throws {
        let melody = try #require(Melody("C4 A4:3 D#5:1 R:4"))
        #expect(
            melody.notes == [
                .init(pitch: 60, length: 2), .init(pitch: 69, length: 3), .init(pitch: 75, length: 1),
                .init(pitch: nil, length: 4),
            ]
        )
        #expect(melody.length == 10)
    }

    @Test(
        "A text that isn't a melody is refused",
        arguments: ["", "H4", "C", "C4:", "C4:0", "C4:x", "C4:1:1", "Cb4", "C9"]
    )
    func nonsense(text: String) {
        #expect(Melody(text) == nil)
    }

    // MARK: - Search

    @Test(
        "A search finds words in titles, artists and albums, by their beginnings and without case and accents",
        arguments: [
            ("bach", 4), ("BEETHOVEN", 4), ("frere", 1), ("Für", 1), ("prel quartet", 1), ("socket", 4),
            ("classical", 8),
            ("bach beethoven", 0), ("ach", 0), ("", 0), ("  ,", 0),
        ]
    )
    func search(term: String, count: Int) {
        #expect(Catalogue.embedded.songs(matching: term).count == count)
    }

    @Test("Songs have identifiers of their own")
    func identifiers() {
        #expect(Set(Song.all.map(\.id)).count == Song.all.count)
        #expect(Set(Song.all.map(\.sha256)).count == Song.all.count)
    }

    // MARK: - The server's answers

    private let routes = CatalogueRoutes(catalogue: .embedded, rate: 1000, delay: nil, recordings: Recordings())

    private func answer(_ target: String, _ headers: KeyValuePairs<String, String> = [:], method: String = "GET")
        -> Answer
    {
        let request = LoopbackServer.Request(method: method, target: target, headers: headers)
        return Answer(routes.response(to: request).steps(for: request, date: "now"))
    }

    @Test("The search answers in the iTunes Search API's form, with addresses on the server as the client knows it")
    func json() throws {
        let answer = answer("/search?media=music&entity=song&term=bach+prelude", ["Host": "localhost:8080"])
        #expect(answer.status == 200)
        let object = try #require(try JSONSerialization.jsonObject(with: answer.body) as? [String: Any])
        #expect(object["resultCount"] as? Int == 1)
        let results = try #require(object["results"] as? [[String: Any]])
        let track = try #require(results.first)
        #expect(track["wrapperType"] as? String == "track")
        #expect(track["kind"] as? String == "song")
        #expect(track["trackName"] as? String == "Prelude in C")
        #expect(track["previewUrl"] as? String == "http://localhost:8080/previews/1002.wav")
        #expect((track["previewSha256"] as? String)?.count == 64)
    }

    @Test("A search is limited, and finds nothing but music")
    func limits() throws {
        func count(_ query: String) throws -> Int {
            try JSONDecoder().decode(SearchResult.self, from: answer("/search?" + query).body).resultCount
        }
        #expect(try count("term=classical") == 8)
        #expect(try count("term=classical&limit=3") == 3)
        #expect(try count("term=classical&limit=-3") == 1)
        #expect(try count("term=classical&media=movie") == 0)
        #expect(try count("term=classical&entity=album") == 0)
        #expect(try count("media=music") == 0)
    }

    @Test("A forged Host doesn't get into the answer")
    func host() throws {
        let answer = answer("/search?term=prelude", ["Host": "evil.example/\"x"])
        let result = try JSONDecoder().decode(SearchResult.self, from: answer.body)
        #expect(result.results.first?.previewUrl == "http://127.0.0.1/previews/1002.wav")
    }

    @Test("Previews come with a strong validator, whole and in parts")
    func previews() throws {
        let whole = answer("/previews/1001.wav")
        #expect(whole.status == 200)
        #expect(whole.head.contains("Content-Type: audio/wav\r\n"))
        #expect(whole.head.contains("Accept-Ranges: bytes\r\n"))
        let tag = try #require(whole.head.firstMatch(of: /ETag: ("[^"]+")\r\n/)?.1)
        let part = answer("/previews/1001.wav", ["Range": "bytes=3528000-", "If-Range": String(tag)])
        #expect(part.status == 206)
        #expect(part.head.contains("Content-Range: bytes 3528000-3528043/3528044\r\n"))
        let other = answer("/previews/1002.wav", ["Range": "bytes=3528000-", "If-Range": String(tag)])
        #expect(other.status == 200)
    }

    @Test(
        "There is nothing else",
        arguments: ["/previews/", "/previews/1.wav", "/previews/01001.wav", "/previews/1001", "/previews/../x", "/x"]
    )
    func missing(path: String) {
        #expect(answer(path).status == 404)
    }

    @Test("Nothing can be changed")
    func methods() {
        #expect(answer("/search?term=bach", method: "POST").status == 405)
        #expect(answer("/checksums", method: "HEAD").status == 200)
    }

    // MARK: - Recordings

    @Test(
        "An upload that isn't a recording, or has no size or too large a one, is refused",
        arguments: [
            (["Content-Type": "text/html", "Content-Length": "1"], 415), (["Content-Length": "1"], 415),
            (["Content-Type": "audio/wav"], 411), (["Content-Type": "audio/wav", "Content-Length": "-"], 411),
            (["Content-Type": "audio/wav", "Content-Length": "\(Recordings.largest + 1)"], 413),
        ] as [(KeyValuePairs<String, String>, Int)]
    )
    func refusedRecordings(headers: KeyValuePairs<String, String>, status: Int) {
        #expect(answer("/recordings", headers, method: "POST").status == status)
        #expect(answer("/recordings/1.wav").status == 404)
    }

    @Test("There are no more recordings than there is room for, and each upload has a place of its own")
    func room() {
        let headers: KeyValuePairs = ["Content-Type": "audio/wav", "Content-Length": "1"]
        for number in 1...Recordings.most {
            let offer = answer("/recordings", headers, method: "POST").head
            #expect(offer.contains("104 ") && offer.contains("\r\nLocation: /uploads/\(number)\r\n"))
        }
        #expect(answer("/recordings", headers, method: "POST").status == 507)
    }

    @Test("A recording that hasn't arrived isn't there, and other methods are refused")
    func unfinishedRecordings() {
        _ = answer("/recordings", ["Content-Type": "audio/wav", "Content-Length": "1"], method: "POST")
        #expect(answer("/uploads/1", method: "HEAD").status == 204)
        #expect(answer("/recordings/1.wav").status == 404)
        #expect(answer("/recordings/1.wav", method: "PUT").status == 405)
        #expect(answer("/recordings").status == 405)
        #expect(answer("/uploads/2", method: "HEAD").status == 404)
        #expect(answer("/uploads/1", method: "PATCH").status == 411)
        let tooMuch: KeyValuePairs = ["Content-Length": "\(Recordings.largest + 1)", "Upload-Offset": "0"]
        #expect(answer("/uploads/1", tooMuch, method: "PATCH").status == 413)
    }

    @Test("The checksums are in the form that sha256sum checks")
    func checksums() {
        let lines = String(decoding: answer("/checksums").body, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == Song.all.count)
        #expect(lines.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{64}  \d+\.wav/) != nil })
    }
}

/// The parts of what the server would send.
private struct Answer {
    let head: String
    let body: Data

    init(_ steps: [LoopbackServer.Step]) {
        let payloads = steps.compactMap(\.payload)
        head = payloads.first.map { String(decoding: Self.bytes($0), as: UTF8.self) } ?? ""
        body = payloads.dropFirst().first.map { $0.length < 100_000 ? Self.bytes($0) : Data() } ?? Data()
    }

    var status: Int { Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0 }

    private static func bytes(_ body: LoopbackServer.Body) -> Data {
        var data = Data(count: Int(body.length))
        let count = data.withUnsafeMutableBytes { body.copy(from: 0, to: $0) }
        return data.prefix(count)
    }
}
