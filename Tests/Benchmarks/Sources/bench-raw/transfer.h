#ifndef TRANSFER_H
#define TRANSFER_H

#include "arguments.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

/// One pooled easy handle and where its body goes. Found again through CURLOPT_PRIVATE.
typedef struct transfer {
    CURL *easy;
    char *body;           ///< Reserved from Content-Length with the first chunk, freed by `transfer_clear`.
    size_t length;        ///< Body bytes received, in memory or in the file.
    size_t capacity;
    int sink;             ///< Descriptor of the file that the body goes to, or -1 for memory.
    int source;           ///< Descriptor of the file that is sent, or -1.
    curl_off_t source_length;
    struct transfer *next_free;
    void (*first_bytes)(void *); ///< Called with the first body bytes when not NULL.
    void *context;
    int64_t started_ns;
    bool is_beside;              ///< One of those that go on while others are measured.
    char error[CURL_ERROR_SIZE];
} transfer;

/// A transfer with an easy handle of its own; exits when memory is exhausted.
transfer *transfer_new(void);

/// Resets the easy handle and writes every option of one request onto it, as a session does for each task.
void transfer_prepare(transfer *transfer, const arguments *arguments, const char *url);

/// True when the body has the expected length and the status is a success.
bool transfer_succeeded(const transfer *transfer, CURLcode code, long expect);

/// Frees the body; the handle stays for the next request.
void transfer_clear(transfer *transfer);

#endif
