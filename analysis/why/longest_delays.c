/* SPDX-License-Identifier: Apache-2.0 */
/* Delays one by one, the longest of all: each stretch in which a vCPU or a thread wanted to run and
 * did not, and each exit that took long without being a halt. */
#include "analysis/exits/exit_sums.h"
#include "analysis/keyed.h"
#include "analysis/sched/preemption.h"
#include "analysis/sched/thread_waits.h"
#include "analysis/why/why.h"
#include "base/figure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STRETCHES_MAX LONGEST_MAX
/* Of one stretch, told apart: the first that came; further ones are not told. */
#define CAUSES_MAX WAIT_PARTS_EACH

enum stretch_kind { STRETCH_VCPU, STRETCH_THREAD, STRETCH_EXIT };

struct stretch {
	enum stretch_kind kind;
	int64_t row;	/* CPU or thread */
	int64_t victim; /* STRETCH_VCPU: guest thread; STRETCH_EXIT: unused */
	ns_t begin, end;
	union {
		struct {
			int64_t reason, isa, user_reason, from;
		};			 /* STRETCH_EXIT */
		struct thread_wait wait; /* STRETCH_THREAD */
	};
	unsigned nr_causes;
	struct wait_part causes[CAUSES_MAX];
};

/* The rows, made when somebody looks: few read all that is said. */
struct delays {
	struct rows_log log;
	struct why why;
	const struct culprits *culprits;
	struct stretch *kept;  /* owned: the longest so far */
	struct stretch **heap; /* owned: the same, the shortest of them first */
	char **texts; /* owned, each owned: by place in the heap; NULL: nobody has asked for it */
	unsigned nr;
};

struct stretches {
	struct delays *to;
	struct stretch now;
	uint64_t serial;  /* of that one */
	struct memo memo; /* numbers of its causes */
};

static ns_t length(const struct stretch *s)
{
	return s->end - s->begin;
}

static void swap(struct stretch **a, struct stretch **b)
{
	struct stretch *keep = *a;

	*a = *b;
	*b = keep;
}

static void sift_down(struct delays *d)
{
	unsigned i = 0;

	for (;;) {
		unsigned child = 2 * i + 1;

		if (child + 1 < d->nr && length(d->heap[child + 1]) < length(d->heap[child]))
			child++;
		if (child >= d->nr || length(d->heap[i]) <= length(d->heap[child]))
			return;
		swap(&d->heap[i], &d->heap[child]);
		i = child;
	}
}

/* Without the room for causes that it does not have: most have few. */
static void copy(struct stretch *to, const struct stretch *from)
{
	memcpy(to, from,
	       offsetof(struct stretch, causes) + from->nr_causes * sizeof(*from->causes));
}

/* Not shorter than all that are kept. */
static bool may_keep(const struct delays *d, ns_t length_ns)
{
	return d->nr < STRETCHES_MAX || length_ns > length(d->heap[0]);
}

static void keep(struct delays *d, const struct stretch *stretch)
{
	if (!may_keep(d, length(stretch)))
		return;
	if (d->nr == STRETCHES_MAX) {
		copy(d->heap[0], stretch);
		sift_down(d);
		return;
	}
	d->heap[d->nr] = &d->kept[d->nr];
	copy(d->heap[d->nr], stretch);
	for (unsigned i = d->nr++; i; i = (i - 1) / 2) {
		if (length(d->heap[(i - 1) / 2]) <= length(d->heap[i]))
			return;
		swap(&d->heap[(i - 1) / 2], &d->heap[i]);
	}
}

/* The cause's number among those of the stretch at hand; CAUSES_MAX when there is no room for it.
 */
static size_t cause_of(struct stretches *s, uint32_t number, int32_t on)
{
	size_t at;

	/* Mostly one of those that were met before. */
	if (memo_get(&s->memo, number, s->serial, &at) && s->now.causes[at].on == on)
		return at;
	for (at = 0; at < s->now.nr_causes; at++) {
		const struct wait_part *cause = &s->now.causes[at];

		if (cause->culprit == number && cause->on == on)
			break;
	}
	if (at == CAUSES_MAX)
		return at;
	if (at == s->now.nr_causes)
		s->now.causes[s->now.nr_causes++] = (struct wait_part){number, on, 0};
	memo_put(&s->memo, number, s->serial, at);
	return at;
}

