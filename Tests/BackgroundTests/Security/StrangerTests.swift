import CurlNetworking
import CurlNetworkingLoopbackServer
import Foundation
import Glibc
import TestSupport
import Testing

extension BackgroundTests {
    @Suite("Strangers")
    struct Strangers {
        @Test("Only its own user has access to an agent's state")
        func permissions() async throws {
            let rig = try BackgroundRig { _ in .never }
            defer { rig.end() }
            // It was there before, for everybody.
            try FileManager.default.createDirectory(
                at: rig.folder,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o755]
            )
            _ = rig.download()
            _ = try await rig.server.request(number: 1)
            for name in ["", "sessions", "agent.socket", "agent.lock", "agent.log"]
                + rig.stateFiles.map({ "sessions/" + $0 })
            {
                var status = stat()
                let path = name.isEmpty ? rig.folder.path : rig.folder.appendingPathComponent(name).path
                #expect(lstat(path, &status) == 0)
                #expect(status.st_mode & 0o077 == 0, "\(name)")
            }
            #expect(rig.stateFiles.contains { $0.hasSuffix(".task") })
        }

        @Test("Another user can neither connect nor read nor plant anything", .enabled(if: geteuid() == 0))
        func otherUser() async throws {
            let rig = try BackgroundRig { _ in .never }
            defer { rig.end() }
            _ = rig.download()
            _ = try await rig.server.request(number: 1)
            chmod(rig.directory.url.path, 0o755)
            // Even where the folder itself is open.
            chmod(rig.folder.path, 0o777)
            chmod(rig.folder.appendingPathComponent("agent.socket").path, 0o777)
            // A program of that user's, which may run from anywhere.
            let stranger = try Stranger.program(
                """
                my $s = IO::Socket::UNIX->new(Peer => "$ARGV[0]/agent.socket") or die "no connection: $!";
                syswrite $s, "\\0\\0\\0\\x0d{\\"status\\":{}}";
                print "answer ", (sysread($s, my $b, 100) || 0), "\\n";
                print open(my $f, ">", "$ARGV[0]/sessions/x") ? "planted\\n" : "closed\\n";
                """,
                rig.folder
            )
            #expect(await stranger.remainingLines() == ["answer 0", "closed"])
            try await rig.waitForLog { $0.contains("refused a connection of another user") }
        }

        @Test("A program doesn't talk to another user's agent", .enabled(if: geteuid() == 0))
        func otherUsersAgent() async throws {
            let rig = try BackgroundRig()
            defer { rig.end() }
            let place = rig.directory.url.appendingPathComponent("planted", isDirectory: true)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
            chmod(rig.directory.url.path, 0o755)
            chown(place.path, 65534, 65534)
            let stranger = try Stranger.program(
                """
                my $s = IO::Socket::UNIX->new(Local => "$ARGV[0]/agent.socket", Listen => 1) or die "no socket: $!";
                print "listens\\n";
                my $c = $s->accept;
                print "got ", (sysread($c, my $b, 100) || 0), "\\n";
                """,
                place
            )
            #expect(await stranger.line() == "listens")
            let delegate = RecordingDelegate()
            let session = rig.session(delegate) { $0.curl.background.folder = place }
            let task = session.downloadTask(with: try #require(URL(string: "http://127.0.0.1:9/")))
            task.resume()
            let error = try await delegate.completion(of: task)
            #expect(error?.code == .backgroundSessionWasDisconnected)
            #expect(await stranger.line() == "got 0")
            session.invalidateAndCancel()
        }

        @Test(
            "Garbage on the socket costs the connection it came over, and no other",
            arguments: [
                Data([0xff, 0xff, 0xff, 0xff]), Data([0, 0, 0, 2, 0x7b, 0x7d]), Data([0, 0, 0, 0]),
                Data("GET / HTTP/1.1\r\n\r\n".utf8),
                Data([0, 0, 0x27, 0x10]) + Data(String(repeating: "[", count: 10_000).utf8),
            ]
        )
        func garbage(bytes: Data) async throws {
            let gate = Gate()
            let rig = try BackgroundRig { _ in .text("hello").after([.waitFor(gate)]) }
            defer { rig.end() }
            let task = rig.download()
            _ = try await rig.server.request(number: 1)
            let pid = rig.agentPid
            #expect(try Stranger.talk(bytes, to: rig.folder.appendingPathComponent("agent.socket").path) == 0)
            gate.open()
            try await rig.delegate.success(of: task)
            #expect(rig.agentPid == pid)
        }

        private enum Stranger {
            /// Runs a Perl script as the user nobody, with the folder as its argument.
            static func program(_ script: String, _ folder: URL) throws -> ChildProcess {
                let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "perl", "-e"]
                let begin = "use IO::Socket::UNIX; $| = 1; $SIG{PIPE} = 'IGNORE'; "
                return try ChildProcess(words + [begin + script, folder.path], mergesErrors: true)
            }

            /// Sends the bytes, and returns how many come back before the end.
            static func talk(_ bytes: Data, to path: String) throws -> Int {
                let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
                defer { close(descriptor) }
                var address = sockaddr_un()
                address.sun_family = sa_family_t(AF_UNIX)
                withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
                let result = withUnsafePointer(to: address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                    }
                }
                try #require(result == 0)
                _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                shutdown(descriptor, Int32(SHUT_WR))
                var buffer = [UInt8](repeating: 0, count: 4096)
                return max(0, recv(descriptor, &buffer, buffer.count, 0))
            }
        }
    }
}
