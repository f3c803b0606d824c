"""A web server that lets in whoever shows a Kerberos ticket (RFC 4559), with the library "gssapi": PORT.

It answers with the client's name, the request's method, the length of its body, and the numbers of the connections on which it was
asked for this path so far. Below /connection, a ticket lets in all later requests on the connection; elsewhere each request needs one,
and none is taken twice. Below /closed, none is taken. Below /leaving, the connection's third request is read and never answered: the
connection is closed. With the query "basic" it also lets in the user "user" with the password "secret".
"""
import asyncio
import base64
import sys

import gssapi

connections = 0
# By path.
asked = {}


def show(field):
    """The client's name, and the server's own token in return; None for no ticket, or one that isn't taken."""
    if not field.startswith("Negotiate "):
        return None
    context = gssapi.SecurityContext(usage="accept")
    try:
        answer = context.step(base64.b64decode(field.removeprefix("Negotiate ")))
        # An error of the step may be raised only now.
        return (str(context.initiator_name), answer) if context.complete else None
    except gssapi.exceptions.GSSError:
        return None


async def serve(reader, writer):
    global connections
    connections += 1
    number = connections
    known = None
    requests = 0
    while True:
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return writer.close()
        method, target, _ = lines[0].split(" ")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        path, _, query = target.partition("?")
        asked.setdefault(path, []).append(str(number))
        requests += 1
        shown = fields.get("authorization", "")
        name = known if path.startswith("/connection") else None
        extra = ""
        if query == "basic" and shown == "Basic dXNlcjpzZWNyZXQ=":
            name = "user"
        elif not path.startswith("/closed") and (ticket := show(shown)):
            name = known = ticket[0]
            extra = f"WWW-Authenticate: Negotiate {base64.b64encode(ticket[1] or b'').decode()}\r\n"
        if name is None:
            basic = ', Basic realm="vault"' if query == "basic" else ""
            extra = f"WWW-Authenticate: Negotiate{basic}\r\n"
        if path.startswith("/leaving") and requests == 3:
            return writer.close()
        text = f"{name} {method} {len(body)} on {' '.join(asked[path])}" if name else "closed"
        status = "200 OK" if name else "401 Unauthorized"
        sent = "" if method == "HEAD" else text
        writer.write(f"HTTP/1.1 {status}\r\n{extra}Content-Length: {len(text)}\r\n\r\n{sent}".encode())
        await writer.drain()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
