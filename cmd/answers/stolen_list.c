/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/answers/stolen.h"
#include "cmd/answers/stolen_words.h"
#include "query/query.h"
#include "base/figure.h"
#include "base/units.h"
#include "record/host/clocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROOM 4096u /* stretches of one look; what does not fit comes with the next */
#define BATCH 64u

/* ---- words --------------------------------------------------------------------------------- */

const char *stolen_class(unsigned kind)
{
	static const char *const names[ST_CLASSES] = {"host", "other_vm", "own_vm", "nobody",
						      "hypervisor"};

	return kind < ST_CLASSES ? names[kind] : "unknown";
}

char *stolen_words(const struct st_record *r, enum exit_isa isa, char *buf, size_t room)
{
	static const char *const words[ST_CLASSES] = {"a task of the host", "another VM",
						      "its own VM", "nobody", "hypervisor"};
	const char *reason = NULL;

	if (r->kind == ST_HYPERVISOR && r->reason != ST_REASON_UNKNOWN)
		reason = exit_reason_name(isa, r->reason);
	snprintf(buf, room, "%s%s%s%s%s", r->kind < ST_CLASSES ? words[r->kind] : "?",
		 reason ? " (" : "", reason ? reason : "", reason ? ")" : "",
		 r->flags & ST_MOVED ? ", then on another physical CPU" : "");
	return buf;
}

/* ---- the list ------------------------------------------------------------------------------ */

struct stolen_list {
	struct stolen_reader *reader;
	uint64_t *next; /* owned; by CPU */
	unsigned nr_cpus;
	struct stolen_stretch *list; /* owned, ROOM of them */
	unsigned nr, given;
	uint64_t missed;
};

struct stolen_list *stolen_list_new(struct stolen_reader *r)
{
	struct stolen_list *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->reader = r;
	l->nr_cpus = stolen_reader_nr(r);
	l->next = calloc(l->nr_cpus, sizeof(*l->next));
	l->list = calloc(ROOM, sizeof(*l->list));
	if (!l->next || !l->list) {
		stolen_list_free(l);
		return NULL;
	}
	for (unsigned i = 0; i < l->nr_cpus; i++) {
		struct st_told told;

		if (stolen_reader_told(r, i, &told))
			l->next[i] = told.written;
	}
	return l;
}

void stolen_list_free(struct stolen_list *l)
{
	if (!l)
		return;
	free(l->next);
	free(l->list);
	free(l);
}

static int by_time(const void *a, const void *b)
{
	const struct stolen_stretch *x = a, *y = b;

	return x->begin_real_ns < y->begin_real_ns ? -1 : x->begin_real_ns > y->begin_real_ns;
}

static void put(struct stolen_list *l, unsigned cpu, const struct st_told *told,
		const struct st_record *r, const struct clock_reading *now)
{
	double ns = (double)(int64_t)(now->tsc - r->begin_tsc) / (double)told->tsc_hz * NS_PER_SEC;

	l->list[l->nr++] = (struct stolen_stretch){
		.cpu = cpu,
		.begin_real_ns = ns_plus(now->real, figure_round(-ns)),
		.isa = isa_of(told->flags),
		.record = *r,
	};
}

static void fill_cpu(struct stolen_list *l, unsigned cpu, const struct clock_reading *now)
{
	struct st_record batch[BATCH];
	struct st_told told;
	unsigned nr, room;

	if (!stolen_reader_told(l->reader, cpu, &told) || !told.tsc_hz ||
	    told.ended == ST_LAST_WORD)
		return;
	do {
		room = ROOM - l->nr < BATCH ? ROOM - l->nr : BATCH;
		nr = stolen_reader_take(l->reader, cpu, &told, batch, room, &l->next[cpu],
					&l->missed);
		for (unsigned i = 0; i < nr; i++)
			put(l, cpu, &told, &batch[i], now);
	} while (nr == BATCH);
}

void stolen_list_fill(struct stolen_list *l)
{
	struct clock_reading now;

	l->nr = l->given = 0;
	clock_read(&now);
	for (unsigned i = 0; i < l->nr_cpus; i++)
		fill_cpu(l, i, &now);
	if (l->nr)
		qsort(l->list, l->nr, sizeof(*l->list), by_time);
}

const struct stolen_stretch *stolen_list_next(struct stolen_list *l)
{
	return l->given < l->nr ? &l->list[l->given++] : NULL;
}

uint64_t stolen_list_missed(const struct stolen_list *l)
{
	return l->missed;
}

char *stolen_stretch_text(const struct stolen_stretch *s, char *buf, size_t room)
{
	time_t seconds = (time_t)(s->begin_real_ns / NS_PER_SEC);
	char clock[32] = "", length[UNIT_TEXT], words[64];
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	snprintf(buf, room, "%s.%06d  cpu %u  %s  %s", clock,
		 (int)(s->begin_real_ns % NS_PER_SEC / 1000), s->cpu,
		 unit_length(length, (int64_t)s->record.length_ns, true),
		 stolen_words(&s->record, s->isa, words, sizeof(words)));
	return buf;
}

void stolen_stretch_json(const struct stolen_stretch *s, struct json *j)
{
	json_begin_object(j, NULL);
	json_int(j, "cpu", s->cpu);
	json_int(j, "begin_ns", s->begin_real_ns);
	json_uint(j, "begin_tsc", s->record.begin_tsc);
	json_uint(j, "length_ns", s->record.length_ns);
	json_str(j, "by", stolen_class(s->record.kind));
	json_bool(j, "migrated", s->record.flags & ST_MOVED);
	if (s->record.kind == ST_HYPERVISOR)
		json_int(j, "reason", s->record.reason);
	json_end(j);
}
