/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TIMER_SLACK_NS 1000UL
#define CALIBRATE_NS 20000000

void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

uint64_t tsc_now(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/*
 * Each jump ends a block of the emulator's translation; registers reach the place where others
 * read them at the end of a block.  So r15 appears only after r12 to r14 are those of this thread,
 * and is gone before they change.
 *
 * The inner loop is there because the emulator reads the counter under one lock, and makes it jump
 * ahead a little when two CPUs read it at the same moment.
 */
void __attribute__((noinline)) busy_until(uint64_t id, uint64_t tid, uint64_t tsc_end)
{
	uint64_t mark = IDENTITY_MAGIC << 32 | id;

	__asm__ volatile("	mov	%[tid], %%r13\n"
			 "	xor	%%r14d, %%r14d\n"
			 "	mov	%[mark], %%r12\n"
			 "	jmp	1f\n"
			 "1:	mov	%[mark], %%r15\n"
			 "	jmp	2f\n"
			 "2:	rdtsc\n"
			 "	shl	$32, %%rdx\n"
			 "	or	%%rdx, %%rax\n"
			 "	mov	%%rax, %%r14\n"
			 "	mov	%%rax, %%r12\n"
			 "	xor	%%r15, %%r12\n"
			 "	cmp	%[end], %%rax\n"
			 "	jae	4f\n"
			 "	mov	$64, %%ecx\n"
			 "3:	dec	%%ecx\n"
			 "	jnz	3b\n"
			 "	jmp	2b\n"
			 "4:	xor	%%r15d, %%r15d\n"
			 "	jmp	5f\n"
			 "5:	xor	%%r14d, %%r14d\n"
			 :
			 : [mark] "r"(mark), [tid] "r"(tid), [end] "r"(tsc_end)
			 : "rax", "rcx", "rdx", "r12", "r13", "r14", "r15", "cc", "memory");
}

uint64_t tsc_of_us(const struct workload *w, uint64_t us)
{
	return (uint64_t)((unsigned __int128)us * w->tsc_hz / 1000000);
}

uint64_t us_of_tsc(const struct workload *w, uint64_t tsc)
{
	return (uint64_t)((unsigned __int128)tsc * 1000000 / w->tsc_hz);
}

bool workload_over(const struct workload *w)
{
	return tsc_now() >= w->tsc_end;
}

void busy_us(const struct workload *w, uint64_t id, uint64_t us)
{
	uint64_t tid = my_tid(), end = tsc_now() + tsc_of_us(w, us);

	busy_until(id, tid, end < w->tsc_end ? end : w->tsc_end);
}

uint64_t my_tid(void)
{
	return (uint64_t)syscall(SYS_gettid);
}

void set_comm(const char *comm)
{
	if (prctl(PR_SET_NAME, comm))
		die("prctl(PR_SET_NAME)");
}

void pin_to_cpu(uint64_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

void sleep_us(uint64_t us)
{
	struct timespec left = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Both clocks at one instant: of some tries, the one in which the least time passed in between. */
static void read_clocks(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t before = tsc_now(), now = monotonic_ns(), took = tsc_now() - before;

		if (took < best) {
			best = took;
			*tsc = before + took / 2;
			*ns = now;
		}
	}
}

static uint64_t measure_tsc_hz(void)
{
	uint64_t tsc[2] = {0}, ns[2] = {0};

	read_clocks(&tsc[0], &ns[0]);
	sleep_us(CALIBRATE_NS / 1000);
	read_clocks(&tsc[1], &ns[1]);
	return (uint64_t)((unsigned __int128)(tsc[1] - tsc[0]) * 1000000000 / (ns[1] - ns[0]));
}

static void usage(const struct workload *w, const struct option_spec *common,
		  const struct option_spec *specs)
{
	const struct option_spec *tables[] = {common, specs};

	fprintf(stderr, "usage: %s [--option VALUE]...\n", w->kind);
	for (int i = 0; i < 2; i++)
		for (const struct option_spec *s = tables[i]; s && s->name; s++)
			fprintf(stderr, "  --%-14s %s\n", s->name, s->help);
	exit(2);
}

static const struct option_spec *spec_of(const struct option_spec *specs, const char *arg)
{
	if (strncmp(arg, "--", 2))
		return NULL;
	for (; specs && specs->name; specs++)
		if (!strcmp(specs->name, arg + 2))
			return specs;
	return NULL;
}

static bool set_option(const struct option_spec *spec, const char *value)
{
	char *rest;

	if (spec->text) {
		*spec->text = value;
		return true;
	}
	errno = 0;
	*spec->number = strtoull(value, &rest, 10);
	return *value >= '0' && *value <= '9' && !*rest && !errno;
}

/* "2.5" is 2500; 0 for what is not a number of seconds.  Digits after the third do not count. */
static uint64_t ms_of_seconds(const char *text)
{
	uint64_t ms = 0, unit = 1000;
	bool point = false;

	for (; *text; text++) {
		if (*text == '.' && !point) {
			point = true;
		} else if (*text < '0' || *text > '9' || ms > UINT32_MAX) {
			return 0;
		} else if (point) {
			unit /= 10;
			ms += unit * (uint64_t)(*text - '0');
		} else {
			ms = ms * 10 + unit * (uint64_t)(*text - '0');
		}
	}
	return ms;
}

void workload_options(struct workload *w, int argc, char **argv, const struct option_spec *specs)
{
	const char *seconds = "1";
	const struct option_spec common[] = {
		{"id", "number that names it in the registers (1)", &w->id, NULL},
		{"seconds", "how long it runs, such as 2.5 (1)", NULL, &seconds},
		{"comm", "name of its thread, up to 15 bytes (KIND-ID)", NULL, &w->comm},
		{NULL, NULL, NULL, NULL},
	};

	w->id = 1;
	for (int i = 1; i < argc; i += 2) {
		const struct option_spec *spec = spec_of(common, argv[i]);

		if (!spec)
			spec = spec_of(specs, argv[i]);
		if (!spec || i + 1 == argc || !set_option(spec, argv[i + 1]))
			usage(w, common, specs);
	}
	w->run_ms = ms_of_seconds(seconds);
	if (!w->run_ms || w->id > UINT32_MAX ||
	    (w->comm && strlen(w->comm) >= sizeof(w->comm_buffer)))
		usage(w, common, specs);
	if (!w->comm) {
		snprintf(w->comm_buffer, sizeof(w->comm_buffer), "%s-%u", w->kind, (unsigned)w->id);
		w->comm = w->comm_buffer;
	}
}

/* Words that need escapes in JSON are refused rather than escaped: nothing here needs them. */
static void print_word(const char *name, const char *word)
{
	for (const char *c = word; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\') {
			fprintf(stderr, "%s: not a plain word: %s\n", name, word);
			exit(2);
		}
	printf(",\"%s\":\"%s\"", name, word);
}

static void print_head(const struct workload *w, const char *at)
{
	printf("{\"at\":\"%s\"", at);
	print_word("workload", w->kind);
	printf(",\"id\":%" PRIu64 ",\"pid\":%d,\"tsc\":%" PRIu64, w->id, (int)getpid(), tsc_now());
}

static void print_waits(const struct workload *w)
{
	printf(",\"waits\":[");
	if (w->waits)
		printf("\"%s\"%s", w->waits, w->sleeps ? "," : "");
	printf("%s]", w->sleeps ? "\"timer\"" : "");
}

void workload_begin(struct workload *w, const struct option_spec *specs)
{
	set_comm(w->comm);
	if (prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS))
		die("prctl(PR_SET_TIMERSLACK)");
	w->tsc_hz = measure_tsc_hz();
	print_head(w, "begin");
	print_word("comm", w->comm);
	print_waits(w);
	printf(",\"tsc_hz\":%" PRIu64 ",\"run_ms\":%" PRIu64, w->tsc_hz, w->run_ms);
	for (const struct option_spec *s = specs; s && s->name; s++) {
		if (s->number && *s->number != UNSET)
			printf(",\"%s\":%" PRIu64, s->name, *s->number);
		else if (s->text && *s->text)
			print_word(s->name, *s->text);
	}
	puts("}");
	fflush(stdout);
	w->tsc_end = tsc_now() + tsc_of_us(w, w->run_ms * 1000);
}

void print_numbers(const char *name, const uint64_t *value, uint64_t nr)
{
	printf("\"%s\":[", name);
	for (uint64_t i = 0; i < nr; i++)
		printf("%s%" PRIu64, i ? "," : "", value[i]);
	printf("]");
}

void workload_end(const struct workload *w, const char *name, ...)
{
	va_list list;

	print_head(w, "end");
	va_start(list, name);
	for (; name; name = va_arg(list, const char *))
		printf(",\"%s\":%" PRIu64, name, va_arg(list, uint64_t));
	va_end(list);
	puts("}");
	fflush(stdout);
}
