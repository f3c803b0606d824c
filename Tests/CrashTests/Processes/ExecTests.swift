import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("A process that starts another", .timeLimit(.minutes(1)))
struct ExecTests {
    @Test("Files and connections are closed on exec, and only libcurl's own socket pairs stay open")
    func closed() async throws {
        let server = try LoopbackServer { _ in .pieces([.bytes("half"), .never, .bytes("rest")]) }
        defer { server.stop() }
        // A process of its own: other tests have descriptors, too.
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            [url = server.url("/") as URL] in
            let directory = try TemporaryDirectory()
            let inherited = await ProcessUsage.atRest().descriptors
            let delegate = RecordingDelegate()
            let configuration = URLSessionConfiguration.ephemeral
            configuration.curl.temporaryDirectory = directory.url
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
            let stream = session.streamTask(withHostName: "127.0.0.1", port: try #require(url.port))
            let download = session.downloadTask(with: url)
            for task in [stream, download] { task.resume() }
            try await stream.write(Data("GET / HTTP/1.1\r\n".utf8), timeout: 10)
            try await delegate.wait(for: download) { if case .wrote = $0 { true } else { false } }

            // One may have taken the number of another that was open only then.
            let descriptors = await ProcessUsage.atRest().descriptors.filter { inherited[$0.key] != $0.value }
            let staysOpen = descriptors.filter {
                fcntl(Int32($0.key), F_GETFD) & FD_CLOEXEC == 0 && !Self.isPair($0.key)
            }
            let isFileOpen = descriptors.values.contains { $0.hasPrefix(directory.url.path) }
            let sockets = descriptors.values.count { $0.hasPrefix("socket:") }
            guard !staysOpen.isEmpty || !isFileOpen || sockets < 2 else { return }
            // An expectation in this process would only tell that it failed.
            let found = "\(staysOpen) of \(descriptors), before: \(inherited)\n"
            try FileHandle.standardError.write(contentsOf: Data(found.utf8))
        }
        let found = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(found.isEmpty, "\(found)")
    }

    /// Whether a descriptor is an end of a socket pair. Another program can't do anything with that.
    private static func isPair(_ descriptor: Int) -> Bool {
        var domain: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(Int32(descriptor), SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX
    }
}
