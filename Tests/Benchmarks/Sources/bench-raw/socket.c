#include "socket.h"

#include "meter.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

enum { most_header = 14, most_events = 1024, most_read = 64 * 1024 };
enum { binary = 0x2, ping = 0x9 };

typedef struct {
    CURL *easy;
    curl_socket_t socket;
    bool is_connected;
    uint8_t *output; ///< A frame that is to be sent.
    size_t output_start, output_end, output_capacity;
    uint8_t header[most_header];
    size_t header_count;
    uint8_t *message; ///< What has come of the message.
    size_t received, expected, capacity;
    long left; ///< Messages that this one is still to send, or to receive where none are sent back.
} web_socket;

struct sockets {
    int epoll;
    long count;
    long connected;
    web_socket *all;
    long running;
    long wrong;
    const uint8_t *payload;
    size_t size;
    bool only_receives;
};

static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void *allocate(size_t size)
{
    void *memory = malloc(size);
    if (!memory)
        die("out of memory");
    return memory;
}

// Opening

static void connected(loop *loop, CURL *easy, CURLcode code)
{
    sockets *sockets = loop->context;
    web_socket *socket = NULL;
    if (code != CURLE_OK)
        die(curl_easy_strerror(code));
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&socket);
    curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket->socket);
    sockets->connected++;
}

/// Sends what is whole in one piece, and waits for a whole head. Only while the web sockets are opened.
static void shake_hands(sockets *sockets, web_socket *socket, const char *url)
{
    char text[4096];
    size_t count = 0, filled = 0;
    const char *host = strstr(url, "//") + 2;
    const char *path = strchr(host, '/');
    int length = snprintf(text, sizeof text,
                          "GET %s HTTP/1.1\r\nHost: %.*s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                          path, (int)(path - host), host);
    if (curl_easy_send(socket->easy, text, (size_t)length, &count) != CURLE_OK || count != (size_t)length)
        die("the handshake can't be sent");
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = socket};
    if (epoll_ctl(sockets->epoll, EPOLL_CTL_ADD, socket->socket, &event))
        die("epoll_ctl");
    while (filled < 4 || memcmp(text + filled - 4, "\r\n\r\n", 4)) {
        struct epoll_event ready;
        CURLcode code = curl_easy_recv(socket->easy, text + filled, sizeof text - filled, &count);
        if (code == CURLE_AGAIN) {
            epoll_wait(sockets->epoll, &ready, 1, -1);
            continue;
        }
        if (code != CURLE_OK || !count)
            die("no answer to the handshake");
        filled += count;
    }
    if (strncmp(text, "HTTP/1.1 101 ", 13))
        die("the server doesn't open a web socket");
}

sockets *sockets_open(loop *loop, const char *url, long count)
{
    sockets *sockets = calloc(1, sizeof *sockets);
    if (!sockets || !(sockets->all = calloc((size_t)count, sizeof *sockets->all)))
        die("out of memory");
    sockets->count = count;
    sockets->epoll = epoll_create1(EPOLL_CLOEXEC);
    void *context = loop->context;
    void (*done)(struct loop *, CURL *, CURLcode) = loop->done;
    bool keeps = loop->keeps_finished;
    loop->context = sockets;
    loop->done = connected;
    loop->keeps_finished = true;
    for (long i = 0; i < count; i++) {
        CURL *easy = sockets->all[i].easy = curl_easy_init();
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_PRIVATE, &sockets->all[i]);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
        curl_multi_add_handle(loop->multi, easy);
    }
    while (sockets->connected < count)
        loop_turn(loop, -1);
    loop->context = context;
    loop->done = done;
    loop->keeps_finished = keeps;
    for (long i = 0; i < count; i++)
        shake_hands(sockets, &sockets->all[i], url);
    return sockets;
}

// Sending

