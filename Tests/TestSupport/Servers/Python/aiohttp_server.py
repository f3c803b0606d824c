"""An echo server with the library "aiohttp": PORT, and 1 for compression."""
import sys

from aiohttp import WSMsgType, web


async def serve(request):
    socket = web.WebSocketResponse(compress=sys.argv[2] == "1", max_msg_size=0, protocols=["echo", "other"])
    await socket.prepare(request)
    async for message in socket:
        words = message.data.split() if message.type == WSMsgType.TEXT else []
        if words and words[0] == "close":
            await socket.close(code=int(words[1]), message=" ".join(words[2:]).encode())
        elif words and words[0] == "flood":
            for number in range(int(words[1])):
                await socket.send_bytes(bytes([number % 251]) * int(words[2]))
        elif message.type == WSMsgType.TEXT:
            await socket.send_str(message.data)
        elif message.type == WSMsgType.BINARY:
            await socket.send_bytes(message.data)
    return socket


application = web.Application()
application.router.add_get("/{path:.*}", serve)
web.run_app(application, host="127.0.0.1", port=int(sys.argv[1]), print=None)
