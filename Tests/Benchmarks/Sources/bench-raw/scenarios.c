#include "scenarios.h"

#include "loop.h"
#include "stream.h"
#include "socket.h"
#include "transfer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct child {
    const arguments *arguments;
    void (*slice)(child *);
    outcome outcome;
    loop loop;
    transfer *pool;
    sockets *sockets;
    const char *url;
    long to_start;     ///< Requests of this batch not yet started.
    long running;
    long expect;
    long with_bytes;   ///< `slow`: transfers that have received their first bytes.
    int nowhere;       ///< /dev/null, where something goes on beside the requests.
    int sink;
    bool makes_files;  ///< `files`: each transfer has a sink of its own.
    long files;        ///< How many have been made in this slice.
    int source;
    curl_off_t source_length;
    int64_t *times_ns; ///< What each request of the slice took, where that is taken.
    long timed;
    bool has_reported;
    bool must_fail;    ///< `handshake`: only a refused certificate counts as success.
};

static void note_failure(child *child, const char *text)
{
    if (!child->outcome.failures++)
        snprintf(child->outcome.error, sizeof child->outcome.error, "%s", text);
}

static void count_first_bytes(void *context)
{
    ((child *)context)->with_bytes++;
}

static transfer *take_transfer(child *child)
{
    transfer *transfer = child->pool;
    if (transfer)
        child->pool = transfer->next_free;
    else
        transfer = transfer_new();
    transfer->first_bytes = count_first_bytes;
    transfer->context = child;
    transfer->is_beside = false;
    return transfer;
}

static void start_beside(child *child, transfer *transfer)
{
    transfer->is_beside = true;
    transfer->sink = child->nowhere;
    transfer->source = -1;
    transfer_prepare(transfer, child->arguments, child->arguments->beside);
    curl_multi_add_handle(child->loop.multi, transfer->easy);
}

/// The name of the nth file that bodies go to, in $TMPDIR.
static const char *file_name(long number)
{
    static char path[4096];
    const char *directory = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/raw-%ld-%ld", directory ? directory : "/tmp", (long)getpid(), number);
    return path;
}

static int make_file(child *child)
{
    int file = open(file_name(child->files++), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        perror("a file for a body");
        exit(1);
    }
    return file;
}

static transfer *start_one(child *child)
{
    transfer *transfer = take_transfer(child);
    transfer->sink = child->makes_files ? make_file(child) : child->sink;
    transfer->source = child->source;
    transfer->source_length = child->source_length;
    transfer->started_ns = child->times_ns ? monotonic_ns() : 0;
    transfer_prepare(transfer, child->arguments, child->url);
    child->to_start--;
    child->running++;
    curl_multi_add_handle(child->loop.multi, transfer->easy);
    return transfer;
}

/// The loop's `done`: checks the result, returns the transfer to the pool and starts the next request.
static void finish_one(loop *loop, CURL *easy, CURLcode code)
{
    child *child = loop->context;
    transfer *transfer = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
    if (transfer->is_beside) {
        if (!transfer_succeeded(transfer, code, -1))
            note_failure(child, "a transfer beside the others failed");
        transfer_clear(transfer);
        return start_beside(child, transfer);
    }
    if (child->times_ns)
        child->times_ns[child->timed++] = monotonic_ns() - transfer->started_ns;
    bool as_expected = child->must_fail ? code == CURLE_PEER_FAILED_VERIFICATION
                                        : transfer_succeeded(transfer, code, child->expect);
    if (!as_expected)
        note_failure(child, code == CURLE_OK ? "wrong status or length" : curl_easy_strerror(code));
    if (child->arguments->probe && child->url == child->arguments->probe && transfer->body)
        snprintf(child->outcome.protocol, sizeof child->outcome.protocol, "%.*s", (int)transfer->length,
                 transfer->body);
    if (child->makes_files)
        close(transfer->sink);
    transfer_clear(transfer);
    transfer->next_free = child->pool;
    child->pool = transfer;
    child->running--;
    if (child->to_start)
        start_one(child);
}

/// Runs `count` requests with `in_flight` at once and returns when the last has finished.
static void run_batch(child *child, const char *url, long count, long in_flight, long expect)
{
    child->url = url;
    child->expect = expect;
    child->to_start = count;
    while (child->to_start && child->running < in_flight)
        start_one(child);
    while (child->running)
        loop_turn(&child->loop, -1);
}

static void run_for(child *child, int64_t milliseconds)
{
    int64_t end = monotonic_ns() + milliseconds * 1000000;
    for (int64_t left; (left = end - monotonic_ns()) > 0;)
        loop_turn(&child->loop, (int)(left / 1000000) + 1);
}

