/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAB_WORKLOADS_WORKLOAD_H
#define LAB_WORKLOADS_WORKLOAD_H

/*
 * What all workloads of the lab share: their options, the lines they print, and the identity that
 * they show to whoever reads the registers of the emulated CPU.
 *
 * While a thread computes on its own behalf (busy_until(), user mode only) it keeps
 *
 *	r15  IDENTITY_MAGIC << 32 | id
 *	r14  its last reading of the TSC, of the layer it lives in
 *	r13  its thread number, as the thread sees it itself
 *	r12  r14 ^ r15: r12, r14 and r15 of one reading belong together when this holds
 *
 * and before it calls anything it clears r15, so that no other code ever carries the mark.  An
 * instant at which a CPU holds such registers is proof: at TSC r14 that thread ran on that CPU.
 *
 * Every workload prints one line of JSON at its beginning and one at its end.  The first names what
 * its waits are caused by ("waits"): that is ground truth for what an analysis finds.
 *
 * Integers only: no program of the lab touches the FPU by itself (-mgeneral-regs-only).
 */

#include <stdbool.h>
#include <stdint.h>

#define IDENTITY_MAGIC 0x534f4e44ULL /* "SOND" */

#define UNSET UINT64_MAX /* of a number: the first line does not mention it */

/*
 * An option "--name VALUE": a number, or with @text set, a word.  Tables end with an empty entry.
 */
struct option_spec {
	const char *name;
	const char *help;
	uint64_t *number;
	const char **text;
};

/* What every workload has; all but the first three come from its options. */
struct workload {
	const char *kind;  /* "spin" … */
	const char *waits; /* what it waits for: disk, task, network; NULL: nothing of these */
	bool sleeps;	   /* waits for a timer, too */
	uint64_t id;
	uint64_t run_ms;  /* how long it runs */
	const char *comm; /* name of its thread; default KIND-ID */
	char comm_buffer[16];
	uint64_t tsc_hz;
	uint64_t tsc_end; /* when its time is up */
};

/*
 * Reads the options, those of every workload and @specs.  Ends the program, status 2, when one is
 * wrong.
 */
void workload_options(struct workload *w, int argc, char **argv, const struct option_spec *specs);

/* Sets the thread's name, measures the TSC and prints the first line; its time begins to run. */
void workload_begin(struct workload *w, const struct option_spec *specs);

/* Prints the last line, with what was counted under the names given: name, value, …, NULL. */
void workload_end(const struct workload *w, const char *name, ...) __attribute__((sentinel));

/* "name":[1,2] of a line of JSON. */
void print_numbers(const char *name, const uint64_t *value, uint64_t nr);

/* Ends the program with status 1 and a line on standard error: what failed, and errno. */
void die(const char *what) __attribute__((noreturn));

/* Whether the workload's time is up. */
bool workload_over(const struct workload *w);

uint64_t tsc_now(void);
uint64_t tsc_of_us(const struct workload *w, uint64_t us);
uint64_t us_of_tsc(const struct workload *w, uint64_t tsc);

/*
 * Computes with the identity @id in the registers until the TSC is @tsc_end.  @tid is the calling
 * thread's own number (my_tid()); it is an argument because no system call may happen here.
 */
void busy_until(uint64_t id, uint64_t tid, uint64_t tsc_end);

/* The same for @us microseconds, but not past the workload's end. */
void busy_us(const struct workload *w, uint64_t id, uint64_t us);

uint64_t my_tid(void);
void set_comm(const char *comm);
void pin_to_cpu(uint64_t cpu);

/* Sleeps with a timer. */
void sleep_us(uint64_t us);

#endif
