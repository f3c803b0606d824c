"""An echo server with the library "websockets": PORT, and 1 for compression."""
import asyncio
import sys

import websockets


async def serve(socket, *_):
    try:
        async for message in socket:
            words = message.split() if isinstance(message, str) else []
            if words and words[0] == "close":
                await socket.close(int(words[1]), " ".join(words[2:]))
            elif words and words[0] == "flood":
                for number in range(int(words[1])):
                    await socket.send(bytes([number % 251]) * int(words[2]))
            else:
                await socket.send(message)
    except websockets.ConnectionClosed:
        pass


async def main():
    compression = "deflate" if sys.argv[2] == "1" else None
    async with websockets.serve(
        serve, "127.0.0.1", int(sys.argv[1]), compression=compression, max_size=None, subprotocols=["echo", "other"]
    ):
        await asyncio.Future()


asyncio.run(main())
