// What threads that share nothing but the machine get from the same server with libcurl: `threads THREADS COUNT AUTHORITY URL URL`.
//
// Each URL is loaded COUNT times, one after the other, and decoded; each https one over a connection of its own, with a handshake of its own, for which
// AUTHORITY is trusted. One thread loads from both at once; of two, each loads from one. Prints the seconds that it took.
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long count;
static const char *authority;
static int urls_of_each;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static size_t take(char *bytes, size_t size, size_t items, void *context) {
    (void)bytes, (void)context;
    return size * items;
}

static CURL *handle(const char *url, long *left) {
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, left);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L << 10);
    curl_easy_setopt(easy, CURLOPT_CAINFO, authority);
    if (!strncmp(url, "https", 5)) {
        curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
        curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    }
    return easy;
}

/// Of one thread: loads from the first `urls_of_each` of these.
static void *load(void *context) {
    char **urls = context;
    CURLM *multi = curl_multi_init();
    CURL *easy[2];
    long left[2];
    for (int index = 0; index < urls_of_each; index++) {
        left[index] = count;
        easy[index] = handle(urls[index], &left[index]);
        curl_multi_add_handle(multi, easy[index]);
    }
    int running = urls_of_each;
    while (running) {
        curl_multi_perform(multi, &running);
        CURLMsg *message;
        int remaining;
        while ((message = curl_multi_info_read(multi, &remaining))) {
            if (message->data.result) {
                fprintf(stderr, "%s\n", curl_easy_strerror(message->data.result));
                exit(1);
            }
            CURL *done = message->easy_handle;
            long *left_of_it;
            curl_easy_getinfo(done, CURLINFO_PRIVATE, &left_of_it);
            curl_multi_remove_handle(multi, done);
            if (--*left_of_it) curl_multi_add_handle(multi, done), running++;
        }
        if (running) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    for (int index = 0; index < urls_of_each; index++) curl_easy_cleanup(easy[index]);
    curl_multi_cleanup(multi);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    int threads = atoi(argv[1]);
    count = atol(argv[2]), authority = argv[3];
    urls_of_each = threads == 2 ? 1 : 2;
    curl_global_init(CURL_GLOBAL_ALL);
    double start = now();
    pthread_t other;
    if (threads == 2 && pthread_create(&other, NULL, load, argv + 5)) return 1;
    load(argv + 4);
    if (threads == 2) pthread_join(other, NULL);
    printf("%.6f\n", now() - start);
    return 0;
}
