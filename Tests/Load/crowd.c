// What a request costs libcurl alone where very many connections are busy at once: `crowd PORT AT-EACH-ADDRESS CONNECTIONS REQUESTS`.
//
// For a `LoadServer` at this port of 127.0.0.1, 127.0.0.2 and so on, with so many connections to each address. Each connection has one request after the
// other. First each makes one that is answered when all have come, so that all are open. Prints the microseconds of CPU time for each request after that.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { batch = 128 };

static int set;
static CURLM *multi;
/// Of libcurl's timer, in microseconds; negative without one.
static double due = -1;

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static int watch(CURL *easy, curl_socket_t socket, int what, void *context, void *known) {
    (void)easy, (void)context;
    struct epoll_event event = {.data.fd = socket};
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    epoll_ctl(set, what == CURL_POLL_REMOVE ? EPOLL_CTL_DEL : known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
    if (!known && what != CURL_POLL_REMOVE) curl_multi_assign(multi, socket, &set);
    return 0;
}

static int set_timer(CURLM *multi, long milliseconds, void *context) {
    (void)multi, (void)context;
    due = milliseconds < 0 ? -1 : now(CLOCK_MONOTONIC) + milliseconds * 1e3;
    return 0;
}

static size_t take(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)context;
    return size * count;
}

/// Makes `requests` requests, `connections` at once.
static void run(CURL **easy, long connections, long requests) {
    long started = 0, ended = 0;
    int running;
    while (started < connections) curl_multi_add_handle(multi, easy[started++]);
    while (ended < requests) {
        struct epoll_event events[batch];
        double left = due < 0 ? 1e6 : due - now(CLOCK_MONOTONIC);
        int count = epoll_wait(set, events, batch, left < 0 ? 0 : (int)(left / 1e3 + 1));
        for (int index = 0; index < count; index++) {
            int action = 0;
            if (events[index].events & (EPOLLIN | EPOLLHUP)) action |= CURL_CSELECT_IN;
            if (events[index].events & EPOLLOUT) action |= CURL_CSELECT_OUT;
            if (events[index].events & EPOLLERR) action |= CURL_CSELECT_ERR;
            curl_multi_socket_action(multi, events[index].data.fd, action, &running);
        }
        if (due >= 0 && now(CLOCK_MONOTONIC) >= due) {
            due = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        CURLMsg *message;
        int remaining;
        while ((message = curl_multi_info_read(multi, &remaining))) {
            if (message->msg != CURLMSG_DONE) continue;
            if (message->data.result) {
                fprintf(stderr, "%s\n", curl_easy_strerror(message->data.result));
                exit(1);
            }
            CURL *done = message->easy_handle;
            ended++;
            curl_multi_remove_handle(multi, done);
            if (started < requests) curl_multi_add_handle(multi, done), started++;
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    long at_each = atol(argv[2]), connections = atol(argv[3]), requests = atol(argv[4]);
    set = epoll_create1(0);
    curl_global_init(CURL_GLOBAL_ALL);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections);
    CURL **easy = calloc((size_t)connections, sizeof *easy);
    char url[200];
    for (long index = 0; index < connections; index++) {
        easy[index] = curl_easy_init();
        snprintf(url, sizeof url, "http://127.0.0.%ld:%s/together/%ld", 1 + index / at_each, argv[1], connections);
        curl_easy_setopt(easy[index], CURLOPT_URL, url);
        curl_easy_setopt(easy[index], CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy[index], CURLOPT_WRITEFUNCTION, take);
    }
    run(easy, connections, connections);
    for (long index = 0; index < connections; index++) {
        snprintf(url, sizeof url, "http://127.0.0.%ld:%s/hello", 1 + index / at_each, argv[1]);
        curl_easy_setopt(easy[index], CURLOPT_URL, url);
    }
    double start = now(CLOCK_PROCESS_CPUTIME_ID);
    run(easy, connections, requests);
    printf("%.2f\n", (now(CLOCK_PROCESS_CPUTIME_ID) - start) / requests);
    return 0;
}
