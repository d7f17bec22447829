/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sched/thread_scan.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/sched/thread_tracks.h"
#include "model/context.h"

/* Intervals of one attribute of a thread, read in bulk, and one after the other. */
struct reading {
	struct sonde_history *history;
	attr_t attr;
	unsigned at, nr; /* .nr 0: nothing is read yet */
	ns_t *begins;	 /* owned; behind the last is where that ends */
	uint32_t *values;
};
#define READING_ROOM 4096

static bool reading_init(struct reading *r, struct sonde_history *history)
{
	r->history = history;
	r->begins = malloc((READING_ROOM + 1) * sizeof(*r->begins));
	r->values = malloc(READING_ROOM * sizeof(*r->values));
	return r->begins && r->values;
}

static void reading_release(struct reading *r)
{
	free(r->begins);
	free(r->values);
}

static void reading_begin(struct reading *r, attr_t attr)
{
	r->attr = attr;
	r->nr = 0;
}

/* Goes on to the interval that holds @t, which is not before where it is.  More will be asked for
 * up to @end. */
static int reading_seek(struct reading *r, ns_t t, ns_t end)
{
	int ret;

	if (r->nr && t < r->begins[r->nr]) {
		while (t >= r->begins[r->at + 1])
			r->at++;
		return 0;
	}
	r->at = 0;
	ret = query_list(r->history, r->attr, t, t < end ? end : t + 1, r->begins, r->values,
			 READING_ROOM, &r->nr);
	return ret || r->nr ? ret : -ERANGE;
}

struct scan {
	struct sonde_history *history;
	ns_t begin, end; /* in the history */
	int first_cpu;	 /* where the thread was first, -1 unknown */
	struct thread_tracks *tracks;
	struct reading cpus; /* .attr ATTR_NONE: it never moved */
	struct thread_wait wait;
	void (*each)(const struct thread_wait *wait, void *data);
	void *data;
	int ret;
};

/* The CPU it waits for is the one that it then runs on.  Where it is not seen to run then, that is
 * not known. */
static int cpu_waited_for(struct scan *s, ns_t end, int *cpu)
{
	struct reading *r = &s->cpus;
	struct sonde_interval then;
	int ret;

	*cpu = -1;
	if (end >= sonde_history_end(s->history))
		return 0;
	ret = thread_state_at(s->tracks, s->wait.thread, end, &then);
	if (ret || then.value != THREAD_RUNNING)
		return ret;
	*cpu = s->first_cpu;
	if (r->attr == ATTR_NONE)
		return 0;
	ret = reading_seek(r, end, s->end);
	if (!ret && r->values[r->at])
		*cpu = (int)r->values[r->at] - 1;
	return ret;
}

static bool each_state(const struct sonde_interval *i, void *data)
{
	struct scan *s = data;

	if (i->value != THREAD_RUNNABLE)
		return true;
	s->wait.begin = i->begin;
	s->wait.end = i->end;
	s->ret = cpu_waited_for(s, i->end, &s->wait.cpu);
	if (!s->ret)
		s->each(&s->wait, s->data);
	return !s->ret;
}

static int scan_thread(struct scan *s, int64_t row)
{
	struct sonde_thread t;
	int ret;

	sonde_thread_get(s->history, row, &t);
	if (!t.tid || t.vcpu >= 0 || t.begin >= s->end || (t.end >= 0 && t.end <= s->begin))
		return 0;
	reading_begin(&s->cpus, sonde_attr_of_thread(s->history, row, "cpu"));
	s->first_cpu = query_first_cpu(s->history, row);
	s->wait.thread = row;
	s->wait.machine = t.machine;
	ret = thread_states_scan(s->tracks, row, each_state, s);
	return ret ? ret : s->ret;
}

int thread_scan(struct sonde_history *history, ns_t begin, ns_t end,
		void (*each)(const struct thread_wait *wait, void *data), void *data)
{
	struct scan s = {
		.history = history, .begin = begin, .end = end, .each = each, .data = data};
	int ret = reading_init(&s.cpus, history) ? thread_tracks_get(&s.tracks, history, begin, end)
						 : -ENOMEM;

	for (int64_t row = 0; row < sonde_nr_threads(history) && !ret; row++)
		ret = scan_thread(&s, row);
	thread_tracks_put(s.tracks);
	reading_release(&s.cpus);
	return ret;
}
