/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_HOST_CLOCKS_H
#define RECORD_HOST_CLOCKS_H

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
 * ns = cycles * mult >> shift.  The kernel's own factors, or, where it does not tell them (its
 * scheduler's clock is not the TSC, as in many guests), what is measured here in 20 ms, within
 * 200 ppm.  It stands in the trace from the start, for a recorder that is killed: readings of
 * both clocks through the whole recording are better, and win.  False: neither can be had.
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
