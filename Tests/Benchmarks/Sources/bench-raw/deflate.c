#include "socket.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { texts = 16 };

/// Lines of words in random order, the same as in the Swift clients. No two of the texts are alike.
static void fill(uint8_t *text, size_t size, uint32_t seed)
{
    static const char *words[] = {"price", "symbol", "volume", "change", "2026-11-22", "EUR", "bid", "ask"};
    size_t filled = 0;
    while (filled < size) {
        seed = seed * 1664525 + 1013904223;
        char piece[40];
        int length = snprintf(piece, sizeof piece, "\"%s\":%u,", words[seed >> 29], seed >> 12 & 0x3FFF);
        size_t count = (size_t)length < size - filled ? (size_t)length : size - filled;
        memcpy(text + filled, piece, count);
        filled += count;
    }
}

static size_t deflate_one(z_stream *stream, uint8_t *bytes, size_t size, uint8_t *target, size_t room)
{
    stream->next_in = bytes;
    stream->avail_in = (uInt)size;
    stream->next_out = target;
    stream->avail_out = (uInt)room;
    if (deflate(stream, Z_SYNC_FLUSH) != Z_OK || stream->avail_in)
        exit(1);
    return room - stream->avail_out;
}

static size_t inflate_one(z_stream *stream, uint8_t *bytes, size_t size, uint8_t *target, size_t room)
{
    stream->next_in = bytes;
    stream->avail_in = (uInt)size;
    stream->next_out = target;
    stream->avail_out = (uInt)room;
    if (inflate(stream, Z_SYNC_FLUSH) != Z_OK || stream->avail_in)
        exit(1);
    return room - stream->avail_out;
}

long deflate_alone(long messages, size_t size)
{
    // Made once: a web socket is open for long.
    static z_stream out, in;
    static uint8_t *text[texts], *compressed, *inflated;
    long wrong = 0;
    if (!compressed) {
        for (uint32_t i = 0; i < texts; i++)
            fill(text[i] = malloc(size), size, i);
        compressed = malloc(size + 1024);
        inflated = malloc(size + 1024);
        if (deflateInit2(&out, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) || inflateInit2(&in, -15))
            exit(1);
    }
    for (long i = 0; i < messages; i++) {
        size_t count = deflate_one(&out, text[i % texts], size, compressed, size + 1024);
        count = inflate_one(&in, compressed, count, inflated, size + 1024);
        if (count != size || memcmp(inflated, text[i % texts], size))
            wrong++;
    }
    return wrong;
}
