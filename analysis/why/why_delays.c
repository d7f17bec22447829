/* SPDX-License-Identifier: Apache-2.0 */
/* Who was kept from running: vCPUs, and threads of every machine. */
#include "analysis/keyed.h"
#include "analysis/sched/preemption.h"
#include "analysis/sched/thread_waits.h"
#include "analysis/why/why.h"
#include "base/grow.h"
#include "base/units.h"

#include <errno.h>
#include <stdlib.h>

/* What had the CPU that a thread waited for, in the words of the whole. */
enum delay_class {
	CLASS_OWN,	  /* its own machine's code */
	CLASS_HYPERVISOR, /* hypervisors, for its machine or one around it */
	CLASS_OTHER,	  /* another machine's code */
	CLASS_QUOTA,	  /* whoever had it: its vCPU's thread was not allowed to run */
	CLASS_IDLE,	  /* nobody: it was on its way there */
	CLASS_UNKNOWN,
	NR_CLASSES
};

static const char *const class_words[NR_CLASSES] = {
	[CLASS_OWN] = "others of its own machine had the CPU",
	[CLASS_HYPERVISOR] = "hypervisors worked for its vCPU",
	[CLASS_OTHER] = "other machines had the CPU",
	[CLASS_QUOTA] = "its vCPU was throttled",
	[CLASS_IDLE] = "it was on its way to an idle CPU",
	[CLASS_UNKNOWN] = "it is not known who had the CPU",
};

#define CLASSES_A_SENTENCE 2

/* Whoever was kept from running: a vCPU or a thread. */
struct loser {
	int64_t row;
	ns_t total_ns;
	ns_t in_guest_ns; /* of a thread: while its vCPU was off the CPU */
	ns_t quota_ns;	  /* it was not allowed to run: no fault of those who did */
	ns_t per_class[NR_CLASSES];
	uint64_t count;
	struct piece_sum {
		ns_t begin, end; /* of the whole stretch */
		int64_t victim;	 /* guest thread, -1 unknown */
	} now, worst;
	size_t top[2]; /* its greatest causes; SIZE_MAX none */
};

struct cause {
	size_t loser;
	uint32_t culprit; /* number */
	ns_t total_ns, longest_ns;
	int64_t on; /* physical CPU of its longest stretch, CPU row, -1 */
	bool several_cpus;
};

struct losers {
	struct sonde_history *history;
	const struct culprits *culprits;
	struct keyed rows;    /* struct loser, by row */
	int64_t last_row;     /* of the loser asked for last, -1 none */
	size_t last;	      /* its number */
	struct cause *causes; /* owned */
	uint32_t nr_causes, causes_room;
	struct map by_key; /* their numbers, by loser and culprit */
	bool no_memory;
};

static struct loser *loser_at(const struct losers *l, size_t number)
{
	return keyed_sum_at(&l->rows, number);
}

static struct loser *loser_get(struct losers *l, int64_t row)
{
	int64_t at;

	if (row == l->last_row)
		return loser_at(l, l->last);
	at = keyed_get(&l->rows, &row);
	if (at < 0) {
		l->no_memory = true;
		return NULL;
	}
	l->last_row = row;
	l->last = (size_t)at;
	return loser_at(l, l->last);
}

/* Of the loser asked for last. */
static struct cause *cause_get(struct losers *l, const struct cpu_use *use)
{
	uint64_t key = (uint64_t)l->last << 32 | use->number;
	const uint32_t *at = map_get(&l->by_key, key);

	if (at)
		return &l->causes[*at];
	if (!room_for_one(&l->causes, l->nr_causes, &l->causes_room) ||
	    map_put(&l->by_key, key, l->nr_causes))
		return NULL;
	l->causes[l->nr_causes] =
		(struct cause){.loser = l->last, .culprit = use->number, .on = use->on};
	return &l->causes[l->nr_causes++];
}

