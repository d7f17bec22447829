/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_setaffinity() */
#include "record/host/clocks.h"
#include "base/now.h"
#include "record/base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CLOCKSOURCES "/sys/devices/system/clocksource/clocksource0/"
#define READINGS 16
#define RATE_SPAN_US 20000
#define RATE_ERROR_MOST 2e-4 /* of a measured rate; readers try 600 ppm on both sides */
#define COMPARE_CPUS_MAX 1024

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>

static bool has_tsc(void)
{
	return true;
}

static uint64_t read_tsc(void)
{
	unsigned aux;
	uint64_t tsc = __rdtscp(&aux);

	_mm_lfence();
	return tsc;
}
#else
static bool has_tsc(void)
{
	return false;
}

static uint64_t read_tsc(void)
{
	return 0;
}
#endif

void clock_read(struct clock_reading *out)
{
	uint64_t best = UINT64_MAX;

	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < READINGS; i++) {
		uint64_t begin = read_tsc();
		int64_t mono = now_ns(CLOCK_MONOTONIC);
		int64_t boot = now_ns(CLOCK_BOOTTIME);
		int64_t real = now_ns(CLOCK_REALTIME);
		uint64_t width = read_tsc() - begin;

		if (width >= best && i)
			continue;
		best = width;
		*out = (struct clock_reading){begin + width / 2, width, mono, boot, real};
	}
}

/* One word of a list that spaces part. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += len) {
		bool begins = p == list || p[-1] == ' ' || p[-1] == '[' || p[-1] == '\t';
		bool ends = !p[len] || strchr(" ]\n\t", p[len]);

		if (begins && ends)
			return true;
	}
	return false;
}

/* The "flags" line of /proc/cpuinfo's first CPU. */
static void read_flags(char *flags, size_t room)
{
	FILE *file = fopen("/proc/cpuinfo", "re");

	*flags = '\0';
	while (file && fgets(flags, (int)room, file)) {
		if (!strncmp(flags, "flags", 5))
			break;
		*flags = '\0';
	}
	if (file)
		fclose(file);
}

/* How the cycle counter stands to CLOCK_MONOTONIC_RAW on this CPU, as bounds: at @mono the counter
 * was between @low and @high. */
struct comparison {
	int64_t mono;
	uint64_t low, high;
};

static void compare_here(struct comparison *out)
{
	for (unsigned i = 0; i < READINGS; i++) {
		uint64_t low = read_tsc();
		int64_t mono = now_ns(CLOCK_MONOTONIC_RAW);
		uint64_t high = read_tsc();

		if (!i || high - low < out->high - out->low)
			*out = (struct comparison){mono, low, high};
	}
}

/* Do @a and @b agree, when the counter makes @per_ns cycles a nanosecond? */
static bool agree(const struct comparison *a, const struct comparison *b, double per_ns)
{
	double passed = (double)(b->mono - a->mono) * per_ns;
	double low = (double)(int64_t)(b->low - a->high);
	double high = (double)(int64_t)(b->high - a->low);
	double slack =
		200 * per_ns + passed * 1e-4; /* the rate is measured, and clocks have steps */

	return passed >= low - slack && passed <= high + slack;
}

/* Runs on every CPU that it may use; false when the counters differ. */
static bool counters_agree(char *why, size_t room)
{
	struct comparison first, again, here;
	cpu_set_t all, one;
	double per_ns;
	bool good = true;
	int nr = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return true;
	compare_here(&first);
	usleep(2000);
	compare_here(&again);
	per_ns = (double)(again.low - first.low) / (double)(again.mono - first.mono);
	for (int cpu = 0; cpu < CPU_SETSIZE && nr < COMPARE_CPUS_MAX && good; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			continue;
		compare_here(&here);
		good = agree(&first, &here, per_ns);
		if (!good)
			snprintf(why, room, "the TSC of CPU %d differs from the others'", cpu);
		nr++;
	}
	sched_setaffinity(0, sizeof(all), &all);
	return good;
}

