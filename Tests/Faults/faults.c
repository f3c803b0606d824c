// Makes system calls of a program fail: to be preloaded.
//
//     FAULT          which calls fail, and how: one of the names in `kinds`; nothing fails without it
//     FAULT_AT       the first call of that kind that fails, from 1; counted over all processes of the program
//     FAULT_FOR_GOOD whether all calls after it fail as well
//     FAULT_PROGRAM  the program that it is about: others that it starts run as ever
//     FAULT_COUNTER  a file of at least 8 bytes, where the calls are counted; whoever writes another number there begins the fault, or ends it
//     FAULT_CLOCK    by how many seconds the system's clock is ahead, whatever else fails
//     FAULT_REPORT   a file to which is added which call failed, with its callers, and which signal ended a process
//
// With "held-disk", no call fails: those on files in FAULT_HELD wait as long as there is a file FAULT_GATE, as on a network drive that is gone. What
// is counted then is how many wait now. One of them on an event loop ends the process: nothing is to wait there.
//
// Names that end with .faults.test mean this machine. Calls by libdispatch never fail: it ends the process by intention. Nor do those on the
// standard descriptors, with which the program talks to the test.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum kind {
    NO_FAULT, DESCRIPTORS, FULL_DISK, BROKEN_DISK, LOCKS, WATCHES, CURL_MEMORY, CURL_WORK, INTERRUPTIONS, SHORT_READS, SHORT_WRITES, RESETS, NAMES, SLOW_NAMES,
    HELD_DISK,
};

static const char *const kinds[] = {
    [NO_FAULT] = "",
    [DESCRIPTORS] = "descriptors",
    [FULL_DISK] = "full-disk",
    [BROKEN_DISK] = "broken-disk",
    [LOCKS] = "locks",
    [WATCHES] = "watches",
    [CURL_MEMORY] = "curl-memory",
    [CURL_WORK] = "curl-work",
    [INTERRUPTIONS] = "interruptions",
    [SHORT_READS] = "short-reads",
    [SHORT_WRITES] = "short-writes",
    [RESETS] = "resets",
    [NAMES] = "names",
    [SLOW_NAMES] = "slow-names",
    [HELD_DISK] = "held-disk",
};

// Longer than the time-outs of the program under test.
static const unsigned slowness = 3;

// Set once, before `main`.
static enum kind armed;
static unsigned long first;
static int for_good;
static const char *report_path;
static const char *held_folder, *gate;
static time_t ahead;
static atomic_ulong *counter;
static struct { char *start, *end; } curl, dispatch;

/// The function that this library stands before.
#define REAL(name)                                               \
    static __typeof__(name) *real;                               \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define CALLER __builtin_return_address(0)
#define STRIKES(kind) strikes(kind, __func__, CALLER)
#define FAIL_IF(condition, kind, error) \
    if ((condition) && STRIKES(kind)) return errno = (error), -1

static int report_descriptor(void) {
    return report_path ? (int)syscall(SYS_open, report_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
}

static void report(const char *text, const char *more) {
    char line[256];
    int length = snprintf(line, sizeof line, "%s %s\n", text, more);
    int descriptor = report_descriptor();
    if (descriptor < 0) return;
    syscall(SYS_write, descriptor, line, length);
    syscall(SYS_close, descriptor);
}

static void report_callers(const char *call) {
    report("failed", call);
    void *frames[40];
    int count = backtrace(frames, 40);
    int descriptor = report_descriptor();
    if (descriptor < 0) return;
    backtrace_symbols_fd(frames + 1, count - 1, descriptor);
    syscall(SYS_close, descriptor);
}

/// Whether this call, the next one of its kind, fails.
static int strikes(enum kind kind, const char *call, void *caller) {
    if (kind != armed || ((char *)caller >= dispatch.start && (char *)caller < dispatch.end)) return 0;
    static _Thread_local int is_reporting;
    if (is_reporting) return 0;
    unsigned long number = atomic_fetch_add(counter, 1) + 1;
    if (number == first) {
        is_reporting = 1;
        report_callers(call);
        is_reporting = 0;
    }
    return number == first || (for_good && number > first);
}

static int is_kind_of_file(int descriptor, mode_t type) {
    struct stat status;
    int saved = errno;
    int is_it = descriptor > 2 && fstat(descriptor, &status) == 0 && (status.st_mode & S_IFMT) == type;
    errno = saved;
    return is_it;
}

static int is_held(const char *path) {
    return armed == HELD_DISK && strncmp(path, held_folder, strlen(held_folder)) == 0;
}

static int is_held_file(int descriptor) {
    if (armed != HELD_DISK) return 0;
    char link[40], path[PATH_MAX];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length < 0) return 0;
    path[length] = 0;
    return is_held(path);
}

