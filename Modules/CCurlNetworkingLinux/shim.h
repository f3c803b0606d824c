// The parts of the Linux C library that the toolchain's Glibc module leaves out.
#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H

#include <malloc.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#endif