bool tsc_is_sound(char *why, size_t room)
{
	char sources[256], flags[4096];
	bool guest;

	*why = '\0';
	if (!has_tsc()) {
		snprintf(why, room, "this CPU has no TSC");
		return false;
	}
	read_flags(flags, sizeof(flags));
	guest = has_word(flags, "hypervisor");
	/* A guest is rarely told that its TSC never stops; its host knows. */
	if (!guest && (!has_word(flags, "constant_tsc") || !has_word(flags, "nonstop_tsc"))) {
		snprintf(why, room, "this CPU's TSC changes its rate or stops when idle");
		return false;
	}
	read_small(AT_FDCWD, CLOCKSOURCES "available_clocksource", sources, sizeof(sources));
	if (has_word(sources, "tsc"))
		return true;
	if (!guest) {
		snprintf(why, room, "the kernel found the TSC unstable (clock sources: %.60s)",
			 sources);
		return false;
	}
	return counters_agree(why, room);
}

int clock_choose(const char *available, const char *wanted, struct clock_choice *out,
		 struct error *err)
{
	memset(out, 0, sizeof(*out));
	if (wanted) {
		if (!has_word(available, wanted))
			return fail(err, -EINVAL,
				    "ftrace has no clock \"%.30s\" here; it has: %.200s", wanted,
				    available);
		snprintf(out->name, sizeof(out->name), "%.31s", wanted);
		if (strcmp(wanted, "x86-tsc"))
			snprintf(out->reason, sizeof(out->reason), "it was asked for");
		return 0;
	}
	if (!has_word(available, "x86-tsc"))
		snprintf(out->reason, sizeof(out->reason),
			 "this kernel has no trace clock x86-tsc");
	else if (tsc_is_sound(out->reason, sizeof(out->reason)))
		*out->reason = '\0';
	snprintf(out->name, sizeof(out->name), "%s", *out->reason ? "mono" : "x86-tsc");
	return 0;
}

/* The kernel's own factors (perf_event_open(2), cap_user_time). */
static bool rate_told(struct tsc_rate *out)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};
	long page_bytes = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page;
	bool known = false;
	long fd;

	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return false;
	page = mmap(NULL, (size_t)page_bytes, PROT_READ, MAP_SHARED, (int)fd, 0);
	if (page != MAP_FAILED) {
		known = page->cap_user_time && page->time_mult && page->time_shift < 64;
		if (known) {
			out->mult = page->time_mult;
			out->shift = page->time_shift;
		}
		munmap(page, (size_t)page_bytes);
	}
	close((int)fd);
	return known;
}

/* From two readings of the counter and CLOCK_MONOTONIC.  False: one was torn apart, or there is no
 * counter. */
static bool rate_measured(struct tsc_rate *out)
{
	struct clock_reading begin, end;
	double ns_per_cycle, cycles;

	clock_read(&begin);
	usleep(RATE_SPAN_US);
	clock_read(&end);
	cycles = (double)(int64_t)(end.tsc - begin.tsc);
	if (cycles <= 0 || (double)(begin.width + end.width) > cycles * RATE_ERROR_MOST)
		return false;
	ns_per_cycle = (double)(end.mono - begin.mono) / cycles;
	out->shift = 31;
	while (out->shift && ldexp(ns_per_cycle, (int)out->shift) >= (double)UINT32_MAX)
		out->shift--;
	out->mult = (uint32_t)(ldexp(ns_per_cycle, (int)out->shift) + 0.5);
	return out->mult;
}

bool tsc_rate(struct tsc_rate *out)
{
	memset(out, 0, sizeof(*out));
	if (!rate_told(out) && !rate_measured(out)) {
		memset(out, 0, sizeof(*out));
		return false;
	}
	out->khz = (uint64_t)(((unsigned __int128)1000000 << out->shift) / out->mult);
	return true;
}
