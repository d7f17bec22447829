/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_STOLEN_H
#define CMD_ANSWERS_STOLEN_H

#include "arch/exits.h"
#include "record/steal/stolen_read.h"
#include "report/json.h"

/* What `sonde stolen` shows: windows with sums per vCPU, and stretches one by one. */

/* ---- sums */

struct stolen_cpu {
	bool is_told; /* in this window or before */
	struct st_told begin, end;
	int64_t span_ns;		/* that was told of, in the guest's own time */
	struct st_record longest, last; /* of the window; number 0: none */
	uint64_t next, missed;
	int64_t steal_ns, steal_begin_ns; /* as /proc/stat has it; -1 it has not */
};

struct stolen_window {
	struct stolen_reader *reader;
	struct stolen_cpu *cpus; /* owned */
	unsigned nr;
	uint64_t end_tsc;
};

/* NULL: no memory. */
struct stolen_window *stolen_window_new(struct stolen_reader *r);
void stolen_window_begin(struct stolen_window *w);
/* Some times a second in between: rings have room for some hundred stretches. */
void stolen_window_look(struct stolen_window *w);
void stolen_window_end(struct stolen_window *w);
void stolen_window_free(struct stolen_window *w);

/* The line above the table; its columns, the last of which is only there to compare. */
char *stolen_about(const struct stolen_window *w, char *buf, size_t room);
#define STOLEN_TEXT_COLUMN 8 /* from this one on, words; numbers before it, and in the last */
unsigned stolen_columns(bool compare);
const char *stolen_title(unsigned column);
char *stolen_cell(const struct stolen_window *w, unsigned cpu, unsigned column, char *buf,
		  size_t room);
void stolen_window_json(const struct stolen_window *w, struct json *j);

/* ---- one by one */

struct stolen_stretch {
	unsigned cpu;
	int64_t begin_real_ns; /* CLOCK_REALTIME */
	enum exit_isa isa;
	struct st_record record;
};

struct stolen_list;

struct stolen_list *stolen_list_new(struct stolen_reader *r);
void stolen_list_fill(struct stolen_list *l);
/* In order of time, as far as it is told; NULL: no more for now. */
const struct stolen_stretch *stolen_list_next(struct stolen_list *l);
uint64_t stolen_list_missed(const struct stolen_list *l);
void stolen_list_free(struct stolen_list *l);
char *stolen_stretch_text(const struct stolen_stretch *s, char *buf, size_t room);
void stolen_stretch_json(const struct stolen_stretch *s, struct json *j);

#endif
