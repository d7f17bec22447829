/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROPERTY_LESS_SPECIFIC_H
#define TESTS_PROPERTY_LESS_SPECIFIC_H

#include <sonde/history.h>

/*
 * Two histories of one set of traces, of which one was made of a damaged copy: what the second one
 * says is to be what the first one says, or less.  Never something else.
 *
 *	sides.c      opens both, and finds out what of one is what of the other
 *	order.c      the order "is less specific than", value by value: the one definition of it
 *	gains.c	     where less evidence may tell more all the same
 *	timeline.c   that order over time, within the bounds that both histories state
 *	states.c     every attribute of every CPU, vCPU and thread
 *	rows.c       the tables of what there is: machines, threads, namespaces ...
 *	words.c      `sonde state`, and pictures
 *	tables.c     every table that `sonde report` and SQL show, row by row (sheet.h)
 *	bounds.c     without the host's trace: what tables call "at least"
 *
 * What is wrong is printed, one line each: "wrong", what kind of thing, which one, from, to, what
 * the second history says, what the first one said.
 */

struct side {
	struct sonde_history *history;
	const char *root; /* traces' paths are compared from behind this on */
	int64_t nr_machines, nr_cpus, nr_threads, nr_contexts;
	struct sonde_machine *machines;
	struct sonde_cpu *cpus;
	struct sonde_thread *threads;
	struct sonde_context *contexts;
	uint32_t *bounds;   /* attribute clock_bound, by machine */
	struct line *lines; /* of the clock that both have: from its ticks to the history's time */
	int64_t nr_lines;
};

/* Ticks from @from on are @at + ((ticks - from) * mult >> 32). */
struct line {
	uint64_t from;
	int64_t at;
	uint64_t mult;
};

/* What a machine, or a CPU, of the second history is in the first one. */
struct twin {
	int64_t row; /* -1: nothing there */
	bool within; /* any machine in that one, at whatever depth: that is all it says */
};

/*
 * What the second history is taken to say, that it does not: each is to be found out.
 *
 *	GREATER  sums and lengths are a quarter greater
 *	MODES    what a hypervisor did was its thread's own user space
 *	WAITS    waits that are seen from outside only end ten milliseconds later; so do the
 *		 longest wake-ups of VMs without a trace
 *	EXITS    VMs in one whose trace is missing exited twice as often
 *	GAINS    all that it says of the second half, where the first one knew nothing
 *	BOUNDS   figures that have no bound are "at least" so great
 *	NEIGHBOURS  all that it says while it may say more of another machine or CPU
 */
enum lie {
	LIE_NONE,
	LIE_GREATER,
	LIE_MODES,
	LIE_WAITS,
	LIE_EXITS,
	LIE_GAINS,
	LIE_BOUNDS,
	LIE_NEIGHBOURS
};

struct pair {
	struct side whole, cut;
	struct twin *machines; /* by row of @cut */
	int64_t *cpus;	       /* the same; -1: nothing there, or any of its machine's */
	int64_t *slacks;       /* by row of @cut: the greatest that its clock may have moved */
	int64_t *serve_since;  /* by thread of @cut: told as a hypervisor's from then on */
	int64_t root;  /* what the outermost machine of @cut is in @whole; -1 nothing there */
	int64_t wrong; /* found so far */
	int64_t more;  /* times at which the second history says more than the first one, and may */
	int64_t gain_ns;	   /* ... of what physical CPUs ran, how long */
	int64_t known_ns, kept_ns; /* time in which a state was known, and in which it still is */
	int64_t moments;	   /* pairs of intervals that were compared */
	enum lie lie;
	int64_t rows, rows_kept; /* of tables: thousandths of each */
};

int pair_open(struct pair *p, char **files, char **roots);
void pair_close(struct pair *p);
/* A time of the second history on the first one's time line: how long ticks are follows from
 * evidence, too.  Where the outermost machine's trace was taken away, through the clock of the one
 * that is the outermost now. */
int64_t time_in_whole(const struct pair *p, int64_t t);
int64_t time_in_cut(const struct pair *p, int64_t t); /* back again */

__attribute__((format(printf, 7, 8))) void say_wrong(struct pair *p, const char *kind,
						     const char *which, int64_t from, int64_t to,
						     const char *said, const char *fmt, ...);

/* ---- order.c ------------------------------------------------------------------------------- */

