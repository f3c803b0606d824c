// The parts of the Linux C library that the toolchain's Glibc module leaves out.
#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H

#include <malloc.h>
#include <spawn.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

// The C library declares these for programs with _GNU_SOURCE only (secure_getenv(3), glibc 2.17; preadv2(2), glibc 2.26; prlimit(2);
// posix_spawn_file_actions_addclosefrom_np, glibc 2.34).
char *secure_getenv(const char *name);
ssize_t preadv2(int descriptor, const struct iovec *parts, int count, off_t offset, int flags);
int prlimit(pid_t process, __rlimit_resource_t resource, const struct rlimit *limit, struct rlimit *former);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

#endif