/* What had the CPU in the stretch at hand. */
static void add_use(struct stretches *s, uint32_t number, int32_t on, ns_t time_ns)
{
	size_t at = cause_of(s, number, on);

	if (at < CAUSES_MAX)
		s->now.causes[at].time_ns += time_ns;
}

/* Its causes are looked for when it is known to be one of the longest. */
static bool add_preemption(const struct preemption *p, void *data)
{
	struct stretches *s = data;
	struct stretch *now = &s->now;

	if (now->row == p->vcpu && now->begin == p->begin)
		return true; /* another part of it */
	now->kind = STRETCH_VCPU;
	now->row = p->vcpu;
	now->victim = p->victim;
	now->begin = p->begin;
	now->end = p->end;
	now->nr_causes = 0;
	keep(s->to, now);
	return true;
}

/* The same. */
static void add_wait(const struct thread_wait *wait, void *data)
{
	struct stretches *s = data;
	struct stretch *now = &s->now;

	if (!may_keep(s->to, wait->end - wait->begin))
		return;
	now->kind = STRETCH_THREAD;
	now->row = wait->thread;
	now->victim = 0;
	now->begin = wait->begin;
	now->end = wait->end;
	now->wait = *wait;
	now->nr_causes = 0;
	keep(s->to, now);
}

static bool add_part(const struct wait_part *part, void *data)
{
	add_use(data, part->culprit, part->on, part->time_ns);
	return true;
}

static bool add_cpu_use(const struct cpu_use *use, void *data)
{
	add_use(data, use->number, (int32_t)use->on, use->time_ns);
	return true;
}

static int find_causes_of(struct stretches *s, const struct thread_waits *waits,
			  const struct stretch *stretch)
{
	const struct why *w = &s->to->why;
	const struct preemption p = {
		.vcpu = stretch->row, .begin = stretch->begin, .end = stretch->end};

	switch (stretch->kind) {
	case STRETCH_VCPU:
		return preemption_uses(w->history, &p, w->begin, w->end, add_cpu_use, s);
	case STRETCH_THREAD:
		return thread_wait_parts(waits, w->history, &stretch->wait, add_part, s);
	case STRETCH_EXIT:
		break;
	}
	return 0;
}

/* The longest first; there are few. */
static void sort_causes(struct stretch *stretch)
{
	for (unsigned i = 1; i < stretch->nr_causes; i++) {
		const struct wait_part cause = stretch->causes[i];
		unsigned at = i;

		for (; at && stretch->causes[at - 1].time_ns < cause.time_ns; at--)
			stretch->causes[at] = stretch->causes[at - 1];
		stretch->causes[at] = cause;
	}
}

/* What had the CPU in those that are kept. */
static int find_causes(struct stretches *s, const struct thread_waits *waits)
{
	int ret = 0;

	for (unsigned i = 0; i < s->to->nr && !ret; i++) {
		struct stretch *stretch = s->to->heap[i];

		s->now.nr_causes = 0;
		s->serial++;
		ret = find_causes_of(s, waits, stretch);
		stretch->nr_causes = s->now.nr_causes;
		memcpy(stretch->causes, s->now.causes, s->now.nr_causes * sizeof(*s->now.causes));
		sort_causes(stretch);
	}
	return ret;
}

static void add_exit(struct stretches *s, const struct exit_interval *e)
{
	struct sonde_history *history = s->to->why.history;
	const struct exit_kind *kind = query_exit_kind(history, e->kind);
	const struct exit_kind *user = query_exit_kind(history, e->user_kind);
	struct stretch *now = &s->now;

	if (exit_is_halt(history, kind->isa, kind->reason))
		return;
	now->kind = STRETCH_EXIT;
	now->row = e->vcpu;
	now->victim = 0;
	now->begin = e->begin;
	now->end = e->end;
	now->reason = kind->reason;
	now->isa = kind->isa;
	now->user_reason = user ? user->user_reason : -1;
	now->from = kind->serves;
	now->nr_causes = 0;
	keep(s->to, now);
}

