#ifndef SOCKET_H
#define SOCKET_H

#include "arguments.h"
#include "loop.h"

#include <stdbool.h>

/// Web sockets to the benchmark's server, over connections that libcurl makes and frames written by hand.
typedef struct sockets sockets;

/// Opens `count` web sockets at once; exits when that fails.
sockets *sockets_open(loop *loop, const char *url, long count);

/// Sends `messages` messages of `size` bytes, over each web socket one after the other, and waits for each to come back.
/// Returns how many were wrong.
long sockets_echo(sockets *sockets, long messages, size_t size);

/// Sends `messages` messages of `size` bytes over the first web socket, to a server that sends none back, and waits until it
/// has them all. Returns how many were wrong.
long sockets_send(sockets *sockets, long messages, size_t size);

/// Asks for `messages` messages of `size` bytes over the first web socket, and receives them. Returns how many were wrong.
long sockets_receive(sockets *sockets, long messages, size_t size);

/// Waits for so many milliseconds. Returns how many bytes have come, which nobody has asked for.
long sockets_wait(sockets *sockets, long milliseconds);

/// Compresses and inflates messages of `size` bytes as an echo over permessage-deflate would, without any network: zlib's
/// own time. Returns how many were wrong.
long deflate_alone(long messages, size_t size);

#endif