bool machine_fits(const struct pair *p, int64_t cut, int64_t whole);
/* Is that one, or in it. */
bool machine_holds(const struct pair *p, int64_t cut, int64_t whole);
bool cpu_fits(const struct pair *p, int64_t cut, int64_t whole);
bool thread_fits(const struct pair *p, int64_t cut, int64_t whole);
bool namespace_fits(const struct pair *p, int64_t cut, int64_t whole);
bool text_fits(const char *cut, const char *whole);
bool context_fits(const struct pair *p, const struct sonde_context *cut,
		  const struct sonde_context *whole, int64_t t);
/* The other way round: the first history says less than the second one. */
bool context_says_more(const struct pair *p, const struct sonde_context *cut,
		       const struct sonde_context *whole);
/* How far a moment may have moved that both tell of one machine, in ns. */
int64_t slack_of(const struct pair *p, int64_t cut_machine, int64_t whole_machine, int64_t t);
/* The same for what a physical CPU ran: 0 where the host's own clock tells all that differs. */
int64_t slack_of_contexts(const struct pair *p, const struct sonde_context *cut,
			  const struct sonde_context *whole, int64_t t);

/* ---- gains.c ------------------------------------------------------------------------------- */

/* What something is told of, in the second history's rows; -1 of none. */
struct subject {
	int64_t machine; /* -1: of any */
	int64_t vcpu;	 /* as its parent sees it */
	int64_t thread;
};

/* The innermost machine of which a context tells: the one for which a hypervisor works. */
int64_t machine_of_context(const struct side *s, const struct sonde_context *c);
/* The second history may say more of that than the first one in [from, to). */
bool is_gain(const struct pair *p, const struct subject *of, int64_t from, int64_t to);
/* ... or of another machine, CPU or thread. */
bool is_gain_of_any(const struct pair *p, int64_t from, int64_t to);
/* That is in a VM whose own trace only the first history was made of, and there before that trace
 * begins, or after its end. */
bool is_beside_a_trace(const struct pair *p, const struct subject *of, int64_t from, int64_t to);
/* A machine is in a VM whose own trace only the first history was made of. */
bool lacks_host_trace(const struct pair *p, int64_t cut_machine);
/* ... of the VM that this machine is in: another one's trace excuses nothing. */
bool is_beside_host_trace(const struct pair *p, int64_t cut_machine, int64_t from, int64_t to);
/* From when until when that VM's trace tells of all its CPUs, in the first history's time. */
bool host_trace_tells(const struct pair *p, int64_t cut_machine, int64_t *since, int64_t *until);

/* ---- timeline.c ---------------------------------------------------------------------------- */

struct interval_list {
	struct sonde_interval *list;
	size_t nr, room;
};

/* What is asked of one attribute. */
struct question {
	const char *kind;
	char which[160];
	bool (*known)(const struct side *s, uint32_t value);
	/* At that moment: what is known of a thread may not be known yet. */
	bool (*fits)(const struct pair *p, uint32_t cut, uint32_t whole, int64_t t);
	int64_t (*slack)(const struct pair *p, const struct question *q, uint32_t cut,
			 uint32_t whole, int64_t t);
	/* Whether the first history is the less specific one; NULL: only where it knows nothing. */
	bool (*more)(const struct pair *p, uint32_t cut, uint32_t whole);
	void (*word)(const struct side *s, uint32_t value, char *buf, size_t room);
	int64_t cut_machine, whole_machine; /* for slack_of() */
	struct subject of;		    /* for is_gain() */
	bool context;			    /* ... values are contexts, and tell of whom */
	bool part; /* means something at some times only: not counted as known */
};

void list_add(struct interval_list *l, const struct sonde_interval *i);
void list_attr(struct sonde_history *history, uint32_t attr, struct interval_list *out);
/* From the second history's time line to the first one's. */
void list_translate(const struct pair *p, struct interval_list *l);
void list_release(struct interval_list *l);
void compare_timelines(struct pair *p, const struct question *q, const struct interval_list *cut,
		       const struct interval_list *whole);

/* ---- what is compared ---------------------------------------------------------------------- */

void compare_states(struct pair *p);
void compare_rows(struct pair *p);
void compare_words(struct pair *p);
void compare_tables(struct pair *p);
void compare_bounds(struct pair *p);

#endif