static bool add_exits(const struct exit_interval *list, size_t nr, void *data)
{
	struct stretches *s = data;

	for (size_t i = 0; i < nr; i++) {
		if (may_keep(s->to, list[i].end - list[i].begin))
			add_exit(s, &list[i]);
	}
	return true;
}

/* ---- in words ------------------------------------------------------------------------------ */

/* Those that had much of it, up to three. */
static void say_causes(struct sentence *s, const struct culprits *culprits,
		       const struct stretch *stretch)
{
	ns_t rest = length(stretch);
	unsigned i = 0;

	for (; i < stretch->nr_causes && i < 3; i++) {
		const struct wait_part *cause = &stretch->causes[i];
		const struct culprit *culprit = &culprits->list[cause->culprit];

		if (i && cause->time_ns * 10 < length(stretch))
			break;
		rest -= cause->time_ns;
		if (cause->time_ns == length(stretch)) {
			say(s, " All that time ");
		} else {
			say(s, " For ");
			say_length(s, cause->time_ns);
			say(s, i ? " " : " of that ");
		}
		say_had_cpu(s, culprit, cause->on);
	}
	if (i < stretch->nr_causes && rest > 0) {
		say(s, " Other causes took ");
		say_length(s, rest);
		say(s, " in all.");
	}
}

static void say_exit(struct sentence *s, const struct stretch *stretch)
{
	const char *name = exit_name(s->history, stretch->isa, stretch->reason);

	if (stretch->from < 0)
		say(s, "A guest in ");
	say_cpu(s, stretch->from < 0 ? stretch->row : stretch->from);
	say(s, " left guest mode");
	if (*name)
		say(s, " (%s)", name);
	else
		say(s, " (reason %lld)", (long long)stretch->reason);
	say(s, " at ");
	say_time(s, stretch->begin);
	say(s, " and came back after ");
	say_length(s, length(stretch));
	if (stretch->user_reason >= 0)
		say(s, ", through the VMM (%s)", user_exit_name(stretch->user_reason));
	say(s, ".");
}

static void say_delay(struct sentence *s, const struct culprits *culprits,
		      const struct stretch *stretch)
{
	struct sonde_thread t;

	if (stretch->kind == STRETCH_VCPU) {
		say_cpu(s, stretch->row);
	} else {
		sonde_thread_get(s->history, stretch->row, &t);
		say_thread(s, stretch->row);
		say(s, " of ");
		say_machine(s, t.machine);
	}
	say(s, " was runnable but did not run for ");
	say_length(s, length(stretch));
	say(s, " from ");
	say_time(s, stretch->begin);
	if (stretch->kind == STRETCH_VCPU && !sonde_thread_get(s->history, stretch->victim, &t) &&
	    t.tid) {
		say(s, "; it delayed ");
		say_thread(s, stretch->victim);
	}
	say(s, ".");
	say_causes(s, culprits, stretch);
}

/* All but what it says. */
static struct verdict verdict_of(const struct delays *d, const struct stretch *stretch)
{
	static const char *const kinds[] = {"vcpu", "thread", "exit"};
	struct sonde_history *history = d->why.history;
	struct verdict v = why_verdict(&d->why, kinds[stretch->kind], -1);
	struct sonde_thread t;
	struct sonde_cpu cpu;

	v.cost_ns = length(stretch);
	v.begin = stretch->begin;
	v.end = stretch->end;
	if (stretch->kind == STRETCH_THREAD) {
		v.thread = stretch->row;
		v.machine = sonde_thread_get(history, stretch->row, &t) ? -1 : (int64_t)t.machine;
	} else {
		v.vcpu = stretch->kind == STRETCH_EXIT ? stretch->from : stretch->row;
		v.thread = stretch->kind == STRETCH_EXIT ? -1 : stretch->victim;
		v.machine = sonde_cpu_get(history, v.vcpu, &cpu) ? -1 : (int64_t)cpu.machine;
	}
	if (stretch->nr_causes) {
		v.by = d->culprits->list[stretch->causes[0].culprit];
		v.by_ns = stretch->causes[0].time_ns;
	}
	if (stretch->kind == STRETCH_EXIT)
		v.cause = exit_name(history, stretch->isa, stretch->reason);
	return v;
}

