import Foundation
import TestSupport

/// A line protocol that begins and ends TLS on request: each line comes back with "plain: " or "TLS: " in front of it, and "start", "stop",
/// "drop", "bye", "leave", "pair" and "flood" do something besides. Written with Python's `ssl`, whose TLS can stop on a connection that
/// goes on.
final class SwitchingServer: Sendable {
    let port: Int
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// - Parameters:
    ///   - upgrades: Whether a request of HTTP comes first, which is answered with 101.
    ///   - overTLS: Whether all of it is within TLS from the start.
    init(_ site: TLSSite, upgrades: Bool = false, overTLS: Bool = false) throws {
        let directory = try TemporaryDirectory()
        let script = try directory.file("server.py", Data(Self.script.utf8))
        let (ports, process) = try LoopbackProgram.start("python3") { ports in
            [
                "/usr/bin/python3", script.path, "\(ports[0])", site.certificate(.good).path, site.key(.good).path,
                upgrades ? "upgrades" : "", overTLS ? "TLS" : "",
            ]
        }
        (port, self.directory, self.process) = (ports[0], directory, process)
    }

    func stop() {
        process.kill()
    }

    private static let script = """
        import socket, ssl, sys, threading

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])

        def line(connection):
            text = b""
            while not text.endswith(b"\\n"):
                byte = connection.recv(1)
                if not byte:
                    return None
                text += byte
            return text

        def serve(connection):
            kind = b"plain: "
            if sys.argv[5]:
                connection = context.wrap_socket(connection, server_side=True)
            if sys.argv[4]:
                while line(connection) != b"\\r\\n":
                    pass
                connection.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: echo\\r\\n\\r\\n")
            while True:
                text = line(connection)
                if text is None:
                    if kind == b"TLS: ":
                        try:
                            connection.unwrap()
                        except OSError:
                            pass
                    return
                connection.sendall(kind + text)
                if text == b"start\\n":
                    connection = context.wrap_socket(connection, server_side=True)
                    kind = b"TLS: "
                elif text == b"stop\\n":
                    connection = connection.unwrap()
                    kind = b"plain: "
                elif text == b"flood\\n":
                    connection.sendall(bytes(2 << 20))
                elif text == b"bye\\n":
                    # The end of TLS and plain text, in one segment.
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
                    connection.setblocking(False)
                    try:
                        connection.unwrap()
                    except ssl.SSLWantReadError:
                        pass
                    plain = socket.socket(fileno=connection.detach())
                    plain.setblocking(True)
                    plain.sendall(b"injected\\n")
                    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
                    while plain.recv(4096):
                        pass
                    plain.close()
                    return
                elif text == b"leave\\n":
                    # Closes the connection without having read the end of TLS, so the system resets it.
                    plain = socket.socket(fileno=connection.detach())
                    plain.setblocking(True)
                    plain.recv(1, socket.MSG_PEEK)
                    plain.close()
                    return
                elif text == b"pair\\n":
                    connection.sendall(b"1\\n")
                    connection.sendall(b"2\\n")
                elif text == b"drop\\n":
                    # No reset: that would destroy what the client has yet to read.
                    plain = socket.socket(fileno=connection.detach())
                    plain.shutdown(socket.SHUT_WR)
                    while plain.recv(4096):
                        pass
                    plain.close()
                    return

        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(sys.argv[1])))
        listener.listen()
        while True:
            connection, _ = listener.accept()
            # A reset drops what waits for the acknowledgement of what was sent before.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()
        """
}
