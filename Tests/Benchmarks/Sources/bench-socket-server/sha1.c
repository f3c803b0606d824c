#include "sha1.h"

#include <stdint.h>
#include <string.h>

static uint32_t rotated(uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

/// FIPS 180-4, for one block of 64 bytes.
static void hash_block(uint32_t hash[5], const uint8_t *block)
{
    uint32_t words[80];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
                   block[4 * i + 3];
    for (int i = 16; i < 80; i++)
        words[i] = rotated(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4];
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 || i >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
        uint32_t k = i < 20 ? 0x5A827999 : i < 40 ? 0x6ED9EBA1 : i < 60 ? 0x8F1BBCDC : 0xCA62C1D6;
        uint32_t next = rotated(a, 5) + f + e + k + words[i];
        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = next;
    }
    hash[0] += a;
    hash[1] += b;
    hash[2] += c;
    hash[3] += d;
    hash[4] += e;
}

static void base64(const uint8_t bytes[20], char text[29])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0, o = 0; i < 20; i += 3, o += 4) {
        uint32_t group = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | (i + 2 < 20 ? bytes[i + 2] : 0);
        for (int digit = 0; digit < 4; digit++)
            text[o + digit] = digits[group >> (18 - 6 * digit) & 63];
    }
    text[27] = '=';
    text[28] = '\0';
}

void websocket_accept(const char key[24], char accept[29])
{
    // Key and GUID have 60 bytes: two blocks with the padding and the length.
    uint8_t message[128] = {0};
    uint32_t hash[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    uint8_t digest[20];
    memcpy(message, key, 24);
    memcpy(message + 24, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", 36);
    message[60] = 0x80;
    message[126] = 60 * 8 >> 8;
    message[127] = (uint8_t)(60 * 8);
    hash_block(hash, message);
    hash_block(hash, message + 64);
    for (int i = 0; i < 20; i++)
        digest[i] = (uint8_t)(hash[i / 4] >> (24 - 8 * (i % 4)));
    base64(digest, accept);
}
