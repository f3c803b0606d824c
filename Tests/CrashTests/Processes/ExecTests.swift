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
        let server = try LoopbackServer { _ in .pieces([.body(.generated(length: 100_000, seed: 1)), .never]) }
        defer { server.stop() }
        // A process of its own: other tests have descriptors, too.
        await #expect(processExitsWith: .success) { [url = server.url("/") as URL] in
            let directory = try TemporaryDirectory()
            let inherited = ProcessUsage().descriptors
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
            let descriptors = ProcessUsage().descriptors.filter { inherited[$0.key] != $0.value }
            #expect(descriptors.values.contains { $0.hasPrefix(directory.url.path) }, "\(descriptors), \(inherited)")
            #expect(descriptors.values.count { $0.hasPrefix("socket:") } >= 2, "\(descriptors), \(inherited)")
            for (descriptor, name) in descriptors where fcntl(Int32(descriptor), F_GETFD) & FD_CLOEXEC == 0 {
                var domain: Int32 = 0
                var size = socklen_t(MemoryLayout<Int32>.size)
                #expect(getsockopt(Int32(descriptor), SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0, "\(name)")
                #expect(domain == AF_UNIX, "\(name)")
            }
        }
    }
}
