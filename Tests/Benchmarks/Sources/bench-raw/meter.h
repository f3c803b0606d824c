#ifndef METER_H
#define METER_H

#include <stdint.h>

/// What one slice cost between `meter_start` and `meter_stop`; start-up and tear-down are outside.
typedef struct {
    int64_t cpu_ns;       ///< User and system time of the whole process.
    int64_t wall_ns;
    long baseline_kib;    ///< Resident memory when the measurement began.
    long peak_kib;        ///< The highest resident memory since then.
} meter;

int64_t monotonic_ns(void);
int64_t process_cpu_ns(void);

/// Forgets the process's memory peak so far and starts both clocks.
void meter_start(meter *meter);

/// Stops both clocks first, then reads the memory peak.
void meter_stop(meter *meter);

#endif
