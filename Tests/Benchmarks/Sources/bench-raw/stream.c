#include "stream.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { piece = 64 * 1024 };

static void wait_for(CURL *easy, short events)
{
    curl_socket_t socket = -1;
    curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket);
    struct pollfd poller = {.fd = socket, .events = events};
    poll(&poller, 1, -1);
}

static CURLcode send_all(CURL *easy, const char *text)
{
    size_t length = strlen(text);
    while (length) {
        size_t sent = 0;
        CURLcode code = curl_easy_send(easy, text, length, &sent);
        if (code == CURLE_AGAIN)
            wait_for(easy, POLLOUT);
        else if (code != CURLE_OK)
            return code;
        text += sent;
        length -= sent;
    }
    return CURLE_OK;
}

/// Reads each time until nothing is left, as a loop with epoll would.
static long receive_all(CURL *easy, char *buffer)
{
    for (long total = 0;;) {
        size_t received = 0;
        CURLcode code = curl_easy_recv(easy, buffer, piece, &received);
        if (code == CURLE_AGAIN)
            wait_for(easy, POLLIN);
        else if (code != CURLE_OK)
            return -1;
        else if (!received)
            return total;
        total += (long)received;
    }
}

long stream_read(const char *url)
{
    char request[512];
    const char *authority = strstr(url, "://");
    const char *path = authority ? strchr(authority + 3, '/') : NULL;
    char *buffer = malloc(piece);
    CURL *easy = curl_easy_init();
    long total = -1;
    if (buffer && easy) {
        snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path ? path : "/");
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
        curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)piece);
        if (curl_easy_perform(easy) == CURLE_OK && send_all(easy, request) == CURLE_OK)
            total = receive_all(easy, buffer);
    }
    curl_easy_cleanup(easy);
    free(buffer);
    return total;
}
