#ifndef LOOP_H
#define LOOP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

/// libcurl's multi-socket interface on one epoll set: the least work with which a program can drive libcurl.
typedef struct loop {
    CURLM *multi;
    int epoll;
    int64_t deadline_ns;                              ///< libcurl's timer, on the monotonic clock; -1: none.
    void (*done)(struct loop *, CURL *, CURLcode);    ///< Called for each finished transfer, outside of libcurl.
    bool keeps_finished;                              ///< Their connections are needed: they stay in the multi.
    void *context;
} loop;

/// `connections` bounds libcurl's cache of idle connections (CURLMOPT_MAXCONNECTS).
void loop_open(loop *loop, long connections);

/// Waits for at most `max_wait_ms` (-1: without end), hands libcurl what is ready, then calls `done` for what finished.
void loop_turn(loop *loop, int max_wait_ms);

#endif