static int compare_times(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void get(child *child)
{
    const arguments *arguments = child->arguments;
    if (arguments->times && !child->times_ns && !(child->times_ns = calloc((size_t)arguments->requests, sizeof(int64_t))))
        exit(1);
    child->timed = 0;
    meter_start(&child->outcome.meter);
    run_batch(child, arguments->url, arguments->requests, arguments->in_flight, arguments->expect);
    meter_stop(&child->outcome.meter);
    if (!child->timed)
        return;
    qsort(child->times_ns, (size_t)child->timed, sizeof *child->times_ns, compare_times);
    child->outcome.p99_ns = child->times_ns[child->timed * 99 / 100];
}

/// Has what goes on beside the requests begin, and waits until all of it has received something.
static void go_on_beside(child *child)
{
    const arguments *arguments = child->arguments;
    child->nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    child->with_bytes = 0;
    for (long i = 0; i < arguments->besides; i++)
        start_beside(child, take_transfer(child));
    while (child->with_bytes < arguments->besides)
        loop_turn(&child->loop, -1);
}

/// The body goes to a file in $TMPDIR, which is removed after the clocks have stopped.
static void download(child *child)
{
    char path[4096];
    const char *directory = getenv("TMPDIR");
    meter_start(&child->outcome.meter);
    snprintf(path, sizeof path, "%s/raw-XXXXXX", directory ? directory : "/tmp");
    child->sink = mkostemp(path, O_CLOEXEC);
    run_batch(child, child->arguments->url, 1, 1, child->arguments->expect);
    close(child->sink);
    meter_stop(&child->outcome.meter);
    child->sink = -1;
    unlink(path);
}

/// Each body goes to a file of its own, which are removed after the clocks have stopped.
static void files(child *child)
{
    const arguments *arguments = child->arguments;
    child->makes_files = true;
    child->files = 0;
    meter_start(&child->outcome.meter);
    run_batch(child, arguments->url, arguments->requests, arguments->in_flight, arguments->expect);
    meter_stop(&child->outcome.meter);
    child->makes_files = false;
    for (long number = 0; number < child->files; number++)
        unlink(file_name(number));
}

static void upload(child *child)
{
    struct stat status;
    meter_start(&child->outcome.meter);
    child->source = open(child->arguments->file ? child->arguments->file : "", O_RDONLY | O_CLOEXEC);
    if (child->source < 0 || fstat(child->source, &status)) {
        perror("the file to upload");
        exit(1);
    }
    child->source_length = status.st_size;
    run_batch(child, child->arguments->url, 1, 1, child->arguments->expect);
    close(child->source);
    meter_stop(&child->outcome.meter);
    child->source = -1;
}

/// Starts all transfers, waits until each has its first bytes, and holds them for a while: all are open at once.
static void slow(child *child)
{
    meter_start(&child->outcome.meter);
    child->url = child->arguments->url;
    child->expect = -1;
    child->to_start = child->arguments->requests;
    while (child->to_start)
        start_one(child);
    child->with_bytes = 0;
    while (child->with_bytes < child->arguments->requests && child->running)
        loop_turn(&child->loop, -1);
    run_for(child, child->arguments->seconds * 1000);
    meter_stop(&child->outcome.meter);
    if (child->running < child->arguments->requests)
        note_failure(child, "a slow transfer ended early");
}

static void handshake(child *child)
{
    const arguments *arguments = child->arguments;
    meter_start(&child->outcome.meter);
    run_batch(child, arguments->url, arguments->requests, arguments->in_flight, -1);
    meter_stop(&child->outcome.meter);
}

/// The server accepts and never answers. The clocks start once the process has become quiet.
static void idle(child *child)
{
    long count = child->arguments->requests;
    CURL **handles = calloc((size_t)count, sizeof *handles);
    if (!handles)
        exit(1);
    child->url = child->arguments->url;
    child->to_start = count;
    for (long i = 0; i < count; i++)
        handles[i] = start_one(child)->easy;
    run_for(child, 1000);
    for (long i = 0; child->arguments->suspend && i < count; i++)
        curl_easy_pause(handles[i], CURLPAUSE_ALL);
    run_for(child, 1000);
    meter_start(&child->outcome.meter);
    run_for(child, child->arguments->seconds * 1000);
    meter_stop(&child->outcome.meter);
    if (child->running < count)
        note_failure(child, "a waiting transfer ended");
    free(handles);
}

/// The head comes before what is expected.
static void stream(child *child)
{
    meter_start(&child->outcome.meter);
    if (stream_read(child->arguments->url) < child->arguments->expect)
        note_failure(child, "the stream broke off");
    meter_stop(&child->outcome.meter);
}

static void note_wrong(child *child, long count)
{
    for (long i = 0; i < count; i++)
        note_failure(child, "a message came back wrong");
}

static void echo(child *child)
{
    const arguments *arguments = child->arguments;
    meter_start(&child->outcome.meter);
    note_wrong(child, sockets_echo(child->sockets, arguments->requests, (size_t)arguments->size));
    meter_stop(&child->outcome.meter);
}

/// Messages in one direction, over one web socket.
static void send_messages(child *child)
{
    const arguments *arguments = child->arguments;
    meter_start(&child->outcome.meter);
    note_wrong(child, sockets_send(child->sockets, arguments->requests, (size_t)arguments->size));
    meter_stop(&child->outcome.meter);
}

static void receive_messages(child *child)
{
    const arguments *arguments = child->arguments;
    meter_start(&child->outcome.meter);
    note_wrong(child, sockets_receive(child->sockets, arguments->requests, (size_t)arguments->size));
    meter_stop(&child->outcome.meter);
}

/// zlib alone.
static void deflate_only(child *child)
{
    const arguments *arguments = child->arguments;
    meter_start(&child->outcome.meter);
    note_wrong(child, deflate_alone(arguments->requests, (size_t)arguments->size));
    meter_stop(&child->outcome.meter);
}

/// What each of many open web sockets takes.
static void open_sockets(child *child)
{
    meter_start(&child->outcome.meter);
    child->sockets = sockets_open(&child->loop, child->arguments->url, child->arguments->requests);
    note_wrong(child, sockets_wait(child->sockets, child->arguments->seconds * 1000));
    meter_stop(&child->outcome.meter);
}

/// The same number of them, while nothing happens.
static void silence(child *child)
{
    child->sockets = sockets_open(&child->loop, child->arguments->url, child->arguments->requests);
    sockets_wait(child->sockets, 1000);
    meter_start(&child->outcome.meter);
    note_wrong(child, sockets_wait(child->sockets, child->arguments->seconds * 1000));
    meter_stop(&child->outcome.meter);
}

static void warm_up(child *child)
{
    const arguments *arguments = child->arguments;
    if (arguments->probe)
        run_batch(child, arguments->probe, 1, 1, -1);
    if (arguments->warmup)
        run_batch(child, arguments->warmup, 1, 1, -1);
    if (arguments->beside)
        go_on_beside(child);
    if (child->slice == get)
        run_batch(child, arguments->url, 2 * arguments->in_flight, arguments->in_flight, arguments->expect);
    if (child->slice == echo) {
        child->sockets = sockets_open(&child->loop, arguments->url, arguments->in_flight);
        note_wrong(child, sockets_echo(child->sockets, 2 * arguments->in_flight, (size_t)arguments->size));
    }
    if (child->slice == send_messages || child->slice == receive_messages) {
        child->sockets = sockets_open(&child->loop, arguments->url, 1);
        child->slice(child);
    }
    if (child->slice == open_sockets)
        sockets_open(&child->loop, arguments->url, 1);
    if (child->slice == deflate_only)
        note_wrong(child, deflate_alone(32, (size_t)arguments->size));
    child->must_fail = child->slice == handshake;
    if (child->must_fail)
        run_batch(child, arguments->url, 2, 1, -1);
}

child *child_open(const arguments *arguments)
{
    static const struct {
        const char *name;
        void (*slice)(child *);
    } scenarios[] = {
        {"get", get},   {"download", download},   {"upload", upload}, {"files", files},
        {"slow", slow}, {"handshake", handshake}, {"idle", idle},
        {"stream", stream},
        {"echo", echo}, {"deflate", deflate_only}, {"sockets", open_sockets},
        {"silence", silence}, {"send", send_messages}, {"receive", receive_messages}, {"background", download},
    };
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(arguments->scenario, scenarios[i].name))
            continue;
        child *child = calloc(1, sizeof *child);
        if (!child)
            break;
        child->arguments = arguments;
        child->slice = scenarios[i].slice;
        child->sink = child->source = -1;
        child->loop.done = finish_one;
        child->loop.context = child;
        loop_open(&child->loop, arguments->in_flight + arguments->besides + 8);
        warm_up(child);
        return child;
    }
    fprintf(stderr, "unknown scenario %s\n", arguments->scenario);
    exit(2);
}

const outcome *child_slice(child *child)
{
    if (child->has_reported) { // What went wrong during the warm-up belongs to the first slice.
        child->outcome.failures = 0;
        child->outcome.error[0] = '\0';
    }
    child->has_reported = true;
    child->slice(child);
    return &child->outcome;
}
