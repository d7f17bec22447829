/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_DRAW_H
#define EXPORT_DRAW_H

#include "analysis/sched/cpu_users.h"
#include "export/canvas.h"
#include "export/rows.h"

/*
 * Draws a history on a canvas:
 *
 *	<machine>
 *	    CPU use, exits, clock bound      values
 *	    CPUs                             host: what really runs on each, layer within layer
 *	    vCPUs                            VM: state; waits, by what ended them; who had the CPU
 *	    threads                          state, by process
 *	    lost events, marks           by CPU
 *	    <VM in it>
 *	about                                where all this comes from
 *
 * Arrows go from who woke a thread or a vCPU to it, and from a physical CPU to the vCPU that lost
 * it. draw.c declares the tracks and goes through the time; draw_*.c draw the rows.
 */
enum track_kind {
	DRAW_MACHINE = 1, /* of a machine */
	DRAW_CPUS,
	DRAW_THREADS,
	DRAW_USE,
	DRAW_EXITS,
	DRAW_BOUND,
	DRAW_LOST,
	DRAW_MARKS,
	DRAW_CPU, /* of a CPU */
	DRAW_WAITS,
	DRAW_KEPT_OFF,
	DRAW_LOST_CPU,
	DRAW_PROCESS, /* of a thread */
	DRAW_THREAD,
	DRAW_ABOUT,
};

_Static_assert(DRAW_ABOUT < 16, "four bits of a track's id");

static inline uint64_t track_id(enum track_kind kind, int64_t row)
{
	return (uint64_t)row << 4 | kind;
}

#define LABEL_MAX 200

struct cpu_stack;
struct label;
struct values;

struct draw {
	struct rows rows;
	struct sonde_history *history;
	const struct export_options *options;
	struct canvas *canvas;
	struct cpu_users *users;  /* the history's */
	struct cpu_stack *stacks; /* owned, per CPU row */
	struct values *values;	  /* owned; NULL: not wanted */
	struct label *labels;	  /* owned: of threads drawn last */
	uint64_t flows;		  /* so far */
};

/* A thread as one of its machine: "vm-a: wl[164]", of L0 without the machine. */
void draw_thread_label(const struct draw *d, int64_t thread, char buf[static LABEL_MAX]);

const char *draw_machine_name(const struct draw *d, int64_t machine);

/* Whether that track was declared. */
bool draw_has_thread(const struct draw *d, int64_t thread);
bool draw_has_cpu(const struct draw *d, int64_t cpu); /* physical or a vCPU's */

/* An arrow from @from at @t, where a moment called @name is drawn, to what is drawn next with the
 * flow that is returned. */
uint64_t draw_arrow(struct draw *d, uint64_t from, ns_t t, const char *name, const char *category);

/* What draws the rows of a piece: 0 or a negative errno. */
int draw_cpus(struct draw *d, const struct piece *p);
int draw_vcpus(struct draw *d, const struct piece *p);
int draw_threads(struct draw *d, const struct piece *p);

/* What runs on physical CPUs goes on from piece to piece: 0 or -ENOMEM; what runs at the end of the
 * window ends there. */
int draw_cpus_begin(struct draw *d);
void draw_cpus_end(struct draw *d);

/* Values: made once, 0 or -ENOMEM; told of what passes by, and drawn at the end. */
int values_new(struct draw *d);
void values_free(struct draw *d);
void values_add_use(struct draw *d, unsigned machine, const struct sonde_interval *i);
int values_piece(struct draw *d, const struct piece *p); /* exits, and clocks' bounds */
void values_draw(struct draw *d);

/* What is no row: losses, marks, clocks, where the history comes from. */
int draw_notes(struct draw *d);

/* All of it; the canvas is the caller's, who closes it.  0, or a negative errno and a sentence. */
int draw_run(struct canvas *c, struct sonde_history *history, const struct export_options *o,
	     struct error *err);

#endif
