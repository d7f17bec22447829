/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPORT_ROWS_H
#define EXPORT_ROWS_H

#include "query/query.h"
#include "export/export.h"

/*
 * The rows of a history that an export is about, and the way through its time that all exports
 * take: piece by piece of the history, in each all rows.  What an interval of a row becomes is the
 * export's business.
 */
struct thread_row {
	int64_t thread;
	unsigned machine;
	int64_t pid, tid;
	ns_t begin, end; /* its life; @end NS_MAX: it did not end */
	attr_t state, waker;
};

struct rows {
	struct sonde_history *history;
	const struct export_options *options;
	struct thread_row *threads; /* owned: by machine, process and number */
	size_t nr_threads;
};

/* 0 or -ENOMEM. */
int rows_init(struct rows *r, struct sonde_history *history, const struct export_options *o);
void rows_release(struct rows *r);

bool rows_has_machine(const struct rows *r, int64_t machine);
/* Of a CPU: physical and wanted; a vCPU's and wanted. */
bool rows_has_cpu(const struct rows *r, int64_t cpu);
bool rows_has_vcpu(const struct rows *r, int64_t cpu);
/* Its place in r->threads, -1: it is not wanted. */
int64_t rows_find_thread(const struct rows *r, int64_t thread);

/* What the values of the attribute "state" are called; NULL: there is nothing then. */
const char *vcpu_state_name(uint32_t state);
const char *thread_state_name(uint32_t state);

/* The losses of machines that are wanted, cut to the window, by machine, CPU and begin; of one CPU,
 * none lies upon another.  *out is the caller's to free.  0 or -ENOMEM. */
int rows_losses(const struct rows *r, struct sonde_loss **out, size_t *nr);

/* A piece of the time. */
struct piece {
	ns_t begin, end;
	bool first;
};

/* False: nothing of it is in that piece.  A history may have had a hundred thousand threads, of
 * which few were there at a time. */
bool rows_lives_in(const struct thread_row *t, const struct piece *p);

/* Calls @each for the pieces of the window in order, until one returns something else than 0; asks
 * before each whether to go on.  What @each returned, or -EINTR. */
int rows_pieces(const struct rows *r, int (*each)(const struct piece *p, void *data), void *data);

/*
 * Calls @each for the intervals of @attr that begin in the piece, and in the first piece for the
 * one that holds its begin; clipped to the window.  So each interval is seen once, and rows in
 * order of time. An attribute that there is not is like one without intervals.  -EINTR as above.
 */
int rows_walk(const struct rows *r, const struct piece *p, attr_t attr,
	      bool (*each)(const struct sonde_interval *i, void *data), void *data);

/* 0, or why @out has not taken all it was given. */
int rows_output(const struct rows *r, FILE *out);

/* Says in @err what @ret means, which came out of reading the history or of rows_output(); returns
 * @ret. */
int rows_fail(struct error *err, int ret, FILE *out);

/* The same test for what other scans find: it begins in the piece, or is there when the window
 * begins. */
bool piece_has(const struct piece *p, ns_t begin);

#endif