static bool add_cause(struct losers *l, const struct cpu_use *use)
{
	struct cause *cause = cause_get(l, use);

	if (!cause) {
		l->no_memory = true;
		return false;
	}
	cause->several_cpus |= use->several_cpus || cause->on != use->on;
	cause->total_ns += use->time_ns;
	if (use->longest_ns > cause->longest_ns) {
		cause->longest_ns = use->longest_ns;
		cause->on = use->on;
	}
	return true;
}

/* A part of a stretch [begin, end); those of one come one after the other. */
static void add_part(struct loser *loser, ns_t begin, ns_t end, int64_t victim, ns_t length)
{
	if (!loser->total_ns)
		loser->now = loser->worst = (struct piece_sum){NS_MIN, NS_MIN, -1};
	if (loser->now.begin != begin) {
		loser->now = (struct piece_sum){begin, end, victim};
		loser->count++;
	}
	if (end - begin > loser->worst.end - loser->worst.begin)
		loser->worst = loser->now;
	loser->total_ns += length;
}

/* Both who lost the vCPU's time, and whom: one look at each preemption. */
struct both {
	struct losers vcpus, threads;
	struct victim victim;
};

static void add_waiter(struct losers *l, const struct thread_waits *w, const struct waiter *waiter)
{
	struct loser *loser = loser_get(l, waiter->thread);

	if (!loser)
		return;
	loser->total_ns = waiter->total_ns;
	loser->count = waiter->count;
	loser->worst = (struct piece_sum){waiter->worst_begin, waiter->worst_end, -1};
	loser->now = (struct piece_sum){waiter->last_begin, waiter->last_begin, -1};
	for (size_t i = waiter->first; i < waiter->first + waiter->nr; i++) {
		if (!add_cause(l, &w->uses[i]))
			return;
	}
}

static void add_length(struct loser *loser, const struct preemption *p, int64_t victim)
{
	ns_t length = p->to - p->from;

	add_part(loser, p->begin, p->end, victim, length);
	if (p->why == SONDE_OFF_QUOTA)
		loser->quota_ns += length;
}

static bool add_preemption(const struct preemption *p, void *data)
{
	struct both *b = data;
	struct loser *vcpu = loser_get(&b->vcpus, p->vcpu), *thread;

	if (!vcpu)
		return false;
	add_length(vcpu, p, p->victim);
	if (!victim_counts(&b->victim, p))
		return true;
	thread = loser_get(&b->threads, p->victim);
	if (!thread)
		return false;
	add_length(thread, p, -1);
	thread->in_guest_ns += p->to - p->from;
	return true;
}

/* Of those who have been met. */
static bool add_causes(const struct preemption *p, const struct preemption_use *uses, size_t nr,
		       void *data)
{
	struct both *b = data;
	bool counts = victim_counts(&b->victim, p);

	if (p->why == SONDE_OFF_QUOTA)
		return true;
	if (!loser_get(&b->vcpus, p->vcpu) || (counts && !loser_get(&b->threads, p->victim)))
		return false;
	for (size_t i = 0; i < nr; i++) {
		const struct cpu_use use = preemption_cpu_use(&uses[i]);

		if (!add_cause(&b->vcpus, &use) || (counts && !add_cause(&b->threads, &use)))
			return false;
	}
	return true;
}

static struct culprit culprit_at(const struct losers *l, size_t cause)
{
	return l->culprits->list[l->causes[cause].culprit];
}

/* Each loser's two greatest causes. */
static void rank_causes(struct losers *l)
{
	for (size_t i = 0; i < l->rows.nr; i++) {
		struct loser *loser = loser_at(l, i);

		loser->row = *keyed_cells(&l->rows, i);
		loser->top[0] = loser->top[1] = SIZE_MAX;
	}
	for (size_t i = 0; i < l->nr_causes; i++) {
		size_t *top = loser_at(l, l->causes[i].loser)->top;
		ns_t total = l->causes[i].total_ns;

		if (top[0] == SIZE_MAX || total > l->causes[top[0]].total_ns) {
			top[1] = top[0];
			top[0] = i;
		} else if (top[1] == SIZE_MAX || total > l->causes[top[1]].total_ns) {
			top[1] = i;
		}
	}
}

