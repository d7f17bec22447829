/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/answers/stolen.h"
#include "cmd/answers/stolen_words.h"
#include "base/units.h"
#include "base/figure.h"
#include "record/host/clocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH 64u

/* ---- /proc/stat ---------------------------------------------------------------------------- */

/* Stolen time of each CPU, which the kernel counts in ticks; -1 of those that have no line. */
static void read_steal(struct stolen_window *w, bool at_begin)
{
	FILE *file = fopen("/proc/stat", "re");
	long hz = sysconf(_SC_CLK_TCK);
	char line[512];

	for (unsigned i = 0; i < w->nr; i++)
		*(at_begin ? &w->cpus[i].steal_begin_ns : &w->cpus[i].steal_ns) = -1;
	while (file && fgets(line, sizeof(line), file)) {
		unsigned long long steal;
		unsigned cpu;

		if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &steal) != 2 ||
		    cpu >= w->nr || hz <= 0)
			continue;
		*(at_begin ? &w->cpus[cpu].steal_begin_ns : &w->cpus[cpu].steal_ns) =
			(int64_t)(steal * (unsigned long long)(NS_PER_SEC / hz));
	}
	if (file)
		fclose(file);
}

/* ---- a window ------------------------------------------------------------------------------ */

struct stolen_window *stolen_window_new(struct stolen_reader *r)
{
	struct stolen_window *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->reader = r;
	w->nr = stolen_reader_nr(r);
	w->cpus = calloc(w->nr, sizeof(*w->cpus));
	if (!w->cpus) {
		free(w);
		return NULL;
	}
	for (unsigned i = 0; i < w->nr; i++) {
		struct stolen_cpu *c = &w->cpus[i];

		c->is_told = stolen_reader_told(r, i, &c->end);
		c->next = c->end.written;
	}
	return w;
}

void stolen_window_free(struct stolen_window *w)
{
	if (!w)
		return;
	free(w->cpus);
	free(w);
}

void stolen_window_begin(struct stolen_window *w)
{
	for (unsigned i = 0; i < w->nr; i++) {
		struct stolen_cpu *c = &w->cpus[i];

		c->begin = c->end;
		c->missed = 0;
		c->longest = c->last = (struct st_record){0};
	}
	read_steal(w, true);
}

static void take_records(struct stolen_window *w, unsigned cpu)
{
	struct stolen_cpu *c = &w->cpus[cpu];
	struct st_record batch[BATCH];
	unsigned nr;

	do {
		nr = stolen_reader_take(w->reader, cpu, &c->end, batch, BATCH, &c->next,
					&c->missed);
		for (unsigned i = 0; i < nr; i++) {
			if (!c->longest.number || batch[i].length_ns > c->longest.length_ns)
				c->longest = batch[i];
			c->last = batch[i];
		}
	} while (nr == BATCH);
}

static int64_t told_span(const struct stolen_cpu *c)
{
	uint64_t cycles = c->end.until_tsc - c->begin.until_tsc;

	if (!c->begin.until_tsc || !c->end.tsc_hz || c->end.until_tsc < c->begin.until_tsc)
		return 0;
	return figure_round((double)cycles / (double)c->end.tsc_hz * NS_PER_SEC);
}

void stolen_window_look(struct stolen_window *w)
{
	for (unsigned i = 0; i < w->nr; i++) {
		struct stolen_cpu *c = &w->cpus[i];
		struct st_told told;

		if (!stolen_reader_told(w->reader, i, &told) || told.ended == ST_LAST_WORD)
			continue;
		if (told.ended < c->end.ended) /* another host tells, or the same anew */
			c->begin = (struct st_told){0};
		c->is_told = true;
		c->end = told;
		take_records(w, i);
		c->span_ns = told_span(c);
	}
}

void stolen_window_end(struct stolen_window *w)
{
	struct clock_reading now;

	stolen_window_look(w);
	read_steal(w, false);
	clock_read(&now);
	w->end_tsc = now.tsc;
}

/* ---- words --------------------------------------------------------------------------------- */

static uint64_t part(const struct stolen_cpu *c, unsigned kind)
{
	uint64_t begin = c->begin.totals[kind].ns, end = c->end.totals[kind].ns;

	return end > begin ? end - begin : 0;
}

static uint64_t stolen_ns(const struct stolen_cpu *c)
{
	uint64_t sum = 0;

	for (unsigned k = 0; k < ST_HYPERVISOR; k++)
		sum += part(c, k);
	return sum;
}

static int64_t steal_ns(const struct stolen_cpu *c)
{
	return c->steal_ns < 0 || c->steal_begin_ns < 0 ? -1 : c->steal_ns - c->steal_begin_ns;
}

