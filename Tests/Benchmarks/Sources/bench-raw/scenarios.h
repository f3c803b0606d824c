#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "arguments.h"
#include "meter.h"

/// What a child reports about one slice, as one line of JSON.
typedef struct {
    meter meter;
    int64_t p99_ns;       ///< What 99 of 100 requests took at most; 0 where their times aren't taken.
    long failures;        ///< Requests whose outcome was not the expected one.
    char protocol[16];    ///< "HTTP/2.0" and the like, from the probe; empty without one.
    char error[300];      ///< The first failure in words.
} outcome;

/// One child's loop, pool of transfers and progress.
typedef struct child child;

/// Sets the scenario that `arguments` names up and warms its connections; exits when there is none of that name.
child *child_open(const arguments *arguments);

/// Measures one slice of the work. The result is valid until the next one.
const outcome *child_slice(child *child);

#endif
