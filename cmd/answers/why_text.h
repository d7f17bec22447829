/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_WHY_TEXT_H
#define CMD_ANSWERS_WHY_TEXT_H

#include "cmd/common/command.h"

/* What sonde why is asked, and its answer as text (why_text.c). */

struct why_options {
	uint64_t top;
	const char *vm;
	const char *task;
	const char *slower_than;
};

/* A question: which rows are wanted. */
struct question {
	struct sonde_history *history;
	int64_t vm;	  /* machine, -1 any */
	const char *task; /* NULL any */
	int64_t slower_than;
	struct sonde_rows *rows;
	int text, cost, begin, end, kind, machine, vcpu, thread, culprit, culprit_time, count,
		cause; /* columns */
};

static inline union sonde_cell verdict_cell(const struct question *q, size_t row, int column)
{
	return sonde_rows_cell(q->rows, row, (unsigned)column);
}

/* Whether a row says what cannot be known. */
bool verdict_is_unknown(const struct question *q, size_t row);

/* Whether it tells of an attempt, which cost nothing. */
bool verdict_is_attempt(const struct question *q, size_t row);

/* Whether it is one that is asked for. */
bool verdict_is_wanted(const struct question *q, size_t row);

void why_print_text(const struct invocation *inv, const struct question *q, int64_t begin,
		    int64_t end);

#endif