char *stolen_about(const struct stolen_window *w, char *buf, size_t room)
{
	char span[UNIT_TEXT], bound[UNIT_TEXT], lost[UNIT_TEXT];
	uint64_t nr_lost = 0, missed = 0;
	int64_t longest = 0, bound_ns = 0;

	for (unsigned i = 0; i < w->nr; i++) {
		const struct stolen_cpu *c = &w->cpus[i];

		if (!c->is_told)
			continue;
		longest = c->span_ns > longest ? c->span_ns : longest;
		bound_ns = c->end.bound_ns > bound_ns ? c->end.bound_ns : bound_ns;
		nr_lost = c->end.lost > nr_lost ? c->end.lost : nr_lost;
		missed += c->missed;
	}
	snprintf(buf, room, "%s reported, within %s; %s%s%s", unit_length(span, longest, true),
		 unit_length(bound, bound_ns, true),
		 nr_lost ? unit_count(lost, (int64_t)nr_lost) : "nothing lost",
		 nr_lost ? " events lost by the host" : "",
		 missed ? "; more intervals than the ring has room for" : "");
	return buf;
}

static const char *const titles[] = {"CPU",    "STOLEN",     "HOST",	"OTHER VM", "OWN VM",
				     "NOBODY", "HYPERVISOR", "LONGEST", "LAST",	    "/proc/stat"};

unsigned stolen_columns(bool compare)
{
	return (unsigned)(sizeof(titles) / sizeof(*titles)) - !compare;
}

const char *stolen_title(unsigned column)
{
	return titles[column];
}

/* Per second, and of a window that is no second, too: what counts is how much of the time. */
static char *rate_cell(const struct stolen_cpu *c, uint64_t ns, char *buf, size_t room)
{
	if (!c->span_ns)
		snprintf(buf, room, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(buf, room, "%.1f ms/s", (double)ns / (double)c->span_ns * 1e3);
	return buf;
}

static char *longest_cell(const struct stolen_cpu *c, char *buf, size_t room)
{
	char length[UNIT_TEXT], words[64];

	*buf = '\0';
	if (c->longest.number)
		snprintf(buf, room, "%s %s",
			 unit_length(length, (int64_t)c->longest.length_ns, true),
			 stolen_words(&c->longest, isa_of(c->end.flags), words, sizeof(words)));
	return buf;
}

static char *last_cell(const struct stolen_window *w, const struct stolen_cpu *c, char *buf,
		       size_t room)
{
	char ago[UNIT_TEXT], words[64];
	double ns;

	*buf = '\0';
	if (!c->last.number || !c->end.tsc_hz)
		return buf;
	ns = (double)count_less(w->end_tsc, c->last.begin_tsc) / (double)c->end.tsc_hz * NS_PER_SEC;
	snprintf(buf, room, "%s ago, %s", unit_length(ago, figure_round(ns), true),
		 stolen_words(&c->last, isa_of(c->end.flags), words, sizeof(words)));
	return buf;
}

char *stolen_cell(const struct stolen_window *w, unsigned cpu, unsigned column, char *buf,
		  size_t room)
{
	const struct stolen_cpu *c = &w->cpus[cpu];

	switch (column) {
	case 0:
		snprintf(buf, room, "%u", cpu);
		return buf;
	case 1:
		return rate_cell(c, stolen_ns(c), buf, room);
	case 7:
		return longest_cell(c, buf, room);
	case 8:
		return last_cell(w, c, buf, room);
	case 9:
		snprintf(buf, room, "?");
		return steal_ns(c) < 0 ? buf : rate_cell(c, (uint64_t)steal_ns(c), buf, room);
	default:
		return rate_cell(c, part(c, column - 2), buf, room);
	}
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_cpu_window(const struct stolen_cpu *c, unsigned cpu, struct json *j)
{
	json_begin_object(j, NULL);
	json_int(j, "cpu", cpu);
	json_int(j, "span_ns", c->span_ns);
	json_uint(j, "until_tsc", c->end.until_tsc);
	json_uint(j, "begin_tsc", c->begin.until_tsc);
	json_uint(j, "stolen_ns", stolen_ns(c));
	for (unsigned k = 0; k < ST_CLASSES; k++) {
		json_begin_object(j, stolen_class(k));
		json_uint(j, "ns", part(c, k));
		json_uint(j, "count",
			  c->end.totals[k].count -
				  (c->end.totals[k].count >= c->begin.totals[k].count
					   ? c->begin.totals[k].count
					   : 0));
		json_end(j);
	}
	json_row(j, "proc_stat_steal_ns", steal_ns(c));
	if (c->longest.number) {
		json_uint(j, "longest_ns", c->longest.length_ns);
		json_str(j, "longest_by", stolen_class(c->longest.kind));
	}
	json_uint(j, "bound_ns", c->end.bound_ns);
	json_uint(j, "lost", c->end.lost);
	json_uint(j, "missed", c->missed);
	json_end(j);
}

void stolen_window_json(const struct stolen_window *w, struct json *j)
{
	json_begin_object(j, NULL);
	json_begin_array(j, "cpus");
	for (unsigned i = 0; i < w->nr; i++) {
		if (w->cpus[i].is_told)
			json_cpu_window(&w->cpus[i], i, j);
	}
	json_end(j);
	json_end(j);
	fflush(j->out);
}
