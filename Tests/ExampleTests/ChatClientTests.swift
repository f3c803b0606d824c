import CurlNetworkingLoopbackServer
import Foundation
import TestSupport
import Testing

@Suite("The example of a chat client", .timeLimit(.minutes(1)))
struct ChatClientTests {
    /// A room with Python's `websockets`, which passes each line on to everybody else and says who comes.
    private static let room = """
        import asyncio, sys
        from websockets.server import serve

        guests = set()

        async def visit(guest):
            guests.add(guest)
            await guest.send("you are guest " + str(len(guests)))
            try:
                async for line in guest:
                    if line.endswith(": /close"):
                        await guest.close(1000, "closed")
                    for other in guests - {guest}:
                        await other.send(line)
            finally:
                guests.discard(guest)

        async def main():
            async with serve(visit, "127.0.0.1", int(sys.argv[1]), subprotocols=["chat"]):
                await asyncio.get_running_loop().create_future()

        asyncio.run(main())
        """

    private func openRoom() throws -> (url: String, server: ChildProcess, TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        let script = try directory.file("room.py", Data(Self.room.utf8))
        let (ports, server) = try LoopbackProgram.start("python3") { ports in
            ["/usr/bin/python3", script.path, "\(ports[0])"]
        }
        return ("ws://127.0.0.1:\(ports[0])/room", server, directory)
    }

    @Test("Two chat clients see each other's lines, and leave when their input ends")
    func twoClients() async throws {
        let (url, server, directory) = try openRoom()
        defer { server.kill() }
        let ada = try ExampleProgram.start("chat-client", url, "Ada")
        #expect(await ada.line() == "you are guest 1")
        let bob = try ExampleProgram.start("chat-client", url, "Bob")
        #expect(await bob.line() == "you are guest 2")
        ada.say("Hello, Bob")
        #expect(await bob.line() == "Ada: Hello, Bob")
        bob.say("Grüß dich")
        bob.say("")
        #expect(await ada.line() == "Bob: Grüß dich")
        #expect(await ada.line() == "Bob: ")
        bob.closeInput()
        #expect(await bob.ending() == .exit(0))
        ada.closeInput()
        #expect(await ada.ending() == .exit(0))
        withExtendedLifetime(directory) {}
    }

    @Test("The chat client ends when its room closes")
    func closing() async throws {
        let (url, server, directory) = try openRoom()
        defer { server.kill() }
        let client = try ExampleProgram.start("chat-client", url, "Ada")
        #expect(await client.line() == "you are guest 1")
        client.say("/close")
        #expect(await client.remainingLines().isEmpty)
        #expect(await client.ending() == .exit(0))
        withExtendedLifetime(directory) {}
    }

    @Test("Other clients' lines can't move the cursor")
    func controlCharacters() async throws {
        let server = try LoopbackServer { request in
            .webSocket(request, headers: [(name: "Sec-WebSocket-Protocol", value: "chat")]) { event in
                guard case .opened = event else { return [] }
                return [.frame(.text("Eve: \u{1B}[2Jgone\r\n\u{7}")), .frame(.close(1000)), .close]
            }
        }
        defer { server.stop() }
        let url = server.url("/").absoluteString.replacingOccurrences(of: "http:", with: "ws:")
        let client = try ExampleProgram.start("chat-client", url, "Ada")
        #expect(await client.remainingLines() == ["Eve: ?[2Jgone???"])
        #expect(await client.ending() == .exit(0))
    }

    @Test("The chat client ends with Ctrl-C even while the room takes nothing of what it sends")
    func stuck() async throws {
        let server = try LoopbackServer { request in
            .webSocket(request, headers: [(name: "Sec-WebSocket-Protocol", value: "chat")]) { event in
                if case .opened = event { [.frame(.text("hello")), .stopReading] } else { [] }
            }
        }
        defer { server.stop() }
        let url = server.url("/").absoluteString.replacingOccurrences(of: "http:", with: "ws:")
        let client = try ExampleProgram.start("chat-client", url, "Ada", mergesErrors: true)
        #expect(await client.line() == "hello")
        // More than the system takes.
        for _ in 0..<32 { client.say(String(repeating: "a", count: 1 << 20)) }
        client.kill(SIGINT)
        #expect(await client.remainingLines() == ["interrupted"])
        #expect(await client.ending() == .exit(130))
    }

    @Test("The chat client ends with Ctrl-C, and says why it can't come in")
    func ends() async throws {
        let (url, server, directory) = try openRoom()
        defer { server.kill() }
        let client = try ExampleProgram.start("chat-client", url, "Ada", mergesErrors: true)
        #expect(await client.line() == "you are guest 1")
        client.kill(SIGINT)
        #expect(await client.remainingLines() == ["interrupted"])
        #expect(await client.ending() == .exit(130))
        let refusing = try LoopbackServer { _ in .status(403) }
        defer { refusing.stop() }
        let other = try ExampleProgram.start("chat-client", refusing.url.absoluteString, "Ada", mergesErrors: true)
        #expect(await other.remainingLines().count == 1)
        #expect(await other.ending() == .exit(1))
        withExtendedLifetime(directory) {}
    }
}
