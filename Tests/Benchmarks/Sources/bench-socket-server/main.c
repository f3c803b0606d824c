// A web-socket server that sends every message back as fast as a single thread can. It prints its port and runs until its
// standard input ends.
//
// At the path /sink it takes messages and sends none back. At /source a message of two little-endian numbers of 64 bits
// asks for so many messages of that size.
//
// For requests with an extension it agrees to permessage-deflate. It doesn't inflate anything: what it sends back are the
// client's own compressed bytes, in their order, which are valid in the other direction, too.

#include "sha1.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { most_read = 256 * 1024, most_events = 1024, most_head = 8192 };

typedef enum { echo, sink, source } purpose;

typedef struct {
    int socket;
    purpose purpose;
    bool is_open;          ///< The handshake is over.
    bool is_waiting;       ///< `unsent` is to be sent before anything is read.
    size_t header_count;   ///< Bytes of the next frame's header that have come, or of the request's head.
    uint64_t missing;      ///< Bytes of the frame's payload that are still to come.
    uint8_t mask[4];
    size_t mask_offset;
    uint8_t header[14];
    char *head;            ///< NULL once the web socket is open.
    uint8_t *unsent;
    size_t unsent_start, unsent_end;
    uint64_t order[2];     ///< Of a source: how many messages it still has to send, and their size.
    size_t order_count;    ///< Bytes of the order that have come.
} connection;

static int epoll;
static uint8_t input[most_read];
/// What comes back is shorter than what came, by the masks.
static uint8_t output[most_read + 16];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void close_connection(connection *connection)
{
    close(connection->socket);
    free(connection->head);
    free(connection->unsent);
    free(connection);
}

static void watch(connection *connection, uint32_t events, int operation)
{
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(epoll, operation, connection->socket, &event))
        die("epoll_ctl");
}

/// False where the connection is lost, and closed.
static bool send_all(connection *connection, const uint8_t *bytes, size_t count)
{
    ssize_t sent = send(connection->socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) {
        close_connection(connection);
        return false;
    }
    size_t done = sent < 0 ? 0 : (size_t)sent;
    if (done == count)
        return true;
    connection->unsent = malloc(count - done);
    if (!connection->unsent)
        die("malloc");
    memcpy(connection->unsent, bytes + done, count - done);
    connection->unsent_start = 0;
    connection->unsent_end = count - done;
    connection->is_waiting = true;
    watch(connection, EPOLLOUT, EPOLL_CTL_MOD);
    return true;
}

/// Has the order's next message wait to be sent.
static void produce(connection *connection)
{
    uint64_t size = connection->order[1];
    size_t header = size <= 125 ? 2 : size <= 0xFFFF ? 4 : 10;
    if (!connection->unsent) {
        connection->unsent = malloc(header + size);
        if (!connection->unsent)
            die("malloc");
        memset(connection->unsent, 'a', header + size);
        connection->unsent[0] = 0x82;
        connection->unsent[1] = header == 2 ? (uint8_t)size : header == 4 ? 126 : 127;
        for (size_t i = 2; i < header; i++)
            connection->unsent[i] = (uint8_t)(size >> (8 * (header - 1 - i)));
    }
    connection->unsent_start = 0;
    connection->unsent_end = header + size;
    connection->order[0]--;
}

static void begin_order(connection *connection)
{
    connection->order_count = 0;
    if (!connection->order[0])
        return;
    produce(connection);
    connection->is_waiting = true;
    watch(connection, EPOLLOUT, EPOLL_CTL_MOD);
}

static void send_rest(connection *connection)
{
    ssize_t sent = send(connection->socket, connection->unsent + connection->unsent_start,
                        connection->unsent_end - connection->unsent_start, MSG_NOSIGNAL);
    if (sent < 0) {
        if (errno != EAGAIN)
            close_connection(connection);
        return;
    }
    connection->unsent_start += (size_t)sent;
    if (connection->unsent_start < connection->unsent_end)
        return;
    if (connection->order[0])
        return produce(connection);
    free(connection->unsent);
    connection->unsent = NULL;
    connection->is_waiting = false;
    watch(connection, EPOLLIN, EPOLL_CTL_MOD);
}

static void unmask(connection *connection, const uint8_t *source, uint8_t *target, size_t count)
{
    uint8_t key[8];
    uint64_t wide;
    for (size_t i = 0; i < 8; i++)
        key[i] = connection->mask[(connection->mask_offset + i) % 4];
    memcpy(&wide, key, 8);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        uint64_t word;
        memcpy(&word, source + i, 8);
        word ^= wide;
        memcpy(target + i, &word, 8);
    }
    for (; i < count; i++)
        target[i] = source[i] ^ key[i % 8];
    connection->mask_offset += count;
}

/// How long the header is, by as much of it as has come.
static size_t header_size(const connection *connection)
{
    if (connection->header_count < 2)
        return 2;
    int length = connection->header[1] & 0x7F;
    return 6 + (length == 126 ? 2 : length == 127 ? 8 : 0);
}