const char *dispatch_queue_get_label(void *queue);
#pragma weak dispatch_queue_get_label

static int is_on_loop(void) {
    static const char loops[] = "CurlNetworking.loop";
    const char *label = dispatch_queue_get_label ? dispatch_queue_get_label(NULL) : "";
    return strncmp(label, loops, strlen(loops)) == 0;
}

static void wait_at_gate(const char *call) {
    int saved = errno;
    if (is_on_loop()) {
        report_callers(call);
        abort();
    }
    atomic_fetch_add(counter, 1);
    while (syscall(SYS_access, gate, F_OK) == 0) usleep(1000);
    atomic_fetch_sub(counter, 1);
    errno = saved;
}

#define HOLD(path) \
    if (is_held(path)) wait_at_gate(__func__)
#define HOLD_FILE(descriptor) \
    if (is_held_file(descriptor)) wait_at_gate(__func__)

#define IS_FILE(descriptor) is_kind_of_file(descriptor, S_IFREG)
#define IS_SOCKET(descriptor) is_kind_of_file(descriptor, S_IFSOCK)

// MARK: - New descriptors

#define MAKES_DESCRIPTOR(name, parameters, arguments) \
    int name parameters {                             \
        REAL(name);                                   \
        FAIL_IF(1, DESCRIPTORS, EMFILE);              \
        return real arguments;                        \
    }

MAKES_DESCRIPTOR(socket, (int domain, int type, int protocol), (domain, type, protocol))
MAKES_DESCRIPTOR(socketpair, (int domain, int type, int protocol, int ends[2]), (domain, type, protocol, ends))
MAKES_DESCRIPTOR(epoll_create1, (int flags), (flags))
MAKES_DESCRIPTOR(eventfd, (unsigned value, int flags), (value, flags))
MAKES_DESCRIPTOR(timerfd_create, (clockid_t clock, int flags), (clock, flags))
MAKES_DESCRIPTOR(inotify_init1, (int flags), (flags))
MAKES_DESCRIPTOR(pipe, (int ends[2]), (ends))
MAKES_DESCRIPTOR(pipe2, (int ends[2], int flags), (ends, flags))

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags) {
    REAL(accept4);
    FAIL_IF(1, DESCRIPTORS, EMFILE);
    FAIL_IF(1, INTERRUPTIONS, EINTR);
    return real(listener, address, length, flags);
}

#define FAIL_OPENING(flags)                              \
    FAIL_IF(1, DESCRIPTORS, EMFILE);                     \
    FAIL_IF((flags) & O_CREAT, FULL_DISK, ENOSPC);       \
    FAIL_IF(1, BROKEN_DISK, EIO);                        \
    FAIL_IF(1, INTERRUPTIONS, EINTR)

#define MODE(flags)                                      \
    mode_t mode = 0;                                     \
    if ((flags) & (O_CREAT | O_TMPFILE)) {               \
        va_list list;                                    \
        va_start(list, flags);                           \
        mode = va_arg(list, mode_t);                     \
        va_end(list);                                    \
    }

int open(const char *path, int flags, ...) {
    REAL(open);
    MODE(flags);
    HOLD(path);
    FAIL_OPENING(flags);
    return real(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    REAL(openat);
    MODE(flags);
    FAIL_OPENING(flags);
    return real(folder, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));

FILE *fopen(const char *path, const char *mode) {
    REAL(fopen);
    HOLD(path);
    if (STRIKES(DESCRIPTORS)) return errno = EMFILE, NULL;
    if (STRIKES(BROKEN_DISK)) return errno = EIO, NULL;
    return real(path, mode);
}

FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));