/* @thread: the row of who waited. */
static enum delay_class class_of(struct sonde_history *history, int64_t thread,
				 const struct culprit *c)
{
	struct sonde_cpu served;
	struct sonde_thread t;

	if (c->mode == SONDE_MODE_UNKNOWN || sonde_thread_get(history, thread, &t))
		return CLASS_UNKNOWN;
	if (c->mode == SONDE_MODE_IDLE)
		return CLASS_IDLE;
	if (c->mode == SONDE_MODE_HYPERVISOR && !sonde_cpu_get(history, c->vcpu, &served) &&
	    query_is_inside(history, t.machine, served.machine))
		return CLASS_HYPERVISOR;
	return c->machine == t.machine ? CLASS_OWN : CLASS_OTHER;
}

/* How long each thread waited for what kind of thing. */
static void sum_classes(struct losers *l)
{
	for (size_t i = 0; i < l->rows.nr; i++)
		loser_at(l, i)->per_class[CLASS_QUOTA] = loser_at(l, i)->quota_ns;
	for (size_t i = 0; i < l->nr_causes; i++) {
		const struct cause *cause = &l->causes[i];
		int64_t thread = *keyed_cells(&l->rows, cause->loser);
		struct culprit c = culprit_at(l, i);

		loser_at(l, cause->loser)->per_class[class_of(l->history, thread, &c)] +=
			cause->total_ns;
	}
}

/* " For 22.1 ms of that "; " All that time " of the whole. */
static void say_part(struct sentence *s, ns_t part, ns_t whole, bool classed)
{
	if (part == whole) {
		say(s, " All that time ");
		return;
	}
	say(s, " For ");
	say_length(s, part);
	say(s, classed ? " of the whole " : " of that ");
}

/* " For 22.1 ms of that db1 vCPU 0 (postgres[12]) had CPU 3." */
static void say_cause(struct sentence *s, const struct losers *l, size_t at, bool classed)
{
	const struct cause *cause = &l->causes[at];
	struct culprit culprit = culprit_at(l, at);

	say_part(s, cause->total_ns, loser_at(l, cause->loser)->total_ns, classed);
	say_had_cpu(s, &culprit, cause->several_cpus ? -1 : cause->on);
}

/* " For 3.1 s of that its cgroup /limited was throttled." */
static void say_quota(struct sentence *s, const struct loser *loser)
{
	struct sonde_thread t;
	struct sonde_cpu vcpu;
	struct sonde_cgroup cgroup;

	if (!loser->quota_ns)
		return;
	say_part(s, loser->quota_ns, loser->total_ns, false);
	say(s, "its cgroup");
	if (!sonde_cpu_get(s->history, loser->row, &vcpu) &&
	    !sonde_thread_get(s->history, vcpu.host_thread, &t) &&
	    !sonde_cgroup_get(s->history, t.cgroup, &cgroup) && *cgroup.path)
		say(s, " %s", cgroup.path);
	say(s, " was throttled.");
}

/* The greatest one, and what besides it, or besides a quota, matters, too.  Of a thread an idle
 * CPU, and what nobody knows, were told of with their classes (@classed). */
static void say_causes(struct sentence *s, const struct losers *l, const struct loser *loser,
		       bool classed)
{
	bool first = !loser->quota_ns || classed;

	for (unsigned i = 0; i < ARRAY_SIZE(loser->top) && loser->top[i] != SIZE_MAX; i++) {
		enum sonde_mode mode = culprit_at(l, loser->top[i]).mode;

		if (!first && l->causes[loser->top[i]].total_ns * 5 < loser->total_ns)
			return;
		if (classed && (mode == SONDE_MODE_IDLE || mode == SONDE_MODE_UNKNOWN))
			continue;
		say_cause(s, l, loser->top[i], classed);
		first = false;
	}
}