/// Writes the header of the frame that answers, and returns its size.
static size_t begin_frame(connection *connection, uint8_t *target)
{
    size_t size = header_size(connection);
    uint8_t first = connection->header[0];
    // A pong for a ping.
    target[0] = (first & 0x0F) == 9 ? (first & 0xF0) | 10 : first;
    memcpy(target + 1, connection->header + 1, size - 5);
    target[1] &= 0x7F;
    connection->missing = target[1];
    if (target[1] > 125) {
        connection->missing = 0;
        for (size_t i = 2; i < size - 4; i++)
            connection->missing = connection->missing << 8 | target[i];
    }
    memcpy(connection->mask, connection->header + size - 4, 4);
    connection->mask_offset = 0;
    connection->header_count = 0;
    return size - 4;
}

/// Whether the frame under way is to be sent back. Every connection's pings are.
static bool is_answered(const connection *connection)
{
    return connection->purpose == echo || (connection->header[0] & 0x08);
}

/// Takes some of a message that isn't sent back.
static void consume(connection *connection, const uint8_t *bytes, size_t count)
{
    size_t room = sizeof connection->order - connection->order_count;
    if (connection->purpose != source)
        return;
    unmask(connection, bytes, (uint8_t *)connection->order + connection->order_count, count < room ? count : room);
    connection->order_count += count < room ? count : room;
}

static void answer(connection *connection, const uint8_t *bytes, size_t count)
{
    size_t filled = 0;
    while (count) {
        if (connection->missing) {
            size_t piece = count < connection->missing ? count : (size_t)connection->missing;
            if (is_answered(connection)) {
                unmask(connection, bytes, output + filled, piece);
                filled += piece;
            } else {
                consume(connection, bytes, piece);
            }
            connection->missing -= piece;
            bytes += piece;
            count -= piece;
        } else {
            connection->header[connection->header_count++] = *bytes++;
            count--;
            if (connection->header_count >= 2 && connection->header_count == header_size(connection)) {
                size_t size = begin_frame(connection, output + filled);
                filled += is_answered(connection) ? size : 0;
            }
        }
    }
    if (filled && !send_all(connection, output, filled))
        return;
    if (connection->order_count == sizeof connection->order && !connection->is_waiting)
        begin_order(connection);
}

static void shake_hands(connection *connection, const uint8_t *bytes, size_t count)
{
    if (connection->header_count + count >= most_head)
        return close_connection(connection);
    memcpy(connection->head + connection->header_count, bytes, count);
    connection->header_count += count;
    connection->head[connection->header_count] = '\0';
    if (!strstr(connection->head, "\r\n\r\n"))
        return;
    const char *key = strstr(connection->head, "\r\nSec-WebSocket-Key: ");
    if (!key || strlen(key) < 21 + 24)
        return close_connection(connection);
    char accept[29], text[300];
    websocket_accept(key + 21, accept);
    const char *extension = strstr(connection->head, "\r\nSec-WebSocket-Extensions: ")
                                ? "Sec-WebSocket-Extensions: permessage-deflate\r\n"
                                : "";
    int length = snprintf(text, sizeof text,
                          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Accept: %s\r\n%s\r\n",
                          accept, extension);
    connection->purpose = !strncmp(connection->head, "GET /sink ", 10)     ? sink
                          : !strncmp(connection->head, "GET /source ", 12) ? source
                                                                           : echo;
    free(connection->head);
    connection->head = NULL;
    connection->header_count = 0;
    connection->is_open = true;
    send_all(connection, (const uint8_t *)text, (size_t)length);
}

static void receive(connection *connection)
{
    ssize_t count = recv(connection->socket, input, sizeof input, 0);
    if (count <= 0) {
        if (count == 0 || errno != EAGAIN)
            close_connection(connection);
    } else if (connection->is_open) {
        answer(connection, input, (size_t)count);
    } else {
        shake_hands(connection, input, (size_t)count);
    }
}

static void accept_all(int listener)
{
    int socket;
    while ((socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        int yes = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        connection *added = calloc(1, sizeof *added);
        if (!added || !(added->head = malloc(most_head)))
            die("malloc");
        added->socket = socket;
        watch(added, EPOLLIN, EPOLL_CTL_ADD);
    }
}

static int listen_anywhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) || listen(listener, 4096) ||
        getsockname(listener, (struct sockaddr *)&address, &length))
        die("listen");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

int main(void)
{
    struct epoll_event events[most_events];
    epoll = epoll_create1(EPOLL_CLOEXEC);
    connection listener = {.socket = listen_anywhere()}, parent = {.socket = STDIN_FILENO};
    watch(&listener, EPOLLIN, EPOLL_CTL_ADD);
    watch(&parent, EPOLLIN, EPOLL_CTL_ADD);
    while (true) {
        int count = epoll_wait(epoll, events, most_events, -1);
        for (int i = 0; i < count; i++) {
            connection *ready = events[i].data.ptr;
            if (ready == &parent)
                return 0;
            if (ready == &listener)
                accept_all(listener.socket);
            else if (ready->is_waiting)
                send_rest(ready);
            else
                receive(ready);
        }
    }
}
