/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVE_API_API_H
#define SERVE_API_API_H

#include "report/buckets.h"
#include "serve/api/reply.h"
#include "serve/api/request.h"
#include "sonde/events.h"

/*
 * The questions that can be asked: one row of a table each, one file per subject.  docs/serve.md
 * has their parameters and answers.  Times in questions and answers are ns from the begin of the
 * history, so that they stay exact in a page's numbers.
 */
struct call {
	struct sonde_history *history; /* nobody else uses it meanwhile */
	struct kept *kept;	       /* nor this */
	const char *path;	       /* of the history */
	const struct request *request;
	struct reply *reply; /* opened, with the endpoint's type */
	int64_t begin;	     /* of the history; times are told from here */
	int64_t length;
};

/* Whether a window, in the history's own time, is all of the history, which each page's strip is
 * of: that one is kept. */
static inline bool call_is_whole(const struct call *c, int64_t begin, int64_t end)
{
	return begin == sonde_history_begin(c->history) && end == sonde_history_end(c->history);
}

/* Whether it is where the physical machine was traced, which each page's analyses begin with: they
 * are kept. */
static inline bool call_is_traced(const struct call *c, int64_t begin, int64_t end)
{
	int64_t traced_begin, traced_end;

	sonde_history_traced(c->history, &traced_begin, &traced_end);
	return begin == traced_begin && end == traced_end;
}

/* What stays open from one answer to the next, all zero at first. */
struct kept {
	struct sonde_events *events; /* owned: the traces, once they were needed */
	const char *cache; /* directory of serve/api/cache.h, the server's; NULL: nothing is kept
			      there */
	struct load load;  /* owned: of the whole history, which each page begins with; .time_ns
			      NULL:  none yet */
};

void kept_release(struct kept *k);

/* Where a question waits: what may take long does not hold up what does not. */
enum line {
	LINE_QUICK,  /* answered from summaries, in milliseconds */
	LINE_SLOW,   /* may walk a long history */
	LINE_TRACES, /* reads the traces */
	NR_LINES
};

struct endpoint {
	const char *name;
	const char *type; /* MIME, of the answer */
	enum line line;
	/* 0, or -EINVAL (the question is wrong), -ENOENT, other -errno; and a sentence. */
	int (*answer)(struct call *c, struct error *err);
};

const struct endpoint *endpoint_find(const char *name);

/* Whether two workers may answer at a time, one with PART_EVEN and one with PART_ODD. */
bool endpoint_splits(const struct endpoint *e, const struct request *request);

/* Makes the whole of what they answered, in @even; @odd is to be released all the same. */
void endpoint_join(struct reply *even, struct reply *odd);

/* Answers into @reply whatever happens. */
void endpoint_answer(const struct endpoint *e, struct sonde_history *history, struct kept *kept,
		     const char *path, const struct request *request, struct reply *reply);

/* The same of a part of the history, as if that were all there is. */
void endpoint_answer_part(const struct endpoint *e, struct sonde_history *history,
			  struct kept *kept, const char *path, int64_t begin, int64_t end,
			  const struct request *request, struct reply *reply);

#define ROWS_MAX 1024		/* attributes in one question */
#define PIXELS_MAX 8192		/* of their width */
#define CHUNK_MAX 16384		/* rows of a table in one answer */
#define LIST_MAX 1024		/* rows of a table that are named in a question */
#define TABLE_ROWS_MAX 2000	/* rows of rows in one answer */
#define EVENTS_MAX 10000	/* in one answer */
#define EVENTS_READ_MAX 2000000 /* looked at for one answer */
#define STEPS_MAX 200000	/* changes looked at for one step */
#define CHANGES_MAX 1000000	/* in one answer */
#define ARROW_ROWS_MAX 256	/* threads, or CPUs, in one question */
#define ARROWS_MAX 20000	/* of each kind in one answer */
#define ARROWS_WALKED_EACH 24	/* changes looked at for each that is asked for */

/* The cells of a row, into an array that has begun. */
void context_cells(struct json *j, const struct call *c, int64_t row);
void thread_cells(struct json *j, const struct call *c, int64_t row);

int answer_index(struct call *c, struct error *err);
int answer_model(struct call *c, struct error *err);
int answer_contexts(struct call *c, struct error *err);
int answer_threads(struct call *c, struct error *err);
int answer_rows(struct call *c, struct error *err);
bool rows_split(const struct request *request);
int rows_join(FILE *out, const struct reply *even, const struct reply *odd);
int answer_changes(struct call *c, struct error *err);
int answer_load(struct call *c, struct error *err);
int answer_at(struct call *c, struct error *err);
int answer_step(struct call *c, struct error *err);
int answer_time(struct call *c, struct error *err);
int answer_table(struct call *c, struct error *err);
int answer_path(struct call *c, struct error *err);
int answer_exits(struct call *c, struct error *err);
int answer_arrows(struct call *c, struct error *err);
int answer_events(struct call *c, struct error *err);

#endif