static void say_worst(struct sentence *s, const struct loser *loser)
{
	struct sonde_thread t;

	if (loser->count == 1) {
		say(s, " It was one delay, from ");
	} else {
		say(s, " The longest was ");
		say_length(s, loser->worst.end - loser->worst.begin);
		say(s, " from ");
	}
	say_time(s, loser->worst.begin);
	if (!sonde_thread_get(s->history, loser->worst.victim, &t) && t.tid) {
		say(s, "; it delayed ");
		say_thread(s, loser->worst.victim);
	}
	say(s, ".");
}

static void say_window(struct sentence *s, const struct why *w, const struct loser *loser)
{
	char text[UNIT_TEXT];

	say(s, " of ");
	say_length(s, w->end - w->begin);
	if (loser->count > 1)
		say(s, ", %s times", unit_count(text, (int64_t)loser->count));
	say(s, ".");
}

static struct verdict verdict_of(const struct why *w, const struct losers *l,
				 const struct loser *loser, const char *kind, int64_t machine)
{
	struct verdict v = why_verdict(w, kind, machine);

	v.cost_ns = loser->total_ns;
	v.count = (int64_t)loser->count;
	v.begin = loser->worst.begin;
	v.end = loser->worst.end;
	/* What it waited behind unknown is no finding: perhaps it ran. */
	v.cost_ns -= loser->per_class[CLASS_UNKNOWN];
	if (loser->top[0] != SIZE_MAX) {
		v.by = culprit_at(l, loser->top[0]);
		v.by_ns = l->causes[loser->top[0]].total_ns;
	}
	/* Nobody's doing, whoever ran meanwhile. */
	if (loser->quota_ns > v.by_ns) {
		v.cause = "quota";
		v.by = why_verdict(w, kind, machine).by;
		v.by_ns = loser->quota_ns;
	}
	return v;
}

/* Of a nested VM's vCPU: what it lost besides, because the vCPU that it was on did not run. */
static void say_inherited(struct sentence *s, const struct why *w, int64_t vcpu)
{
	struct error err;
	struct sonde_rows *f;
	ns_t inherited;
	int64_t row;

	if (table_rows(&f, w->history, &vcpu_time_table, w->begin, w->end, &err))
		return;
	row = rows_find_rising(f, "vcpu", vcpu);
	inherited = row < 0 ? 0 : rows_named(f, (size_t)row, "inherited_steal").i;
	if (inherited) {
		char share[UNIT_TEXT];

		say(s, " With ");
		say_length(s, inherited);
		say(s, " inherited from the vCPU that it was on, its total steal is %s",
		    *rows_named(f, (size_t)row, "note").s ? "at least " : "");
		say_length(s, rows_named(f, (size_t)row, "total_steal").i);
		say(s, " (%s).",
		    unit_share(share, rows_named(f, (size_t)row, "total_steal_share").i));
	}
	sonde_rows_free(f);
}

static void vcpu_verdict(struct why *w, const struct losers *l, const struct loser *loser)
{
	struct sonde_cpu cpu;
	struct verdict v;

	sonde_cpu_get(w->history, loser->row, &cpu);
	v = verdict_of(w, l, loser, "vcpu", cpu.machine);
	v.vcpu = loser->row;
	say_cpu(&v.says, loser->row);
	say(&v.says, " had a steal time of ");
	say_length(&v.says, loser->total_ns);
	say_window(&v.says, w, loser);
	say_quota(&v.says, loser);
	say_causes(&v.says, l, loser, false);
	say_worst(&v.says, loser);
	say_inherited(&v.says, w, loser->row);
	why_add(w, &v);
}

/* " For 1.2 ms other machines had the CPU", of as many as a sentence holds. */
static void say_class(struct sentence *s, unsigned told, ns_t time, const char *words)
{
	say(s, !told ? " For " : told % CLASSES_A_SENTENCE ? ", for " : ". For ");
	say_length(s, time);
	say(s, " %s", words);
}

/* The greatest that is a twentieth of the whole or more, and is not among @told; NR_CLASSES:
 * none. */
static unsigned next_class(const struct loser *loser, unsigned told)
{
	unsigned next = NR_CLASSES;
	ns_t most = 0;

	for (unsigned i = 0; i < NR_CLASSES; i++) {
		ns_t time = loser->per_class[i];

		if (told & 1u << i || time <= most || time * 20 < loser->total_ns)
			continue;
		most = time;
		next = i;
	}
	return next;
}

