#include "loop.h"

#include "meter.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum { batch = 1024 };

/// CURLMOPT_SOCKETFUNCTION. `known` is what `curl_multi_assign` stored: NULL for a socket that epoll has not seen yet.
static int watch(CURL *easy, curl_socket_t socket, int what, void *context, void *known)
{
    (void)easy;
    loop *loop = context;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, socket, NULL);
        return 0;
    }
    struct epoll_event event = {.data.fd = socket};
    if (what & CURL_POLL_IN)
        event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        event.events |= EPOLLOUT;
    epoll_ctl(loop->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
    if (!known)
        curl_multi_assign(loop->multi, socket, loop);
    return 0;
}

/// CURLMOPT_TIMERFUNCTION. A time of 0 means the next turn, never a call from inside this one.
static int set_timer(CURLM *multi, long milliseconds, void *context)
{
    (void)multi;
    loop *loop = context;
    loop->deadline_ns = milliseconds < 0 ? -1 : monotonic_ns() + (int64_t)milliseconds * 1000000;
    return 0;
}

void loop_open(loop *loop, long connections)
{
    loop->multi = curl_multi_init();
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->deadline_ns = -1;
    if (!loop->multi || loop->epoll < 0) {
        perror("loop");
        exit(1);
    }
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, connections);
}

/// How long epoll may sleep: until libcurl's timer, rounded up so that it never wakes too early.
static int wait_ms(const loop *loop, int max_wait_ms)
{
    if (loop->deadline_ns < 0)
        return max_wait_ms;
    int64_t left = loop->deadline_ns - monotonic_ns();
    int64_t milliseconds = left <= 0 ? 0 : (left + 999999) / 1000000;
    return max_wait_ms >= 0 && max_wait_ms < milliseconds ? max_wait_ms : (int)milliseconds;
}

static void report_finished(loop *loop)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(loop->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURL *easy = message->easy_handle;
        CURLcode code = message->data.result;
        if (!loop->keeps_finished)
            curl_multi_remove_handle(loop->multi, easy); // Invalidates `message`.
        loop->done(loop, easy, code);
    }
}

void loop_turn(loop *loop, int max_wait_ms)
{
    struct epoll_event events[batch];
    int running;
    int count = epoll_wait(loop->epoll, events, batch, wait_ms(loop, max_wait_ms));
    for (int i = 0; i < count; i++) {
        int bits = 0;
        if (events[i].events & EPOLLIN)
            bits |= CURL_CSELECT_IN;
        if (events[i].events & EPOLLOUT)
            bits |= CURL_CSELECT_OUT;
        if (events[i].events & (EPOLLERR | EPOLLHUP))
            bits |= CURL_CSELECT_ERR;
        curl_multi_socket_action(loop->multi, events[i].data.fd, bits, &running);
    }
    if (loop->deadline_ns >= 0 && monotonic_ns() >= loop->deadline_ns) {
        loop->deadline_ns = -1;
        curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    report_finished(loop);
}