DIR *opendir(const char *path) {
    REAL(opendir);
    HOLD(path);
    if (STRIKES(DESCRIPTORS)) return errno = EMFILE, NULL;
    if (STRIKES(BROKEN_DISK)) return errno = EIO, NULL;
    return real(path);
}

int fcntl(int descriptor, int command, ...) {
    REAL(fcntl);
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    FAIL_IF(command == F_DUPFD || command == F_DUPFD_CLOEXEC, DESCRIPTORS, EMFILE);
    return real(descriptor, command, argument);
}

int fcntl64(int descriptor, int command, ...) __attribute__((alias("fcntl")));

int close(int descriptor) {
    REAL(close);
    HOLD_FILE(descriptor);
    return real(descriptor);
}

// MARK: - Reading and writing

#define READS(name, parameters, arguments, size, one)           \
    ssize_t name parameters {                                   \
        REAL(name);                                             \
        HOLD_FILE(descriptor);                                  \
        FAIL_IF(descriptor > 2, INTERRUPTIONS, EINTR);          \
        FAIL_IF(IS_FILE(descriptor), BROKEN_DISK, EIO);         \
        FAIL_IF(IS_SOCKET(descriptor), RESETS, ECONNRESET);     \
        if (size > 1 && descriptor > 2 && STRIKES(SHORT_READS)) return real one; \
        return real arguments;                                  \
    }

#define WRITES(name, parameters, arguments, size, one)          \
    ssize_t name parameters {                                   \
        REAL(name);                                             \
        HOLD_FILE(descriptor);                                  \
        FAIL_IF(descriptor > 2, INTERRUPTIONS, EINTR);          \
        FAIL_IF(IS_FILE(descriptor), FULL_DISK, ENOSPC);        \
        FAIL_IF(IS_FILE(descriptor), BROKEN_DISK, EIO);         \
        FAIL_IF(IS_SOCKET(descriptor), RESETS, ECONNRESET);     \
        if (size > 1 && descriptor > 2 && STRIKES(SHORT_WRITES)) return real one; \
        return real arguments;                                  \
    }

// A file that tells the kernel's mind, such as an eventfd, is read and written whole.
#define SOME(size) ((IS_FILE(descriptor) || IS_SOCKET(descriptor)) ? 1 : (size))

READS(read, (int descriptor, void *buffer, size_t size),
    (descriptor, buffer, size), size, (descriptor, buffer, SOME(size)))
READS(pread, (int descriptor, void *buffer, size_t size, off_t offset),
    (descriptor, buffer, size, offset), size, (descriptor, buffer, 1, offset))
READS(recv, (int descriptor, void *buffer, size_t size, int flags),
    (descriptor, buffer, size, flags), size, (descriptor, buffer, 1, flags))
READS(recvmsg, (int descriptor, struct msghdr *message, int flags),
    (descriptor, message, flags), 0, (descriptor, message, flags))
WRITES(write, (int descriptor, const void *bytes, size_t size),
    (descriptor, bytes, size), size, (descriptor, bytes, SOME(size)))
WRITES(pwrite, (int descriptor, const void *bytes, size_t size, off_t offset),
    (descriptor, bytes, size, offset), size, (descriptor, bytes, 1, offset))
WRITES(send, (int descriptor, const void *bytes, size_t size, int flags),
    (descriptor, bytes, size, flags), size, (descriptor, bytes, 1, flags))
WRITES(sendmsg, (int descriptor, const struct msghdr *message, int flags),
    (descriptor, message, flags), 0, (descriptor, message, flags))
WRITES(writev, (int descriptor, const struct iovec *parts, int count),
    (descriptor, parts, count), count, (descriptor, parts, 1))
ssize_t pread64(int descriptor, void *buffer, size_t size, off_t offset) __attribute__((alias("pread")));
ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off_t offset) __attribute__((alias("pwrite")));

ssize_t preadv2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags) {
    REAL(preadv2);
    if ((flags & RWF_NOWAIT) && is_held_file(descriptor)) return errno = EAGAIN, -1;
    FAIL_IF(1, INTERRUPTIONS, EINTR);
    FAIL_IF(1, BROKEN_DISK, EIO);
    return real(descriptor, parts, count, offset, flags);
}