/// A masking key that nobody can foresee (RFC 6455 §10.3).
static uint32_t next_mask(void)
{
    static uint32_t keys[64];
    static size_t left;
    if (!left) {
        if (getrandom(keys, sizeof keys, 0) != sizeof keys)
            die("no random numbers");
        left = sizeof keys / sizeof *keys;
    }
    return keys[--left];
}

static void write_frame(web_socket *socket, uint8_t opcode, const uint8_t *payload, size_t size)
{
    uint32_t mask = next_mask();
    uint64_t wide = (uint64_t)mask << 32 | mask;
    if (socket->output_capacity < size + most_header) {
        free(socket->output);
        socket->output_capacity = size + most_header;
        socket->output = allocate(socket->output_capacity);
    }
    uint8_t *target = socket->output;
    *target++ = 0x80 | opcode;
    if (size <= 125) {
        *target++ = 0x80 | (uint8_t)size;
    } else if (size <= 0xFFFF) {
        *target++ = 0x80 | 126;
        *target++ = (uint8_t)(size >> 8);
        *target++ = (uint8_t)size;
    } else {
        *target++ = 0x80 | 127;
        for (int shift = 56; shift >= 0; shift -= 8)
            *target++ = (uint8_t)(size >> shift);
    }
    memcpy(target, &mask, 4);
    target += 4;
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, payload + i, 8);
        word ^= wide;
        memcpy(target + i, &word, 8);
    }
    for (; i < size; i++)
        target[i] = payload[i] ^ ((uint8_t *)&mask)[i % 4];
    socket->output_start = 0;
    socket->output_end = (size_t)(target - socket->output) + size;
}

static void send_rest(sockets *sockets, web_socket *socket)
{
    while (socket->output_start < socket->output_end) {
        size_t count = 0;
        CURLcode code = curl_easy_send(socket->easy, socket->output + socket->output_start,
                                       socket->output_end - socket->output_start, &count);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = socket};
        if (code == CURLE_AGAIN) {
            epoll_ctl(sockets->epoll, EPOLL_CTL_MOD, socket->socket, &event);
            return;
        }
        if (code != CURLE_OK)
            die("a message can't be sent");
        socket->output_start += count;
    }
}

static void send_next(sockets *sockets, web_socket *socket)
{
    if (!socket->left) {
        sockets->running--;
        return;
    }
    socket->left--;
    write_frame(socket, binary, sockets->payload, sockets->size);
    send_rest(sockets, socket);
}

// Receiving

/// How long the server's header is, by as much of it as has come.
static size_t header_size(const web_socket *socket)
{
    if (socket->header_count < 2)
        return 2;
    return socket->header[1] == 126 ? 4 : socket->header[1] == 127 ? 10 : 2;
}

/// The next message has come.
static void received(sockets *sockets, web_socket *socket)
{
    if (!sockets->only_receives)
        send_next(sockets, socket);
    else if (!--socket->left)
        sockets->running--;
}

static void begin_message(web_socket *socket)
{
    size_t size = header_size(socket);
    socket->expected = socket->header[1];
    if (size > 2) {
        socket->expected = 0;
        for (size_t i = 2; i < size; i++)
            socket->expected = socket->expected << 8 | socket->header[i];
    }
    if (socket->capacity < socket->expected) {
        free(socket->message);
        socket->capacity = socket->expected;
        socket->message = allocate(socket->capacity);
    }
    socket->received = 0;
}

static void receive(sockets *sockets, web_socket *socket)
{
    static uint8_t input[most_read];
    size_t count;
    CURLcode code;
    while ((code = curl_easy_recv(socket->easy, input, sizeof input, &count)) == CURLE_OK && count) {
        const uint8_t *bytes = input;
        while (count) {
            if (socket->header_count < header_size(socket)) {
                socket->header[socket->header_count++] = *bytes++;
                count--;
                if (socket->header_count == header_size(socket))
                    begin_message(socket);
                continue;
            }
            size_t piece = socket->expected - socket->received;
            piece = piece < count ? piece : count;
            memcpy(socket->message + socket->received, bytes, piece);
            socket->received += piece;
            bytes += piece;
            count -= piece;
            if (socket->received < socket->expected)
                continue;
            socket->header_count = 0;
            if (socket->expected != sockets->size || memcmp(socket->message, sockets->payload, sockets->size))
                sockets->wrong++;
            received(sockets, socket);
        }
    }
    if (code != CURLE_AGAIN)
        die("a web socket was lost");
}

