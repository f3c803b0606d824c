#include "meter.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

int64_t process_cpu_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/// The value in KiB of one line of /proc/self/status, such as "VmHWM:"; 0 when it cannot be read.
static long status_kib(const char *label)
{
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    long kib = 0;
    if (!status)
        return 0;
    while (fgets(line, sizeof line, status)) {
        if (!strncmp(line, label, strlen(label))) {
            sscanf(line + strlen(label), "%ld", &kib);
            break;
        }
    }
    fclose(status);
    return kib;
}

/// https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html: 5 resets the peak resident set size.
static void forget_peak(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t written = write(file, "5", 1);
    (void)written;
    close(file);
}

void meter_start(meter *meter)
{
    forget_peak();
    meter->baseline_kib = status_kib("VmRSS:");
    meter->wall_ns = monotonic_ns();
    meter->cpu_ns = process_cpu_ns();
}

void meter_stop(meter *meter)
{
    meter->cpu_ns = process_cpu_ns() - meter->cpu_ns;
    meter->wall_ns = monotonic_ns() - meter->wall_ns;
    meter->peak_kib = status_kib("VmHWM:");
}
