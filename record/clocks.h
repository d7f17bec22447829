/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_CLOCKS_H
#define RECORD_CLOCKS_H

#include "base/error.h"

/*
 * The clocks of this machine: which one a recording is to use, and how they stand to each other.
 *
 * x86-tsc is the best there is: with it a guest's times relate to its host's by exact numbers that
 * KVM tells.  It is sound when all CPUs' counters run alike and never stop.  The kernel decides
 * that for itself (it then offers "tsc" as a clock source); where it does not (guests often have
 * kvm-clock only), the counters are compared here, CPU by CPU, against CLOCK_MONOTONIC_RAW.
 */
struct clock_choice {
	char name[32];	  /* of tracefs' trace_clock */
	char reason[128]; /* why it is not x86-tsc; "" when it is */
};

/* @available: the content of tracefs' trace_clock.  @wanted: NULL = choose.  -EINVAL: the kernel
 * does not have the wanted one. */
int clock_choose(const char *available, const char *wanted, struct clock_choice *out,
		 struct error *err);

/* True when the TSC is sound; else @why says what is wrong. */
bool tsc_is_sound(char *why, size_t room);

/*
 * The kernel's own factors: ns = cycles * mult >> shift (perf_event_open(2), cap_user_time).
 * False when the kernel does not tell them: its scheduler's clock is not the TSC then.
 */
struct tsc_rate {
	uint32_t mult, shift;
	uint64_t khz;
};
bool tsc_rate(struct tsc_rate *out);

/* Cycle counter and clocks (ns) at one moment; @width cycles lie between the first and the last
 * reading.  tsc and width are 0 where there is no TSC. */
struct clock_reading {
	uint64_t tsc, width;
	int64_t mono, boot, real;
};
void clock_read(struct clock_reading *out);

#endif