/* Which kinds of things it waited for, when they are several; small ones together, so that the
 * parts are the whole. */
static bool say_classes(struct sentence *s, const struct loser *loser)
{
	ns_t rest = loser->total_ns;
	unsigned nr = 0, told = 0, i;

	if ((i = next_class(loser, 0)) == NR_CLASSES || loser->per_class[i] == loser->total_ns)
		return false;
	for (; i < NR_CLASSES; i = next_class(loser, told)) {
		say_class(s, nr++, loser->per_class[i], class_words[i]);
		rest -= loser->per_class[i];
		told |= 1u << i;
	}
	if (rest > 0)
		say_class(s, nr, rest, "it was one of several smaller causes");
	say(s, ".");
	return true;
}

/* What a guest's own tools cannot show. */
static void say_unseen(struct sentence *s, const struct loser *loser)
{
	if (!loser->in_guest_ns)
		return;
	if (loser->in_guest_ns == loser->total_ns) {
		say(s, " Its own kernel saw nothing of that.");
		return;
	}
	say(s, " Its own kernel did not see ");
	say_length(s, loser->in_guest_ns);
	say(s, " of that.");
}

static void thread_verdict(struct why *w, const struct losers *l, const struct loser *loser)
{
	struct sonde_thread t;
	struct verdict v;

	sonde_thread_get(w->history, loser->row, &t);
	v = verdict_of(w, l, loser, "thread", t.machine);
	v.thread = loser->row;
	say_thread(&v.says, loser->row);
	say(&v.says, " of ");
	say_machine(&v.says, t.machine);
	say(&v.says, " had a run-queue delay of ");
	say_length(&v.says, loser->total_ns);
	say_window(&v.says, w, loser);
	say_unseen(&v.says, loser);
	say_causes(&v.says, l, loser, say_classes(&v.says, loser));
	say_worst(&v.says, loser);
	why_add(w, &v);
}

static void release(struct losers *l)
{
	keyed_release(&l->rows);
	free(l->causes);
	map_release(&l->by_key);
}

static void tell(struct why *w, struct losers *l,
		 void (*verdict)(struct why *w, const struct losers *l, const struct loser *loser))
{
	rank_causes(l);
	for (size_t i = 0; i < l->rows.nr; i++)
		verdict(w, l, loser_at(l, i));
}

static bool losers_init(struct losers *l, const struct why *w)
{
	*l = (struct losers){
		.history = w->history,
		.last_row = -1,
		.rows = {.nr_cells = 1, .sum_bytes = sizeof(struct loser)},
	};
	return !culprits_get(&l->culprits, w->history);
}

int why_delays(struct why *w, struct error *err)
{
	struct both b = {.victim = {.history = w->history, .thread = -1}};
	const struct thread_waits *waits;
	bool fits = losers_init(&b.vcpus, w);
	int ret = thread_waits_get(&waits, w->history, w->begin, w->end, err);

	fits &= losers_init(&b.threads, w);
	for (size_t i = 0; fits && !ret && i < waits->nr_waiters && !b.threads.no_memory; i++)
		add_waiter(&b.threads, waits, &waits->waiters[i]);
	if (fits && !ret && !b.threads.no_memory)
		ret = preemption_parts(w->history, w->begin, w->end, add_preemption, &b, err);
	if (!ret && !b.threads.no_memory && !b.vcpus.no_memory)
		ret = preemption_sum(w->history, w->begin, w->end, add_causes, &b, err);
	if (!ret && (!fits || b.vcpus.no_memory || b.threads.no_memory))
		ret = fail(err, -ENOMEM, "out of memory");
	if (!ret) {
		tell(w, &b.vcpus, vcpu_verdict);
		sum_classes(&b.threads);
		tell(w, &b.threads, thread_verdict);
	}
	release(&b.vcpus);
	release(&b.threads);
	return ret;
}
