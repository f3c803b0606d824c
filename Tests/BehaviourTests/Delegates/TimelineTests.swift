import CurlNetworking
import Foundation
import CurlNetworkingLoopbackServer
import TestSupport
import Testing

/// What the delegate of each kind of task hears, from the first call to the last.
@Suite("The order of messages", .timeLimit(.minutes(1)))
struct TimelineTests {
    /// A server for every kind of task, and a delegate for one.
    private final class Rig: Sendable {
        let server: LoopbackServer
        let delegate: TimelineDelegate
        let session: URLSession

        init(_ delegate: TimelineDelegate = TimelineDelegate(), isOwn: Bool = false) throws {
            server = try LoopbackServer { request in
                switch request.path {
                case "/redirect": .redirect(to: "/text", status: 307)
                case "/hints": .raw([.bytes(InformationalResponseTests.hints + InformationalResponseTests.answer)])
                case "/broken": .fault(.insideBody(after: 10, of: 20))
                default: .text("hello")
                }
            }
            self.delegate = delegate
            session = URLSession.forTest(delegate: isOwn ? nil : delegate)
        }

        deinit {
            session.invalidateAndCancel()
            server.stop()
        }

        func put(_ path: String = "/text") -> URLRequest {
            URLRequest(server.url(path), method: "PUT")
        }

        /// The story of a task for the delegate.
        func story(_ make: (URLSession) -> URLSessionTask) async throws -> [String] {
            make(session).resume()
            return try await delegate.completeStory()
        }
    }

    // MARK: - Tasks for the delegate

    @Test("A data task's messages come in the documented order")
    func data() async throws {
        let rig = try Rig()
        let story = try await rig.story { $0.dataTask(with: rig.server.url("/text")) }
        #expect(story == ["created", "response", "data", "metrics", "completed"])
    }

    @Test("A data task's messages come in the documented order if the server sends a hint first")
    func hinted() async throws {
        let rig = try Rig()
        let story = try await rig.story { $0.dataTask(with: rig.server.url("/hints")) }
        #expect(story == ["created", "informational 103", "response", "data", "metrics", "completed"])
    }

    @Test("A data task's messages come in the documented order if it fails in the middle, or its delegate refuses it")
    func failing() async throws {
        let rig = try Rig()
        let story = try await rig.story { $0.dataTask(with: rig.server.url("/broken")) }
        #expect(story == ["created", "response", "data", "metrics", "completed"])
        let other = try Rig(TimelineDelegate(onResponse: .cancel))
        let refused = try await other.story { $0.dataTask(with: other.server.url("/text")) }
        #expect(refused == ["created", "response", "metrics", "completed"])
    }

    @Test("The messages of a data task that becomes a download come in the documented order")
    func becomingDownload() async throws {
        let rig = try Rig(TimelineDelegate(onResponse: .becomeDownload))
        let story = try await rig.story { $0.dataTask(with: rig.server.url("/text")) }
        let expected = [
            "created", "response", "became download", "wrote", "finished downloading", "metrics", "completed",
        ]
        #expect(story == expected)
    }

    @Test("The messages of uploads of data, of a file, and of a stream come in the documented order")
    func uploads() async throws {
        let data = try Rig()
        let body = Data("body".utf8)
        let expected = ["created", "sent", "response", "data", "metrics", "completed"]
        #expect(try await data.story { $0.uploadTask(with: data.put(), from: body) } == expected)
        let directory = try TemporaryDirectory()
        let path = try directory.file(body)
        let file = try Rig()
        #expect(try await file.story { $0.uploadTask(with: file.put(), fromFile: path) } == expected)
        let stream = try Rig(TimelineDelegate(bodyStream: { InputStream(data: body) }))
        let story = try await stream.story { $0.uploadTask(withStreamedRequest: stream.put()) }
        #expect(story == ["created", "body stream"] + expected.dropFirst())
    }

    @Test("A download task's messages come in the documented order")
    func download() async throws {
        let rig = try Rig()
        let story = try await rig.story { $0.downloadTask(with: rig.server.url("/text")) }
        #expect(story == ["created", "wrote", "finished downloading", "metrics", "completed"])
    }

    @Test("The messages of a task that is cancelled before it begins come in the documented order")
    func cancelled() async throws {
        let rig = try Rig()
        let task = rig.session.dataTask(with: rig.server.url("/text"))
        task.cancel()
        #expect(try await rig.delegate.completeStory() == ["created", "metrics", "completed"])
    }

