/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include "arch/arch.h"
#include "arch/exits.h"
#include "base/error.h"
#include "base/map.h"
#include "base/members.h"
#include "history/history.h"
#include "sonde/history.h"

/*
 * Behind the public struct sonde_history: a history whose tables are read by column name, so that a
 * file which lacks a column (an older version) still opens; what is missing reads as unknown.
 */
enum query_table {
	QUERY_MACHINE,
	QUERY_CPU,
	QUERY_THREAD,
	QUERY_PID_NS,
	QUERY_VTID,
	QUERY_CONTEXT,
	QUERY_CLOCK,
	QUERY_LOSS,
	QUERY_PROBLEM,
	QUERY_LEFT_OUT,
	QUERY_META,
	QUERY_CGROUP,
	QUERY_IDENTITY,
	QUERY_STAT,
	QUERY_EXIT,
	QUERY_MILESTONE,
	QUERY_WAKE,
	QUERY_VECTOR,
	QUERY_IRQ,
	QUERY_MARK,
	QUERY_REQUEST,
	QUERY_INITCALL,
	QUERY_REFUSED,
	QUERY_KEPT_EVENT,
	QUERY_NR_TABLES
};

#define QUERY_COLUMNS_MAX 24

/* A vCPU's or a physical CPU's attributes, and what they are called. */
enum cpu_attr {
	CPU_RUNS,
	CPU_STATE,
	CPU_ON,
	CPU_TASK,
	CPU_EXIT,
	CPU_WOKEN,
	CPU_WHY_OFF,
	CPU_NR_ATTRS
};
extern const char *const query_cpu_attr_names[CPU_NR_ATTRS];

struct thread_key;
struct exit_kind;
struct kept;

struct sonde_history {
	char *path; /* owned */
	struct history *file;
	struct query_cells {
		const int64_t *cells; /* the history's: row by row */
		int64_t nr_rows;
		unsigned nr_columns;			   /* of the file's own */
	} tables[QUERY_NR_TABLES];			   /* all 0: there is none */
	int8_t column[QUERY_NR_TABLES][QUERY_COLUMNS_MAX]; /* in the file; -1 = the file lacks it */
	struct map cpu_rows;				   /* machine << 32 | number -> row */
	uint32_t *cpu_order;				   /* owned: rows by machine and number */
	struct map vector_rows;				   /* cpu row << 8 | vector -> row */
	attr_t (*cpu_attrs)[CPU_NR_ATTRS];		   /* owned, per CPU row */
	struct sonde_cpu *cpus;	      /* owned, per CPU row: analyses ask often */
	int64_t *ns_init;	      /* owned, per pid_ns row: its first thread */
	struct exit_kind *exit_kinds; /* owned, per exit row: asked for per exit */
	int64_t nr_exit_kinds;
	struct sonde_machine *machines; /* owned, per row: the same */
	struct members identities;	/* rows, by machine */
	attr_t *thread_dirs;	      /* owned, per machine: where its threads' attributes stand */
	struct sonde_vector *vectors; /* owned, per row: the same */
	struct sonde_wake *wakes;     /* owned; NULL: not read yet */
	struct sonde_context *contexts;	  /* the same */
	struct sonde_thread *thread_rows; /* the same */
	struct thread_key *threads;	  /* owned; sorted; made when first needed */
	struct kept *kept;		  /* owned: what analyses keep, kept.h */
	ns_t known_until;  /* of a history that is not complete: see sonde_history_traced() */
	enum exit_isa isa; /* of exit reasons where nothing tells it */
	struct query_watch {
		struct sonde_watcher watcher;
		const char *phase; /* of the long call that runs; NULL: none does */
		unsigned reads;
		bool stopped; /* the watcher wants the call to end */
	} watch;
};

/*
 * A long call stands between these two: the caller's watcher is then asked at every so many reads.
 * Once it has said stop, all reads fail, and query_end() returns -EINTR whatever @ret is.  What
 * analyses keep with the history may then be half made, and is dropped.
 */
void query_begin(struct sonde_history *history, const char *phase);
int query_end(struct sonde_history *history, int ret, struct error *err);

/* False: the watcher wants the long call that runs to end. */
bool query_goes_on(struct sonde_history *history);

/* As history_list(): how analyses read intervals. */
int query_list(struct sonde_history *history, attr_t attr, ns_t begin, ns_t end, ns_t *begins,
	       uint32_t *values, unsigned room, unsigned *nr);

/* Puts an inner error where the public interface wants it; returns @ret. */
int query_error(struct sonde_error *out, int ret, const struct error *err);

/* All contexts, and all threads, by row: for analyses that look at many; once they are there,
 * sonde_context_get() and sonde_thread_get() take them from there, too.  NULL: no memory. */
const struct sonde_context *query_contexts(struct sonde_history *history);
const struct sonde_thread *query_threads(struct sonde_history *history);

/* A cell, and a cell that holds text; -1 and "" where there is none. */
int64_t query_cell(const struct sonde_history *history, enum query_table table, int64_t row,
		   unsigned column);
const char *query_text(const struct sonde_history *history, enum query_table table, int64_t row,
		       unsigned column);

/* What its guest calls an interrupt of a vCPU; "" unknown. */
const char *query_vector_irq(const struct sonde_history *history, int64_t vcpu, int64_t vector);
/* What the handlers of a machine's interrupt line are called there; "" unknown. */
const char *query_irq_name(const struct sonde_history *history, int64_t machine, int64_t irq);
/* Whether a wait is over there that was not seen to end: events of it were lost. */
bool query_wake_is_loss(const struct sonde_history *history, int64_t wake);
/* What it is for, all deliveries of the history taken together. */
enum sonde_cause query_vector_cause(const struct sonde_history *history, int64_t vcpu,
				    int64_t vector);
int query_index_vectors(struct sonde_history *history, struct error *err);
/* For who will ask for very many rows of "wake": has them all read.  Without the memory for that
 * each costs more. */
void query_read_wakes(struct sonde_history *history);
int query_index_exits(struct sonde_history *history, struct error *err);

/* Hands a struct to a caller whose own may be of another version, and shorter or longer: see
 * sonde/types.h. */
void query_give(void *out, size_t out_bytes, const void *own, size_t own_bytes);

/* False when a PID namespace's row names a parent that it cannot be in; it then counts as having
 * none. */
bool query_pid_ns_fits(const struct sonde_history *history, int64_t row);

/* Physical CPUs are the CPUs of machine 0. */
static inline bool cpu_is_physical(const struct sonde_cpu *cpu)
{
	return cpu->machine == 0;
}

/* @machine is @outer, or inside it. */
bool query_is_inside(const struct sonde_history *history, int64_t machine, int64_t outer);

/* CPU row of the vCPU that a hypervisor's context is about; where it serves a guest of a vCPU, and
 * it is not known which (@serves -1), that vCPU.  -1 unknown. */
int64_t query_vcpu_served(const struct sonde_history *history, const struct sonde_context *c);

/* Number of the first CPU a thread was seen on; it is there until its attribute "cpu" says
 * otherwise.  -1 unknown. */
int query_first_cpu(const struct sonde_history *history, int64_t thread);

/* What a context's CPU does, without by whom: "syscall openat", "irq 236"; what snprintf() returns.
 */
int context_mode_label(const struct sonde_context *c, char *buf, size_t room);

/* What a softirq is called; NULL when it has no name. */
const char *softirq_name(int64_t nr);

/* Values of a vCPU's and of a thread's `state`. */
const char *query_vcpu_state_name(uint32_t state);
const char *query_thread_state_name(uint32_t state);

#endif
