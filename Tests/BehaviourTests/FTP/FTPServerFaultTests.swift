import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

@Suite("FTP servers that do what they like", .timeLimit(.minutes(1)))
struct FTPServerFaultTests {
    private static let content = GeneratedBody.bytes(seed: 5, length: 100_000)

    @Test("Nobody in particular logs in as anonymous; a user of the URL as that user")
    func login() async throws {
        let server = try ScriptedFTPServer(Self.content)
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(server.url()).data == Self.content)
        #expect(server.commands.prefix(2) == ["USER anonymous", "PASS ftp@example.com"])
        let url = try #require(URL(string: "ftp://me:p%40ss%20word@127.0.0.1:\(server.port)/file"))
        #expect(await session.load(url).data == Self.content)
        #expect(server.commands.contains("USER me"))
        #expect(server.commands.contains("PASS p@ss word"))
    }

    @Test("Plain FTP never asks for TLS, nor the server to connect, and fields of the request go nowhere")
    func plain() async throws {
        let ftp = try ScriptedFTPServer(Self.content)
        defer { ftp.stop() }
        let session = URLSession.forTest { $0.httpAdditionalHeaders = ["Authorization": "Basic c2VjcmV0"] }
        defer { session.invalidateAndCancel() }
        let request = URLRequest(ftp.url(), headers: ["Range": "bytes=1-2", "X-Field": "field"])
        #expect(await session.load(request).data == Self.content)
        let commands = Set(ftp.commands.compactMap { $0.split(separator: " ").first })
        #expect(commands.isDisjoint(with: ["AUTH", "PROT", "PORT", "EPRT", "REST"]))
        #expect(!ftp.commands.contains { $0.contains("secret") || $0.contains("field") })
    }

    @Test(
        "A line break in the URL's login or path is no command",
        arguments: ["a%0D%0ADELE%20x:b@", "a:b%0D%0ADELE%20x@", ""]
    )
    func injection(login: String) async throws {
        let server = try ScriptedFTPServer(Self.content)
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let path = login.isEmpty ? "/file%0D%0ADELE%20x" : "/file"
        let url = try #require(URL(string: "ftp://\(login)127.0.0.1:\(server.port)\(path)"))
        #expect(await session.load(url).error?.code == .badURL)
        #expect(!server.commands.contains { $0.hasPrefix("DELE") })
    }

    @Test(
        "A method that FTP doesn't have fails before anything is sent",
        arguments: ["DELETE", "PATCH", "OPTIONS", "A B"]
    )
    func otherMethod(method: String) async throws {
        let server = try ScriptedFTPServer(Self.content)
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let error = await session.load(URLRequest(server.url(), method: method)).error
        #expect(error?.code == .badURL)
        #expect(error?.localizedDescription.contains("FTP") == true)
        #expect(server.commands == [])
    }

    @Test("A URL that is too long for libcurl fails before anything is sent", arguments: [70_000, 8_100_000])
    func longURL(length: Int) async throws {
        let server = try ScriptedFTPServer(Self.content)
        defer { server.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let url = server.url().appendingPathComponent(String(repeating: "x", count: length))
        let error = await session.load(url).error
        #expect(error?.code == .badURL)
        #expect(error?.localizedDescription.contains("too long") == true)
        #expect(server.commands == [])
    }

    @Test("A server that never confirms the end holds up neither other tasks nor its own task's cancellation")
    func silentEnd() async throws {
        let gate = Gate()
        let ftp = try ScriptedFTPServer(Self.content) { $0 == "226" ? .after(gate) : nil }
        let http = try LoopbackServer { _ in .text("fine") }
        defer { http.stop() }
        defer { ftp.stop() }
        defer { gate.open() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: ftp.url())
        task.resume()
        try await delegate.wait(for: task) { $0.name == "response" }
        for _ in 0..<5 { #expect(await session.load(http.url("/")).text == "fine") }
        task.cancel()
        #expect(try await delegate.completion(of: task)?.code == .cancelled)
    }

    @Test("A server that never says goodbye holds up nothing when the session ends")
    func silentGoodbye() async throws {
        let gate = Gate()
        let ftp = try ScriptedFTPServer(Self.content) { $0 == "QUIT" ? .after(gate) : nil }
        let http = try LoopbackServer { _ in .text("fine") }
        defer { http.stop() }
        defer { ftp.stop() }
        defer { gate.open() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        let other = URLSession.forTest()
        defer { other.invalidateAndCancel() }
        #expect(await session.load(ftp.url()).data == Self.content)
        session.finishTasksAndInvalidate()
        try await delegate.invalidation()
        try await ftp.wait(for: "QUIT")
        for _ in 0..<5 { #expect(await other.load(http.url("/")).text == "fine") }
    }

    @Test(
        "A server that says nothing any more times out, and the error tells how far the transfer had got",
        arguments: [("USER", "securing"), ("226", "receiving")]
    )
    func silence(place: String, phase: String) async throws {
        let gate = Gate()
        let ftp = try ScriptedFTPServer(Self.content) { $0.hasPrefix(place) ? .after(gate) : nil }
        defer { ftp.stop() }
        defer { gate.open() }
        // There is a connection.
        let session = URLSession.forTest { $0.waitsForConnectivity = true }
        defer { session.invalidateAndCancel() }
        let error = await session.load(URLRequest(ftp.url(), timeout: 3)).error
        #expect(error?.code == .timedOut)
        #expect(error?.phase == phase)
    }

    @Test("A connection that breaks in the middle fails the task", arguments: ["USER", "EPSV", "SIZE", "226"])
    func hangUp(place: String) async throws {
        let ftp = try ScriptedFTPServer(Self.content) { $0.hasPrefix(place) ? .hangUp : nil }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let error = await session.load(ftp.url()).error
        #expect(error != nil)
        #expect(error?.curlText?.isEmpty == false)
    }

    @Test("A server without MDTM, or without SIZE, serves all the same", arguments: ["MDTM", "SIZE"])
    func withoutExtension(command: String) async throws {
        let ftp = try ScriptedFTPServer(Self.content) { $0.hasPrefix(command) ? .reply("500 What?") : nil }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(ftp.url()).data == Self.content)
    }

    @Test("Of a server without MDTM nothing can be resumed, since nobody could tell a change")
    func noValidator() async throws {
        let large = GeneratedBody.bytes(seed: 5, length: 30_000_000)
        let ftp = try ScriptedFTPServer(large) { $0.hasPrefix("MDTM") ? .reply("500 What?") : nil }
        defer { ftp.stop() }
        let directory = try TemporaryDirectory()
        #expect(try await PausedDownload.pauseEarly(URLRequest(ftp.url()), in: directory) == nil)
        #expect(directory.content.isEmpty)
    }

    @Test(
        "Without MDTM's answer nobody can tell that the file is the same, so it is fetched anew",
        arguments: ["450 Busy", "213 x"]
    )
    func lostValidator(answer: String) async throws {
        let large = GeneratedBody.bytes(seed: 5, length: 30_000_000)
        let isResumed = Watched(false)
        let ftp = try ScriptedFTPServer(large) {
            $0.hasPrefix("MDTM") && isResumed.value ? .reply(answer) : nil
        }
        defer { ftp.stop() }
        let directory = try TemporaryDirectory()
        let data = try #require(try await PausedDownload.pauseEarly(URLRequest(ftp.url()), in: directory))
        isResumed.update { $0 = true }
        let resumed = try await ResumedDownload(data, in: directory)
        #expect(resumed.error == nil)
        #expect(resumed.body == large)
        #expect(!resumed.hasContinued)
    }

    @Test(
        "Data that no FTP reply has announced has a response before it all the same, unless the reply is unknown",
        arguments: [("125 ok", true), ("126 odd", false)]
    )
    func unannounced(end: String, isTaken: Bool) async throws {
        let ftp = try ScriptedFTPServer(Self.content, opening: "150-Here it comes\r\n" + end)
        defer { ftp.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession.forTest(delegate: delegate)
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: ftp.url())
        task.resume()
        #expect(try await (delegate.completion(of: task) == nil) == isTaken)
        guard isTaken else { return }
        #expect(delegate.body(of: task) == Self.content)
        #expect(delegate.events(of: task).map(\.name).first { ["response", "data"].contains($0) } == "response")
    }

    @Test("A file that is shorter than the server has announced isn't complete")
    func announcedTooMuch() async throws {
        let opening = "150 Opening a (3 bytes) (\(Self.content.count) bytes)"
        let ftp = try ScriptedFTPServer(Self.content, opening: opening) {
            $0.hasPrefix("SIZE") ? .reply("500 What?") : nil
        }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let error = await session.load(ftp.url()).error
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.localizedDescription.contains("length") == true)
    }

    @Test(
        "A file isn't complete where libcurl misreads a number of the server as its length",
        arguments: [("213 -2", "150 Here it comes"), ("500 What?", "150 Opening (9223372036854775808 bytes)")]
    )
    func misread(size: String, opening: String) async throws {
        let ftp = try ScriptedFTPServer(Self.content, opening: opening) {
            $0.hasPrefix("SIZE") ? .reply(size) : nil
        }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(ftp.url()).error?.code == .networkConnectionLost)
    }

    @Test("A server that won't protect the data of ftps gets none, and sends none")
    func unprotected() async throws {
        let server = try await TalkingTLSServer()
        defer { server.stop() }
        let session = server.session()
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: server.url.absoluteString.replacingOccurrences(of: "https", with: "ftps")))
        let commands = Watched<[String]>([])
        let replies = [
            "USER": "331 Password", "PASS": "230 Hello", "PBSZ": "200 OK", "PROT": "534 No", "PWD": "257 \"/\"",
        ]
        let talk = Task {
            server.say("220 Ready")
            while let line = await server.line() {
                let word = line.prefix { $0 != " " }.trimmingCharacters(in: .newlines)
                guard word.count <= 4, word == word.uppercased(), word.first?.isLetter == true else { continue }
                commands.update { $0.append(word) }
                server.say(replies[word] ?? "500 What?")
            }
        }
        #expect(await session.load(url.appendingPathComponent("file")).error?.code == .secureConnectionFailed)
        #expect(commands.value.contains("PROT"))
        #expect(!commands.value.contains { ["EPSV", "PASV", "RETR"].contains($0) })
        server.stop()
        await talk.value
    }

    @Test("A type that the server has refused isn't taken for the connection's")
    func refusedType() async throws {
        let count = Counter()
        let ftp = try ScriptedFTPServer(Self.content) {
            $0.hasPrefix("TYPE") && count.next() == 1 ? .reply("451 Not now") : nil
        }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(ftp.url()).error?.code == .badServerResponse)
        #expect(await session.load(ftp.url()).data == Self.content)
        #expect(ftp.commands.count { $0.hasPrefix("TYPE") } == 2)
    }

    @Test("A connection on which replies are out of step isn't used again")
    func outOfStep() async throws {
        let count = Counter()
        let ftp = try ScriptedFTPServer(Self.content) {
            $0.hasPrefix("EPSV") && count.next() == 1 ? .reply("229 Nowhere\r\n200 And more") : nil
        }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(ftp.url()).error?.code == .badServerResponse)
        #expect(await session.load(ftp.url()).data == Self.content)
        #expect(ftp.connectionCount == 2)
    }

    @Test("A server that refuses to go on starts over")
    func refusedRest() async throws {
        let large = GeneratedBody.bytes(seed: 5, length: 30_000_000)
        let ftp = try ScriptedFTPServer(large) { $0.hasPrefix("REST") ? .reply("502 No") : nil }
        defer { ftp.stop() }
        let directory = try TemporaryDirectory()
        let data = try #require(try await PausedDownload.pauseEarly(URLRequest(ftp.url()), in: directory))
        let resumed = try await ResumedDownload(data, in: directory)
        #expect(resumed.error == nil)
        #expect(resumed.body == large)
        #expect(ftp.commands.contains { $0.hasPrefix("REST") })
    }

    @Test("Of a file that is complete already, nothing is fetched")
    func complete() async throws {
        let large = GeneratedBody.bytes(seed: 5, length: 30_000_000)
        let gate = Gate()
        // All bytes are there, and the end is not confirmed.
        let ftp = try ScriptedFTPServer(large) { $0 == "226" ? .after(gate) : nil }
        defer { ftp.stop() }
        let directory = try TemporaryDirectory()
        let data = try #require(try await PausedDownload.pause(URLRequest(ftp.url()), at: 30_000_000, in: directory))
        gate.open()
        let resumed = try await ResumedDownload(data, in: directory)
        #expect(resumed.error == nil)
        #expect(resumed.body == large)
        #expect(ftp.commands.count { $0.hasPrefix("RETR") } == 1)
    }

    @Test("An upload that the server won't store fails as such")
    func refusedUpload() async throws {
        let ftp = try ScriptedFTPServer(Self.content) { $0.hasPrefix("STOR") ? .reply("553 No") : nil }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) {
            _ = try await session.upload(for: URLRequest(url: ftp.url()), from: Data("x".utf8))
        }
        #expect(error?.code == .cannotCreateFile)
    }

    @Test(
        "A file that the server won't send can't be opened, unless it says that there is none",
        arguments: [
            ("450 Busy", URLError.Code.cannotOpenFile), ("552 No", .cannotOpenFile), ("550 No", .fileDoesNotExist),
        ]
    )
    func refusedDownload(reply: String, code: URLError.Code) async throws {
        let ftp = try ScriptedFTPServer(Self.content) { $0.hasPrefix("RETR") ? .reply(reply) : nil }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(ftp.url()).error?.code == code)
    }

    @Test("An upload needs a file's name in the URL, and stores nothing without")
    func nameless() async throws {
        let ftp = try ScriptedFTPServer(Self.content)
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) {
            _ = try await session.upload(for: URLRequest(url: ftp.url("/")), from: Data("x".utf8))
        }
        #expect(error?.code == .badURL)
        #expect(!ftp.commands.contains { $0.hasPrefix("STOR") })
    }

    @Test("The data connection goes to the server's own address, whatever address it names")
    func otherAddress() async throws {
        // Of those that are for documentation: nobody is there (RFC 5737).
        let ftp = try ScriptedFTPServer(Self.content, passiveAddress: "192,0,2,1") {
            $0 == "EPSV" ? .reply("500 What?") : nil
        }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(ftp.url()).data == Self.content)
        #expect(ftp.commands.contains("PASV"))
    }

    @Test("A kept connection that the server ends meanwhile, as it does after a while, fails no task")
    func endedMeanwhile() async throws {
        let gate = Gate()
        let ftp = try ScriptedFTPServer(Self.content) { $0 == "226" ? .replyAndLater("421 Timeout.", gate) : nil }
        defer { ftp.stop() }
        defer { gate.open() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(ftp.url()).data == Self.content)
        gate.open()
        #expect(await session.load(ftp.url()).data == Self.content)
        #expect(ftp.connectionCount == 2)
    }

    @Test(
        "A kept connection that the server gives up when it gets a command fails no task, uploads included",
        arguments: [ScriptedFTPServer.Answer.hangUp, .reply("421 Timeout.")]
    )
    func givenUp(answer: ScriptedFTPServer.Answer) async throws {
        let openings = Watched(0)
        let ftp = try ScriptedFTPServer(Self.content) { command in
            guard command == "EPSV" else { return nil }
            // The first command of the second task.
            return openings.update {
                $0 += 1; return $0
            } == 2 ? answer : nil
        }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 { _ = try await session.upload(for: URLRequest(url: ftp.url()), from: Data("stored".utf8)) }
        #expect(ftp.stored == Array(repeating: Data("stored".utf8), count: 2))
        #expect(ftp.connectionCount == 2)
    }

    @Test("A server that ends the session is no time-out, and its words are in the error")
    func dismissal() async throws {
        let ftp = try ScriptedFTPServer(Self.content) {
            $0.hasPrefix("USER") ? .reply("421 Too many connections") : nil
        }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let error = await session.load(ftp.url()).error
        #expect(error?.code == .networkConnectionLost)
        #expect(error?.localizedDescription.contains("421 Too many connections") == true)
        #expect(ftp.connectionCount == 1)
    }

    @Test("What looks like HTTP among a server's replies is no head")
    func falseHead() async throws {
        let ftp = try ScriptedFTPServer(Self.content) {
            $0 == "PWD"
                ? .reply("257-Look:\r\nHTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n257 \"/\"") : nil
        }
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: ftp.url())
        #expect(data == Self.content)
        #expect(!(response is HTTPURLResponse))
    }

    @Test("A connection is used again, also by uploads")
    func reuse() async throws {
        let ftp = try ScriptedFTPServer(Self.content)
        defer { ftp.stop() }
        let session = URLSession.forTest()
        defer { session.invalidateAndCancel() }
        #expect(await session.load(ftp.url()).data == Self.content)
        // Often: on a busy machine the server's reply can be there before libcurl has looked away from the command.
        for _ in 0..<20 { _ = try await session.upload(for: URLRequest(url: ftp.url()), from: Data("stored".utf8)) }
        #expect(ftp.stored == Array(repeating: Data("stored".utf8), count: 20))
        #expect(ftp.commands.count { $0.hasPrefix("USER") } == 1)
    }
}