    // MARK: - Tasks with a handler: what concerns the task, and nothing that concerns its result

    @Test("A data task with a handler sends the delegate the documented messages, in order")
    func dataHandler() async throws {
        let rig = try Rig()
        _ = await rig.session.load(rig.server.url("/hints"))
        rig.delegate.note("handler")
        #expect(rig.delegate.story == ["created", "informational 103", "metrics", "handler"])
    }

    @Test("An upload task with a handler sends the delegate the documented messages, in order")
    func uploadHandler() async throws {
        let rig = try Rig()
        await withCheckedContinuation { continuation in
            let task = rig.session.uploadTask(with: rig.put(), from: Data("body".utf8)) { _, _, _ in
                rig.delegate.note("handler")
                continuation.resume()
            }
            task.resume()
        }
        #expect(rig.delegate.story == ["created", "sent", "metrics", "handler"])
    }

    @Test("A download task with a handler sends the delegate the documented messages, in order")
    func downloadHandler() async throws {
        let rig = try Rig()
        await withCheckedContinuation { continuation in
            let task = rig.session.downloadTask(with: rig.server.url("/hints")) { _, _, _ in
                rig.delegate.note("handler")
                continuation.resume()
            }
            task.resume()
        }
        #expect(rig.delegate.story == ["created", "informational 103", "metrics", "handler"])
    }

    // MARK: - Async calls: the same, and for a delegate of their own the bytes as well, and all of it before they return

    @Test("Async calls send the delegate the documented messages, in order", arguments: [true, false])
    func async(isOwn: Bool) async throws {
        let data = try Rig(isOwn: isOwn)
        _ = try await data.session.data(
            from: data.server.url("/hints"),
            delegate: isOwn ? data.delegate : nil
        )
        if !isOwn { try await data.session.allTasksCompleted() }
        #expect(data.delegate.story == ["created", "informational 103"] + (isOwn ? ["data"] : []) + ["metrics"])

        let upload = try Rig(isOwn: isOwn)
        _ = try await upload.session.upload(
            for: upload.put(),
            from: Data("body".utf8),
            delegate: isOwn ? upload.delegate : nil
        )
        if !isOwn { try await upload.session.allTasksCompleted() }
        #expect(upload.delegate.story == ["created", "sent"] + (isOwn ? ["data"] : []) + ["metrics"])

        let download = try Rig(isOwn: isOwn)
        let (file, _) = try await download.session.download(
            from: download.server.url("/hints"),
            delegate: isOwn ? download.delegate : nil
        )
        try? FileManager.default.removeItem(at: file)
        if !isOwn { try await download.session.allTasksCompleted() }
        #expect(download.delegate.story == ["created", "informational 103"] + (isOwn ? ["wrote"] : []) + ["metrics"])

        let bytes = try Rig(isOwn: isOwn)
        let (sequence, _) = try await bytes.session.bytes(
            from: bytes.server.url("/text"),
            delegate: isOwn ? bytes.delegate : nil
        )
        var count = 0
        for try await _ in sequence { count += 1 }
        #expect(count == 5)
        if !isOwn { try await bytes.session.allTasksCompleted() }
        #expect(bytes.delegate.story == ["created"] + (isOwn ? ["data"] : []) + ["metrics"])
    }

    @Test("A resumed download tells only a delegate that gets its file that it was resumed")
    func resumed() async throws {
        let nginx = try Nginx.shared()
        let request = URLRequest(url: nginx.plain("/slow" + NginxSite.mebibytePath))
        let directory = try TemporaryDirectory()
        for isHandler in [true, false] {
            let data = try #require(try await PausedDownload.pause(request, at: 200_000, in: directory))
            let delegate = TimelineDelegate()
            let session = URLSession.forTest(delegate: delegate) {
                $0.curl.temporaryDirectory = directory.url
            }
            defer { session.invalidateAndCancel() }
            if isHandler {
                await withCheckedContinuation { continuation in
                    session.downloadTask(withResumeData: data) { _, _, _ in continuation.resume() }.resume()
                }
                #expect(delegate.story == ["created", "metrics"])
            } else {
                session.downloadTask(withResumeData: data).resume()
                let story = try await delegate.completeStory()
                #expect(story == ["created", "resumed", "wrote", "finished downloading", "metrics", "completed"])
            }
        }
    }
}