/* "" without the memory for it. */
static const char *text_of(const struct delays *d, size_t row)
{
	const struct stretch *stretch = d->heap[row];
	struct sentence says = {.history = d->why.history};

	if (d->texts[row])
		return d->texts[row];
	if (stretch->kind == STRETCH_EXIT)
		say_exit(&says, stretch);
	else
		say_delay(&says, d->culprits, stretch);
	d->texts[row] = strdup(says.text);
	return d->texts[row] ? d->texts[row] : "";
}

static union sonde_cell delay_cell(const struct rows_log *log, size_t row, unsigned column)
{
	const struct delays *d = (const struct delays *)log;
	struct verdict v;

	if (column == WHY_TEXT)
		return cell_str(text_of(d, row));
	if (column == WHY_COST) /* what they are sorted by */
		return cell_int(length(d->heap[row]));
	if (column == WHY_SHARE) /* it may begin before the window and end after it */
		return cell_int(share_ppm(
			ns_common(d->heap[row]->begin, d->heap[row]->end, d->why.begin, d->why.end),
			ns_since(d->why.end, d->why.begin)));
	v = verdict_of(d, d->heap[row]);
	return why_cell(&d->why, &v, column);
}

static void delays_release(struct rows_log *log)
{
	struct delays *d = (struct delays *)log;

	for (unsigned i = 0; d->texts && i < d->nr; i++)
		free(d->texts[i]);
	free(d->texts);
	free(d->kept);
	free(d->heap);
	free(d);
}

static int collect(struct stretches *s, const struct why *w, struct error *err)
{
	const struct thread_waits *waits;
	const struct exit_sums *exits;
	int ret = preemption_parts(w->history, w->begin, w->end, add_preemption, s, err);

	if (!ret) /* what delays a guest's thread without its knowledge is its vCPU's delay */
		ret = thread_waits_get(&waits, w->history, w->begin, w->end, err);
	if (!ret)
		ret = thread_waits_scan(waits, w->history, add_wait, s, err);
	if (!ret)
		ret = exit_sums_get(&exits, w->history, w->begin, w->end, err);
	if (ret)
		return ret;
	ret = exit_sums_longest(exits, w->history, add_exits, s);
	if (ret)
		return fail(err, ret, "cannot read a vCPU's exits: %s", error_reason(ret));
	ret = find_causes(s, waits);
	return ret ? fail(err, ret, "cannot read what ran on a CPU: %s", error_reason(ret)) : 0;
}

static bool delays_init(struct delays *d)
{
	d->log = (struct rows_log){delay_cell, delays_release};
	d->kept = malloc(STRETCHES_MAX * sizeof(*d->kept));
	d->heap = calloc(STRETCHES_MAX, sizeof(*d->heap));
	d->texts = calloc(STRETCHES_MAX, sizeof(*d->texts));
	return d->kept && d->heap && d->texts && !culprits_get(&d->culprits, d->why.history);
}

static int find_stretches(struct sonde_rows *out, struct sonde_history *history, ns_t begin,
			  ns_t end, struct error *err)
{
	struct delays *d = calloc(1, sizeof(*d));
	struct stretches s = {.to = d, .now.row = -1};
	int ret;

	if (!d)
		return fail(err, -ENOMEM, "out of memory");
	d->why = (struct why){.history = history, .begin = begin, .end = end};
	if (!delays_init(d) || memo_init(&s.memo, d->culprits->nr))
		ret = fail(err, -ENOMEM, "out of memory");
	else
		ret = collect(&s, &d->why, err);
	memo_release(&s.memo);
	rows_set_log(out, &d->log, d->nr);
	rows_sort(out, "cost");
	return ret;
}

const struct table_def delay_table = {
	.public =
		{"delay", "The longest delays, one by one",
		 "the 1000 longest times in which a vCPU or a thread was runnable and did not run, or an "
		 "exit that was no halt was handled",
		 why_columns, WHY_NR_COLUMNS},
	.find = find_stretches,
};
