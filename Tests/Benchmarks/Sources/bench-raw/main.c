// The floor: libcurl's multi-socket interface on one epoll set in C, with nothing above it.
//
// It warms up, prints "ready", and then measures one slice of its work for each line that it reads, and prints the
// result as one line of JSON. `--version` prints libcurl's version and its default CA bundle.

#include "arguments.h"
#include "scenarios.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int print_version(void)
{
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    printf("%s\n%s\n", curl_version(), info->age >= CURLVERSION_NINTH && info->cainfo ? info->cainfo : "");
    return 0;
}

/// Prints `text` as a JSON string; control characters become spaces.
static void print_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar((unsigned char)*text < ' ' ? ' ' : *text);
    }
    putchar('"');
}

static void print_outcome(const outcome *outcome)
{
    printf("{\"cpuNanoseconds\":%" PRId64 ",\"wallNanoseconds\":%" PRId64, outcome->meter.cpu_ns,
           outcome->meter.wall_ns);
    printf(",\"baselineKiB\":%ld,\"peakKiB\":%ld", outcome->meter.baseline_kib, outcome->meter.peak_kib);
    printf(",\"p99Nanoseconds\":%" PRId64, outcome->p99_ns);
    printf(",\"failures\":%ld,\"protocol\":", outcome->failures);
    print_string(outcome->protocol);
    fputs(",\"error\":", stdout);
    print_string(outcome->error);
    puts("}");
}

int main(int argc, char **argv)
{
    char line[16];
    setvbuf(stdout, NULL, _IOLBF, 0);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (argc == 2 && !strcmp(argv[1], "--version"))
        return print_version();
    signal(SIGPIPE, SIG_IGN);
    arguments arguments = parse_arguments(argc, argv);
    child *child = child_open(&arguments);
    puts("ready");
    while (fgets(line, sizeof line, stdin))
        print_outcome(child_slice(child));
    _exit(0); // Tearing thousands of transfers down is not part of any case.
}