// Files that may be held are on no disk of this machine.
int fstatfs(int descriptor, struct statfs *status) {
    REAL(fstatfs);
    int result = real(descriptor, status);
    if (result == 0 && is_held_file(descriptor)) status->f_type = 0x6969;
    return result;
}

ssize_t recvfrom(int descriptor, void *buffer, size_t size, int flags, struct sockaddr *address, socklen_t *length) {
    REAL(recvfrom);
    FAIL_IF(1, INTERRUPTIONS, EINTR);
    FAIL_IF(1, RESETS, ECONNRESET);
    return real(descriptor, buffer, size, flags, address, length);
}

ssize_t sendto(int descriptor, const void *bytes, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
    REAL(sendto);
    FAIL_IF(1, INTERRUPTIONS, EINTR);
    FAIL_IF(1, RESETS, ECONNRESET);
    return real(descriptor, bytes, size, flags, address, length);
}

// MARK: - Waiting

int poll(struct pollfd *entries, nfds_t count, int timeout) {
    REAL(poll);
    FAIL_IF(1, INTERRUPTIONS, EINTR);
    return real(entries, count, timeout);
}

int epoll_wait(int set, struct epoll_event *events, int count, int timeout) {
    REAL(epoll_wait);
    FAIL_IF(1, INTERRUPTIONS, EINTR);
    return real(set, events, count, timeout);
}

int epoll_ctl(int set, int operation, int descriptor, struct epoll_event *event) {
    REAL(epoll_ctl);
    FAIL_IF(operation != EPOLL_CTL_DEL, WATCHES, ENOSPC);
    return real(set, operation, descriptor, event);
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    REAL(connect);
    FAIL_IF(1, INTERRUPTIONS, EINTR);
    return real(descriptor, address, length);
}

// MARK: - Files

#define CHANGES_DISK(name, parameters, arguments, hold) \
    int name parameters {                               \
        REAL(name);                                     \
        hold;                                           \
        FAIL_IF(1, FULL_DISK, ENOSPC);                  \
        FAIL_IF(1, BROKEN_DISK, EIO);                   \
        return real arguments;                          \
    }

CHANGES_DISK(ftruncate, (int descriptor, off_t length), (descriptor, length), HOLD_FILE(descriptor))
CHANGES_DISK(fsync, (int descriptor), (descriptor), HOLD_FILE(descriptor))
CHANGES_DISK(fdatasync, (int descriptor), (descriptor), HOLD_FILE(descriptor))
CHANGES_DISK(mkdir, (const char *path, mode_t mode), (path, mode), HOLD(path))
CHANGES_DISK(link, (const char *old, const char *new), (old, new), HOLD(new))
CHANGES_DISK(symlink, (const char *old, const char *new), (old, new), HOLD(new))
CHANGES_DISK(rename, (const char *old, const char *new), (old, new), HOLD(new))
int ftruncate64(int descriptor, off_t length) __attribute__((alias("ftruncate")));

#define ASKS_DISK(name, parameters, arguments, hold) \
    int name parameters {                            \
        REAL(name);                                  \
        hold;                                        \
        return real arguments;                       \
    }

ASKS_DISK(unlink, (const char *path), (path), HOLD(path))
ASKS_DISK(stat, (const char *path, struct stat *status), (path, status), HOLD(path))
ASKS_DISK(lstat, (const char *path, struct stat *status), (path, status), HOLD(path))
ASKS_DISK(fstat, (int descriptor, struct stat *status), (descriptor, status), HOLD_FILE(descriptor))

int flock(int descriptor, int operation) {
    REAL(flock);
    HOLD_FILE(descriptor);
    FAIL_IF(operation != LOCK_UN, LOCKS, ENOLCK);
    return real(descriptor, operation);
}

int stat64(const char *path, struct stat64 *status) __attribute__((alias("stat")));
int lstat64(const char *path, struct stat64 *status) __attribute__((alias("lstat")));
int fstat64(int descriptor, struct stat64 *status) __attribute__((alias("fstat")));

// MARK: - Time

