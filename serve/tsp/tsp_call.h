/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_TSP_TSP_CALL_H
#define SERVE_TSP_TSP_CALL_H

#include "serve/tsp/tsp.h"
#include "serve/tsp/tsp_query.h"
#include "sonde/tables.h"

/* What the answers of serve/tsp_*.c share; nobody else includes this. */

#define TSP_UUID_CHARS 36
#define TSP_NAME_MAX 200
#define TSP_EXPERIMENTS_MAX 64

/* What one is made of; a copy of it is made under the lock for each answer. */
struct tsp_experiment {
	char uuid[TSP_UUID_CHARS + 1]; /* "" = this place is free */
	char name[TSP_NAME_MAX];
	unsigned histories[TSP_HISTORIES_MAX];
	unsigned nr_histories;
	int64_t nr_events; /* counted so far */
	bool counted;	   /* to the end, or they cannot be read */
};

/* A history as part of an experiment. */
struct tsp_part {
	struct sonde_history *history; /* the worker's */
	const char *path;
	int64_t begin, end; /* of the history */
	int64_t offset;	    /* add to a time of the history */
	int64_t first_id;   /* of its entries */
};

/* An experiment as a worker sees it. */
struct tsp_view {
	struct tsp_part parts[TSP_HISTORIES_MAX];
	unsigned nr;
	int64_t begin, end; /* of all, in the experiment's time */
	bool unix_time;
};

enum tsp_output_kind {
	TSP_FUSED,   /* time graphs: physical CPUs, */
	TSP_VCPUS,   /* vCPUs as their hosts see them, */
	TSP_THREADS, /* threads as their own kernels see them */
	TSP_CPU_USE, /* charts */
	TSP_EXIT_RATE,
	TSP_EVENTS, /* tables */
	TSP_ROWS,
	TSP_STATISTICS, /* trees of numbers */
};

struct tsp_output {
	char id[TSP_ID_MAX];
	enum tsp_output_kind kind;
	const char *type; /* of the protocol */
	const char *name, *help;
	const struct sonde_table *table; /* rows and statistics */
};

struct tsp_call {
	struct tsp *tsp;
	const struct readers *readers;
	const struct tsp_route *route;
	const struct tsp_query *query;
	const struct request *request; /* parameters of the URL */
	struct json json;
	struct tsp_experiment experiment; /* when the path names one, */
	struct tsp_view view;		  /* and of its histories; */
	struct tsp_output output;	  /* likewise */
	const char *status;		  /* of an answer with a model */
	char message[520];
};

/* 0, or -EINVAL (the question is wrong), -ENOENT, -EEXIST, other -errno; and a sentence.  Those of
 * outputs write a value with the key "model". */
typedef int tsp_answer_fn(struct tsp_call *c, struct error *err);

tsp_answer_fn tsp_health, tsp_identifier, tsp_empty_list, tsp_traces, tsp_trace, tsp_open_trace,
	tsp_close_trace, tsp_experiments, tsp_experiment, tsp_make_experiment,
	tsp_remove_experiment, tsp_outputs, tsp_one_output;
tsp_answer_fn tsp_tree, tsp_states, tsp_arrows, tsp_tooltip, tsp_styles;
tsp_answer_fn tsp_marker_sets, tsp_categories, tsp_annotations;
tsp_answer_fn tsp_xy_tree, tsp_xy, tsp_columns, tsp_lines, tsp_data_tree;

/* ---- the session: tsp_session.c ------------------------------------------------------------ */

/* A copy of the experiment with that UUID; -ENOENT. */
int tsp_find_experiment(struct tsp *tsp, const char *uuid, struct tsp_experiment *out);

/* Notes how many of its events have been counted. */
void tsp_note_events(struct tsp *tsp, const char *uuid, int64_t nr, bool all);

/* ---- times: tsp_view.c --------------------------------------------------------------------- */

/* Runs (indices) side by side. */
int tsp_view_of(struct tsp_view *v, const struct readers *readers, const unsigned *histories,
		unsigned nr, struct error *err);

/* Fills c->view from c->experiment. */
int tsp_view_init(struct tsp_call *c, struct error *err);

/* A time of the history in the experiment's; what sticks out of the history is cut off. */
int64_t tsp_time(const struct tsp_part *p, int64_t t);

/* The other way, not cut off. */
int64_t tsp_run_time(const struct tsp_part *p, int64_t t);

/* The part of [from, to), in the experiment's time, that lies in the history; false: none does. */
bool tsp_clip(const struct tsp_part *p, int64_t from, int64_t to, int64_t *begin, int64_t *end);

/* ---- outputs: tsp_outputs.c ---------------------------------------------------------------- */

int tsp_find_output(const char *id, struct tsp_output *out);

/* ---- entries: tsp_entries.c ---------------------------------------------------------------- */

/*
 * An entry is a row of one of the history's tables.  It has the same number in all outputs of an
 * experiment, so that what is selected in one view is found in another.
 */
enum tsp_entry_kind { TSP_MACHINE, TSP_CPU, TSP_PID_NS, TSP_THREAD, TSP_NR_KINDS };

struct tsp_entry {
	const struct tsp_part *part;
	enum tsp_entry_kind kind;
	int64_t row;
};

int64_t tsp_entry_id(const struct tsp_part *p, enum tsp_entry_kind kind, int64_t row);
int tsp_entry_find(const struct tsp_view *v, int64_t id, struct tsp_entry *out);

/* How many numbers the history's entries take. */
int64_t tsp_nr_entries(const struct sonde_history *history);

/* The attribute that a row of this output shows, SONDE_NO_ATTR when it shows none. */
uint32_t tsp_entry_attr(enum tsp_output_kind output, const struct tsp_entry *e);

/* A machine's heading: id, parent and labels, the rest of @nr_labels empty. */
void tsp_put_machine(struct tsp_call *c, const struct tsp_part *p, int64_t machine,
		     unsigned nr_labels);

/* ---- writing: tsp_write.c ------------------------------------------------------------------ */

void tsp_put_style(struct json *j, const char *parent);
void tsp_put_header(struct json *j, const char *name, const char *tooltip, const char *type);

/* The key of the style of a value of an output's attribute. */
const char *tsp_state_style(enum tsp_output_kind output, const struct sonde_history *history,
			    uint32_t value, char *buf, size_t room);

/* What that value is called. */
void tsp_state_label(enum tsp_output_kind output, const struct sonde_history *history,
		     uint32_t value, char *buf, size_t room);

/* The range of the question, and the entries it wants, sorted: all when it names none (*nr is then
 * -1).  *items is the caller's to free. */
int tsp_get_range(const struct tsp_call *c, struct tsp_range *range, struct error *err);
int tsp_get_items(const struct tsp_call *c, int64_t **items, int *nr, struct error *err);
bool tsp_wants(const int64_t *items, int nr, int64_t id);

/* A cell by the name of its column, which is one of the analysis. */
union sonde_cell tsp_cell(const struct sonde_rows *f, size_t row, const char *column);

/* ---- events: tsp_events.c ------------------------------------------------------------------ */

struct tsp_events;

/* Lines of the experiment's events; the file has more. */
int tsp_event_columns(struct tsp_call *c, struct error *err);
int tsp_event_lines(struct tsp_call *c, struct error *err);

/* Counts for a while; true when all have been counted, or they cannot be read. */
bool tsp_count_events(struct tsp_call *c);

#endif
