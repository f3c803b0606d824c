#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <stdbool.h>

/// What the driver asks of one child, as `--name value` pairs; the Swift clients take the same ones.
typedef struct {
    const char *scenario; ///< get, download, files, upload, slow, handshake, idle, echo, deflate, sockets or silence.
    const char *url;
    const char *probe;    ///< A URL whose body names the protocol spoken, or NULL.
    const char *warmup;   ///< A small URL fetched once before a large transfer, or NULL.
    const char *file;     ///< The file to upload, or NULL.
    const char *beside;   ///< `get`: a URL that is fetched over and over meanwhile, or NULL.
    long besides;         ///< How often at once.
    long requests;
    long in_flight;
    long expect;          ///< Bytes that every response body must have; -1: not checked.
    long buffer;          ///< CURLOPT_BUFFERSIZE and CURLOPT_UPLOAD_BUFFERSIZE; 0: libcurl's default.
    long seconds;         ///< How long to hold the state that `slow` and `idle` measure.
    long size;            ///< Bytes of each message, for web sockets.
    bool times;           ///< `get`: take the time of each request.
    bool suspend;         ///< `idle`: pause every transfer first.
} arguments;

/// Exits with a message when an argument is unknown or lacks its value.
arguments parse_arguments(int argc, char **argv);

#endif
