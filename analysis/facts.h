/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_FACTS_H
#define ANALYSIS_FACTS_H

#include "query/kept.h"
#include "base/arena.h"
#include "sonde/facts.h"

/*
 * How an analysis is made: a struct analysis with its columns and a function that adds rows.
 * All of them stand in the list in analyses.c; each is a file of its own.
 */
struct analysis {
	struct sonde_analysis public;
	int (*find)(struct sonde_facts *out, struct sonde_run *run, ns_t begin, ns_t end,
		    struct error *err);
};

/*
 * A list of very many rows is not written as rows: its analysis keeps what it found in a form of
 * its own, a fraction of their size, and makes a cell when somebody asks for it.  Such a struct
 * begins with this one.
 */
struct facts_log {
	union sonde_cell (*cell)(const struct facts_log *log, size_t row, unsigned column);
	void (*release)(struct facts_log *log);
};

struct sonde_facts {
	const struct sonde_analysis *analysis;
	struct arena arena;	  /* owned: strings made by the analysis */
	struct facts_log *log;	  /* owned; NULL: the rows are in pages */
	union sonde_cell **pages; /* owned, each owned: FACTS_PAGE rows each, in the order in which
				     they came */
	size_t pages_room;
	size_t nr_rows;
	uint32_t *order; /* owned: rows as they are told; NULL: as they came */
	bool no_memory;	 /* a row was lost: the whole answer is an error */
	unsigned users;	 /* the caller, and the run that keeps it */
};

/*
 * Facts are asked for over and over: by those that are made of others, and by people who look at
 * one window.  A run keeps the last few answers that are small.
 */
#define FACTS_KEPT 48
#define FACTS_KEPT_CELLS 65536

struct facts_kept {
	struct kept kept;
	struct kept_facts {
		ns_t begin, end;
		struct sonde_facts *facts; /* NULL: none yet */
	} list[FACTS_KEPT];
	unsigned next; /* to be replaced */
};

/* Lists of what was found one by one are long: their rows stay where they were put, and what is
 * sorted is numbers. */
#define FACTS_PAGE 128

/* A new row, to be filled in column order; NULL: no memory. */
union sonde_cell *facts_new_row(struct sonde_facts *f);

/* Adds a row; @cells in column order. */
void facts_add(struct sonde_facts *f, const union sonde_cell *cells);

/* All rows at once, of facts that have none so far; the log is theirs from now on. */
void facts_set_log(struct sonde_facts *f, struct facts_log *log, size_t nr_rows);

/* A cell that there is. */
static inline union sonde_cell facts_cell(const struct sonde_facts *f, size_t row, unsigned column)
{
	size_t came = f->order ? f->order[row] : row;

	if (f->log)
		return f->log->cell(f->log, came, column);
	return f->pages[came / FACTS_PAGE][came % FACTS_PAGE * f->analysis->nr_columns + column];
}

/* Sorts rows by an integer column, greatest first; those that are equal in it stay as they are. */
void facts_sort(struct sonde_facts *f, const char *column);
/* The same, least first. */
void facts_sort_rising(struct sonde_facts *f, const char *column);

/* The cell of a column that there is. */
union sonde_cell facts_named(const struct sonde_facts *f, size_t row, const char *column);

/* The row in which an integer column is @value, of facts whose rows come in the rising order of
 * that column (those per vCPU do, if not sorted by another); -1 none. */
int64_t facts_find_rising(const struct sonde_facts *f, const char *column, int64_t value);

/* A copy with those rows that are about @machine or one inside it: whose row it is says the first
 * column that names a machine or a CPU.  Without such a column, no row is.  0 or -ENOMEM. */
int facts_of_machine(struct sonde_facts **out, const struct sonde_run *run,
		     const struct sonde_facts *all, int64_t machine);

static inline union sonde_cell cell_int(int64_t i)
{
	return (union sonde_cell){.i = i};
}

static inline union sonde_cell cell_str(const char *s)
{
	return (union sonde_cell){.s = s};
}

/* @part of @whole in parts per million, rounded. */
int64_t share_ppm(ns_t part, ns_t whole);

/* The rows of a window, for who makes others of them; sonde_facts_free() them.  An error, too, when
 * the window ends before it begins. */
int analysis_facts(struct sonde_facts **out, struct sonde_run *run, const struct analysis *a,
		   ns_t begin, ns_t end, struct error *err);

extern const struct analysis machine_time_analysis;
extern const struct analysis level_time_analysis;
extern const struct analysis cpu_time_analysis;
extern const struct analysis container_time_analysis;
extern const struct analysis process_time_analysis;
extern const struct analysis thread_time_analysis;
extern const struct analysis vcpu_time_analysis;
extern const struct analysis hypervisor_analysis;
extern const struct analysis exit_reason_analysis;
extern const struct analysis exits_analysis;
extern const struct analysis exit_cause_analysis;
extern const struct analysis exit_histogram_analysis;
extern const struct analysis nesting_analysis;
extern const struct analysis preemption_analysis;
extern const struct analysis preemption_victim_analysis;
extern const struct analysis preemption_list_analysis;
extern const struct analysis thread_delay_analysis;
extern const struct analysis why_analysis;
extern const struct analysis delay_analysis;
extern const struct analysis vms_analysis;
extern const struct analysis boot_analysis;
extern const struct analysis initcall_analysis;
extern const struct analysis shutdown_analysis;
extern const struct analysis vcpu_state_analysis;
extern const struct analysis wait_analysis;
extern const struct analysis wait_list_analysis;
extern const struct analysis steal_analysis;
extern const struct analysis wakeup_analysis;
extern const struct analysis wakeup_list_analysis;
extern const struct analysis wakeup_histogram_analysis;
extern const struct analysis wakeup_awake_analysis;
extern const struct analysis wakeup_awake_list_analysis;
extern const struct analysis io_analysis;
extern const struct analysis io_stage_analysis;
extern const struct analysis io_list_analysis;
extern const struct analysis io_histogram_analysis;
extern const struct analysis io_step_analysis;
extern const struct analysis clock_analysis;
extern const struct analysis gap_analysis;
extern const struct analysis refused_analysis;
extern const struct analysis left_out_analysis;
extern const struct analysis problem_analysis;
extern const struct analysis mark_analysis;

#endif