static void turn(sockets *sockets, int max_wait_ms)
{
    struct epoll_event events[most_events];
    int count = epoll_wait(sockets->epoll, events, most_events, max_wait_ms);
    for (int i = 0; i < count; i++) {
        web_socket *socket = events[i].data.ptr;
        if (events[i].events & EPOLLOUT) {
            struct epoll_event event = {.events = EPOLLIN, .data.ptr = socket};
            epoll_ctl(sockets->epoll, EPOLL_CTL_MOD, socket->socket, &event);
            send_rest(sockets, socket);
        }
        if (events[i].events & EPOLLIN)
            receive(sockets, socket);
    }
}

long sockets_echo(sockets *sockets, long messages, size_t size)
{
    uint8_t *payload = allocate(size);
    memset(payload, 'a', size);
    sockets->payload = payload;
    sockets->size = size;
    sockets->wrong = 0;
    sockets->running = sockets->count;
    for (long i = 0; i < sockets->count; i++) {
        sockets->all[i].left = messages / sockets->count + (i < messages % sockets->count);
        send_next(sockets, &sockets->all[i]);
    }
    while (sockets->running)
        turn(sockets, -1);
    free(payload);
    return sockets->wrong;
}

/// Waits until the system has the frame.
static void send_whole(sockets *sockets, web_socket *socket)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = socket};
    send_rest(sockets, socket);
    while (socket->output_start < socket->output_end) {
        epoll_wait(sockets->epoll, &event, 1, -1);
        send_rest(sockets, socket);
    }
}

long sockets_send(sockets *sockets, long messages, size_t size)
{
    web_socket *socket = &sockets->all[0];
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = socket};
    uint8_t *payload = allocate(size), pong[2];
    memset(payload, 'a', size);
    for (long i = 0; i < messages; i++) {
        write_frame(socket, binary, payload, size);
        send_whole(sockets, socket);
    }
    free(payload);
    write_frame(socket, ping, NULL, 0);
    send_whole(sockets, socket);
    epoll_ctl(sockets->epoll, EPOLL_CTL_MOD, socket->socket, &event);
    for (size_t count = 0, filled = 0; filled < sizeof pong; filled += count) {
        CURLcode code = curl_easy_recv(socket->easy, pong + filled, sizeof pong - filled, &count);
        if (code == CURLE_AGAIN)
            epoll_wait(sockets->epoll, &event, 1, -1);
        else if (code != CURLE_OK || !count)
            die("no pong");
    }
    return pong[0] != 0x8A || pong[1] != 0;
}

long sockets_receive(sockets *sockets, long messages, size_t size)
{
    web_socket *socket = &sockets->all[0];
    uint64_t order[2] = {(uint64_t)messages, size};
    uint8_t *payload = allocate(size);
    memset(payload, 'a', size);
    sockets->payload = payload;
    sockets->size = size;
    sockets->wrong = 0;
    sockets->running = 1;
    sockets->only_receives = true;
    socket->left = messages;
    write_frame(socket, binary, (const uint8_t *)order, sizeof order);
    send_whole(sockets, socket);
    while (sockets->running)
        turn(sockets, -1);
    free(payload);
    return sockets->wrong;
}

long sockets_wait(sockets *sockets, long milliseconds)
{
    int64_t end = monotonic_ns() + milliseconds * 1000000;
    long ready = 0;
    for (int64_t left; (left = end - monotonic_ns()) > 0;) {
        struct epoll_event event;
        ready += epoll_wait(sockets->epoll, &event, 1, (int)(left / 1000000) + 1) > 0;
    }
    return ready;
}
