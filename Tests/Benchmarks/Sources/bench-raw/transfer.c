#include "transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

transfer *transfer_new(void)
{
    transfer *result = calloc(1, sizeof *result);
    if (!result || !(result->easy = curl_easy_init())) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    result->sink = result->source = -1;
    return result;
}

static bool reserve(transfer *transfer, size_t more)
{
    size_t needed = transfer->length + more;
    if (needed <= transfer->capacity)
        return true;
    curl_off_t announced = -1;
    curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    size_t capacity = announced > 0 && (size_t)announced >= needed ? (size_t)announced : 2 * needed;
    char *body = realloc(transfer->body, capacity);
    if (!body)
        return false;
    transfer->body = body;
    transfer->capacity = capacity;
    return true;
}

/// CURLOPT_WRITEFUNCTION into memory: the one copy of a body.
static size_t append(char *bytes, size_t size, size_t count, void *context)
{
    (void)size;
    transfer *transfer = context;
    if (!transfer->length && transfer->first_bytes)
        transfer->first_bytes(transfer->context);
    if (!reserve(transfer, count))
        return 0;
    memcpy(transfer->body + transfer->length, bytes, count);
    transfer->length += count;
    return count;
}

/// CURLOPT_WRITEFUNCTION into a file, straight from libcurl's buffer.
static size_t write_out(char *bytes, size_t size, size_t count, void *context)
{
    (void)size;
    transfer *transfer = context;
    if (!transfer->length && transfer->first_bytes)
        transfer->first_bytes(transfer->context);
    for (size_t done = 0; done < count;) {
        ssize_t written = write(transfer->sink, bytes + done, count - done);
        if (written <= 0)
            return 0;
        done += (size_t)written;
    }
    transfer->length += count;
    return count;
}

/// CURLOPT_READFUNCTION, straight into libcurl's buffer.
static size_t read_in(char *bytes, size_t size, size_t count, void *context)
{
    transfer *transfer = context;
    ssize_t got = read(transfer->source, bytes, size * count);
    return got < 0 ? CURL_READFUNC_ABORT : (size_t)got;
}

/// As long as the other contenders'.
static const char *user_agent(void)
{
    static char text[64];
    if (!*text)
        snprintf(text, sizeof text, "bench-raw (unknown version) curl/%s", curl_version_info(CURLVERSION_NOW)->version);
    return text;
}

void transfer_prepare(transfer *transfer, const arguments *arguments, const char *url)
{
    static struct curl_slist *language, *upload;
    if (!language) {
        language = curl_slist_append(NULL, "Accept-Language: en");
        upload = curl_slist_append(curl_slist_append(NULL, "Accept-Language: en"), "Expect:");
    }
    CURL *easy = transfer->easy;
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, strncmp(url, "https:", 6) ? 0L : 1L);
    // All contenders send the same fields: URLSession's defaults.
    curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent());
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->source < 0 ? language : upload);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, transfer->sink < 0 ? append : write_out);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    // Debian's libcurl has a default CApath besides the bundle, and with a CApath it does not keep the parsed bundle.
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    if (arguments->buffer > 0) {
        curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, arguments->buffer);
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, arguments->buffer);
    }
    if (transfer->source >= 0) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_in);
        curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, transfer->source_length);
    }
}

bool transfer_succeeded(const transfer *transfer, CURLcode code, long expect)
{
    long status = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return code == CURLE_OK && status / 100 == 2 && (expect < 0 || transfer->length == (size_t)expect);
}

void transfer_clear(transfer *transfer)
{
    free(transfer->body);
    transfer->body = NULL;
    transfer->length = transfer->capacity = 0;
}