int clock_gettime(clockid_t clock, struct timespec *time) {
    REAL(clock_gettime);
    int result = real(clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += ahead;
    return result;
}

// MARK: - Memory

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static int lacks_memory(const char *call, void *caller) {
    int is_curl = (char *)caller >= curl.start && (char *)caller < curl.end;
    return is_curl && strikes(CURL_MEMORY, call, caller) && (errno = ENOMEM);
}

void *malloc(size_t size) {
    return lacks_memory(__func__, CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return lacks_memory(__func__, CALLER) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    return lacks_memory(__func__, CALLER) ? NULL : __libc_realloc(old, size);
}

char *strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = lacks_memory(__func__, CALLER) ? NULL : __libc_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

// MARK: - libcurl

int curl_global_init(long flags);

// libcurl is to call the functions above itself, so that they know who calls.
int curl_global_init_mem(long flags, void *allocate, void *release, void *resize, void *copy, void *clear) {
    REAL(curl_global_init);
    return real(flags);
}

// As curl/multi.h has it.
enum { CURLM_OUT_OF_MEMORY = 3 };

int curl_multi_socket_action(void *multi, int descriptor, int events, int *running) {
    REAL(curl_multi_socket_action);
    if (STRIKES(CURL_WORK)) return CURLM_OUT_OF_MEMORY;
    return real(multi, descriptor, events, running);
}

int curl_multi_socket_all(void *multi, int *running) {
    REAL(curl_multi_socket_all);
    if (STRIKES(CURL_WORK)) return CURLM_OUT_OF_MEMORY;
    return real(multi, running);
}

// MARK: - Names

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    REAL(getaddrinfo);
    static const char suffix[] = ".faults.test";
    size_t length = host ? strlen(host) : 0;
    if (length > strlen(suffix) && strcmp(host + length - strlen(suffix), suffix) == 0) host = "127.0.0.1";
    if (STRIKES(NAMES)) return EAI_AGAIN;
    if (STRIKES(SLOW_NAMES)) sleep(slowness);
    return real(host, service, hints, result);
}

// MARK: - The beginning, and the wrong end

static void trap(int number) {
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    report("signal", text);
    signal(number, SIG_DFL);
    raise(number);
}

static int find_libraries(struct dl_phdr_info *object, size_t size, void *context) {
    int is_curl = strstr(object->dlpi_name, "/libcurl.so") != NULL;
    if (!is_curl && !strstr(object->dlpi_name, "/libdispatch.so")) return 0;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[index];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        char *start = (char *)object->dlpi_addr + part->p_vaddr;
        if (is_curl) curl.start = start, curl.end = start + part->p_memsz;
        else dispatch.start = start, dispatch.end = start + part->p_memsz;
    }
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    report_path = getenv("FAULT_REPORT");
    static const int traps[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
    for (size_t index = 0; index < sizeof traps / sizeof *traps; index++) signal(traps[index], trap);
    const char *seconds = getenv("FAULT_CLOCK");
    if (seconds) ahead = strtol(seconds, NULL, 10);
    const char *name = getenv("FAULT"), *at = getenv("FAULT_AT");
    const char *program = getenv("FAULT_PROGRAM"), *path = getenv("FAULT_COUNTER");
    if (!name || !program || !path || !at || strcmp(program, program_invocation_short_name) != 0) return;
    dl_iterate_phdr(find_libraries, NULL);
    int descriptor = (int)syscall(SYS_open, path, O_RDWR | O_CLOEXEC);
    void *memory = (void *)syscall(SYS_mmap, NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (descriptor < 0 || memory == MAP_FAILED) _exit(125);
    syscall(SYS_close, descriptor);
    counter = memory;
    first = strtoul(at, NULL, 10);
    for_good = getenv("FAULT_FOR_GOOD") != NULL;
    held_folder = getenv("FAULT_HELD");
    gate = getenv("FAULT_GATE");
    // The first use of it takes memory, and opens a library.
    void *frames[1];
    backtrace(frames, 1);
    for (size_t kind = 1; kind < sizeof kinds / sizeof *kinds; kind++) {
        if (strcmp(name, kinds[kind]) == 0) armed = (enum kind)kind;
    }
    if (!armed || (armed == HELD_DISK && !(held_folder && gate))) _exit(125);
}
