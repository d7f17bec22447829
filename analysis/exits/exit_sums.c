/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/exits/exit_sums.h"
#include "query/intervals.h"
#include "arch/exits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is summed up per exit: of one reason, of one thread in a guest, on vCPUs of one VM.  The
 * sums of reasons and of causes are made of these at the end. */
enum part_key { PART_THREAD, PART_VM, PART_FROM, PART_NR, PART_ISA, PART_NR_CELLS };

struct part {
	uint64_t count, to_user;
	ns_t total_ns, user_ns, least_ns;
	struct exit_longest longest;
	struct histogram *lengths;  /* of the reason, which owns it */
	size_t reason_at, cause_at; /* what it is a part of */
	struct exit_nest *nested;   /* a nested guest's */
	bool is_halt, starts_guest;
};

/* The parts that were found last: most exits need no search. */
#define RECENT_SLOTS 256
#define CURRENT_SLOTS 64

/* By a hash of kind and task. */
struct recent {
	uint32_t kind; /* 0: none yet */
	uint32_t task, part_at;
};

/* By the kind alone, as long as the guest runs the same task. */
struct current {
	ns_t until;
	uint32_t kind; /* 0: none yet */
	uint32_t part_at;
};

/* What a guest's kernel says that it runs on a vCPU: as much as was read at once, and where we are
 * in it. */
struct tasks {
	struct interval_list list;
	unsigned at;
};

struct pass {
	struct exit_sums *sums;
	struct keyed parts; /* struct part */
	/* Of the vCPU at hand. */
	struct recent recent[RECENT_SLOTS];
	struct current current[CURRENT_SLOTS];
	struct sonde_history *history;
	struct interval_cache cache;
	struct from_cpu {
		unsigned machine;
		uint32_t tasks; /* where its own are */
	} * cpus;		/* owned, per CPU row */
	struct tasks *tasks;	/* owned, the same */
	int64_t *idle;		/* owned, per machine: thread that stands for its idle ones, + 1 */
	/* Nested exits of the vCPU at hand. */
	struct exit_nest *inner; /* of the nested machine that ran last; NULL none */
	ns_t since;		 /* when it exited last */
	uint64_t exits;		 /* of its hypervisor since then */
	ns_t exits_ns;
	bool no_memory;
};

/* Who ran in the guest: its kernel's current thread + 1, and until when; 0: it has no trace, or
 * that cannot be read, or it is not known which guest (@from -1). */
static uint32_t guest_task(struct pass *p, int64_t from, ns_t t, ns_t *until)
{
	attr_t attr = from < 0 ? ATTR_NONE : p->history->cpu_attrs[from][CPU_TASK];
	struct tasks *tasks;
	const struct interval_list *list;
	int ret;

	*until = NS_MAX;
	if (attr == ATTR_NONE)
		return 0;
	tasks = &p->tasks[p->cpus[from].tasks];
	list = &tasks->list;
	while (tasks->at < list->nr && t >= list->begins[tasks->at + 1])
		tasks->at++;
	if (tasks->at == list->nr || t < list->begins[tasks->at]) {
		*until = t;
		tasks->at = 0;
		ret = interval_cache_list(&p->cache, attr, t, sonde_history_end(p->history),
					  &tasks->list);
		if (ret) {
			p->no_memory = ret == -ENOMEM;
			tasks->list.nr = 0;
			return 0;
		}
	}
	*until = list->begins[tasks->at + 1];
	return list->values[tasks->at];
}

/* Every CPU has an idle thread, and all have the same name: those of a machine count as one. */
static int64_t idle_as_one(struct pass *p, int64_t machine, int64_t thread)
{
	struct sonde_thread t;

	if (machine < 0 || sonde_thread_get(p->history, thread, &t) || t.tid)
		return thread;
	if (!p->idle[machine])
		p->idle[machine] = thread + 1;
	return p->idle[machine] - 1;
}

/* NULL: it is the VM's own code that ran. */
static struct exit_nest *nest_of(const struct pass *p, int64_t vm, int64_t from)
{
	if (from < 0)
		from = sonde_nr_machines(p->history) + vm;
	return from == vm ? NULL : &p->sums->nests[from];
}

/* Makes what a new part is a part of; false: no memory. */
static bool begin_part(struct pass *p, struct part *part, const int64_t *key)
{
	struct exit_sums *s = p->sums;
	const int64_t of_reason[REASON_NR_CELLS] = {key[PART_VM], key[PART_FROM], key[PART_NR],
						    key[PART_ISA]};
	const int64_t of_cause[CAUSE_NR_CELLS] = {key[PART_THREAD], key[PART_FROM], key[PART_NR],
						  key[PART_ISA]};
	int64_t reason = keyed_get(&s->reasons, of_reason);
	int64_t cause = keyed_get(&s->causes, of_cause);
	struct exit_reason *sum;

	if (reason < 0 || cause < 0)
		return false;
	sum = keyed_sum_at(&s->reasons, (size_t)reason);
	if (!sum->lengths)
		sum->lengths = calloc(1, sizeof(*sum->lengths));
	*part = (struct part){
		.least_ns = NS_MAX,
		.lengths = sum->lengths,
		.reason_at = (size_t)reason,
		.cause_at = (size_t)cause,
		.nested = nest_of(p, key[PART_VM], key[PART_FROM]),
		.is_halt = exit_is_halt(p->history, key[PART_ISA], key[PART_NR]),
		.starts_guest = exit_starts_guest(key[PART_NR], key[PART_ISA]),
	};
	return part->lengths;
}

/* Number of the sums that exits of this kind are part of while that task runs; -1: no memory. */
static int64_t look_up(struct pass *p, const struct exit_interval *e, uint32_t task)
{
	const struct exit_kind *kind = query_exit_kind(p->history, e->kind);
	int64_t from = kind->serves < 0 ? -1 : (int64_t)p->cpus[kind->serves].machine;
	const int64_t key[PART_NR_CELLS] = {idle_as_one(p, from, (int64_t)task - 1),
					    p->cpus[e->vcpu].machine, from, kind->reason,
					    kind->isa};
	int64_t number = keyed_get(&p->parts, key);
	struct part *part;

	if (number < 0)
		return -1;
	part = keyed_sum_at(&p->parts, (size_t)number);
	return part->count || begin_part(p, part, key) ? number : -1;
}

/* The same for one whose guest may run another task than at the exit of its kind before; false: no
 * memory. */
static bool find_part(struct pass *p, const struct exit_interval *e, struct current *out)
{
	int64_t from = query_exit_kind(p->history, e->kind)->serves;
	uint32_t task = guest_task(p, from, e->begin, &out->until);
	struct recent *r = &p->recent[(e->kind + task * 31) % RECENT_SLOTS];

	if (p->no_memory)
		return false;
	if (r->kind != e->kind || r->task != task) {
		int64_t number = look_up(p, e, task);

		if (number < 0)
			return false;
		*r = (struct recent){e->kind, task, (uint32_t)number};
	}
	out->kind = e->kind;
	out->part_at = r->part_at;
	return true;
}

static void add_to_part(struct part *part, const struct exit_interval *e, ns_t length)
{
	if (length > part->longest.length_ns)
		part->longest = (struct exit_longest){length, e->begin, e->vcpu};
	if (length < part->least_ns)
		part->least_ns = length;
	part->count++;
	part->total_ns += length;
	if (!e->user_kind)
		return;
	part->to_user++;
	part->user_ns += e->end - e->user_begin;
}

static void add_nested(struct pass *p, const struct part *part, const struct exit_interval *e)
{
	struct exit_nest *nest;

	if (part->nested) {
		p->inner = nest = part->nested;
		nest->nested++;
		nest->nested_ns += e->end - e->begin;
		p->since = e->begin;
		p->exits = 0;
		p->exits_ns = 0;
		return;
	}
	p->exits++;
	p->exits_ns += e->end - e->begin;
	if (!part->starts_guest)
		return;
	nest = p->inner;
	nest->handed++;
	nest->follow += p->exits;
	nest->follow_ns += p->exits_ns;
	nest->handling_ns += e->end - p->since;
	p->inner = NULL;
}

static void keep_exit(struct exit_sums *s, const struct exit_interval *e)
{
	longest_add(&s->longest, e->end - e->begin);
	if (s->all_kept && s->nr == s->room) {
		size_t room = s->room ? s->room * 2 : 1024;
		struct exit_interval *grown =
			room <= EXITS_KEPT ? reallocarray(s->list, room, sizeof(*grown)) : NULL;

		if (!grown)
			free(s->list); /* all are looked for again */
		s->all_kept = grown != NULL;
		s->list = grown;
		s->room = room;
	}
	if (s->all_kept)
		s->list[s->nr++] = *e;
}

/* False: no memory. */
static bool add_exit(struct pass *p, const struct exit_interval *e)
{
	struct current *c = &p->current[e->kind % CURRENT_SLOTS];
	const ns_t length = e->end - e->begin;
	struct part *part;

	if ((c->kind != e->kind || e->begin >= c->until) && !find_part(p, e, c))
		return false;
	part = keyed_sum_at(&p->parts, c->part_at);
	if (!histogram_count(part->lengths, length))
		return false;
	add_to_part(part, e, length);
	if (part->nested || p->inner)
		add_nested(p, part, e);
	if (length > longest_least(&p->sums->longest) && !part->is_halt)
		keep_exit(p->sums, e);
	return true;
}

static bool add_exits(const struct exit_interval *list, size_t nr, void *data)
{
	struct pass *p = data;

	for (const struct exit_interval *e = list; e < list + nr; e++) {
		if (!add_exit(p, e)) {
			p->no_memory = true;
			return false;
		}
	}
	return true;
}

static void take_longer(struct exit_longest *into, const struct exit_longest *from)
{
	bool earlier = from->vcpu != into->vcpu ? from->vcpu < into->vcpu : from->at < into->at;

	if (from->length_ns > into->length_ns || (from->length_ns == into->length_ns && earlier))
		*into = *from;
}

static void sum_parts(struct exit_sums *s, const struct keyed *parts)
{
	for (size_t i = 0; i < parts->nr; i++) {
		const struct part *part = keyed_sum_at(parts, i);
		struct exit_reason *reason = keyed_sum_at(&s->reasons, part->reason_at);
		struct exit_cause *cause = keyed_sum_at(&s->causes, part->cause_at);

		histogram_add_sums(reason->lengths, part->count, part->total_ns, part->least_ns,
				   part->longest.length_ns);
		reason->to_user += part->to_user;
		reason->user_ns += part->user_ns;
		take_longer(&reason->longest, &part->longest);
		cause->count += part->count;
		cause->total_ns += part->total_ns;
		cause->user_ns += part->user_ns;
		take_longer(&cause->longest, &part->longest);
	}
}

/* A damaged file names machines that are not there, and has two CPUs in one place: those have one
 * list of tasks, for a block that is asked for by two may be gone when the other looks at it again.
 * False: no memory. */
static bool read_cpus(struct pass *p)
{
	struct map by_attr = {0};
	bool fits = true;

	for (int64_t row = 0; row < sonde_nr_cpus(p->history) && fits; row++) {
		attr_t attr = p->history->cpu_attrs[row][CPU_TASK];
		const uint32_t *other = map_get(&by_attr, attr);
		struct from_cpu *from = &p->cpus[row];
		struct sonde_cpu c;

		if (!sonde_cpu_get(p->history, row, &c) &&
		    c.machine < sonde_nr_machines(p->history))
			from->machine = c.machine;
		from->tasks = other && attr != ATTR_NONE ? *other : (uint32_t)row;
		fits = other || !map_put(&by_attr, attr, (uint32_t)row);
	}
	map_release(&by_attr);
	return fits;
}

static int sum_up(struct exit_sums *s, struct sonde_history *history, struct error *err)
{
	struct pass p = {.sums = s, .history = history, .cache.history = history};
	int ret = 0;

	p.parts.nr_cells = PART_NR_CELLS;
	p.parts.sum_bytes = sizeof(struct part);
	s->reasons.nr_cells = REASON_NR_CELLS;
	s->reasons.sum_bytes = sizeof(struct exit_reason);
	s->causes.nr_cells = CAUSE_NR_CELLS;
	s->causes.sum_bytes = sizeof(struct exit_cause);
	s->nests = calloc((size_t)sonde_nr_machines(history) * 2 + 1, sizeof(*s->nests));
	p.cpus = calloc((size_t)sonde_nr_cpus(history) + 1, sizeof(*p.cpus));
	p.tasks = calloc((size_t)sonde_nr_cpus(history) + 1, sizeof(*p.tasks));
	p.idle = calloc((size_t)sonde_nr_machines(history) + 1, sizeof(*p.idle));
	p.no_memory = !s->nests || !p.cpus || !p.tasks || !p.idle || !read_cpus(&p);
	for (int64_t vcpu = 0; vcpu < sonde_nr_cpus(history) && !p.no_memory && !ret; vcpu++) {
		memset(p.recent, 0, sizeof(p.recent));
		memset(p.current, 0, sizeof(p.current));
		p.inner = NULL;
		ret = exits_scan(history, vcpu, s->begin, s->end, add_exits, &p);
	}
	if (!p.no_memory && !ret)
		sum_parts(s, &p.parts);
	keyed_release(&p.parts);
	interval_cache_release(&p.cache);
	free(p.cpus);
	free(p.tasks);
	free(p.idle);
	if (p.no_memory)
		return fail(err, -ENOMEM, "out of memory");
	return ret ? fail(err, ret, "cannot read a vCPU's exits: %s", error_reason(ret)) : 0;
}

static void release(struct kept *kept)
{
	struct exit_sums *s = (struct exit_sums *)kept;

	for (size_t i = 0; i < s->reasons.nr; i++)
		histogram_free(((struct exit_reason *)keyed_sum_at(&s->reasons, i))->lengths);
	free(s->nests);
	free(s->list);
	keyed_release(&s->reasons);
	keyed_release(&s->causes);
	free(s);
}

static const struct kept_kind kind = {release};

int exit_sums_get(const struct exit_sums **out, struct sonde_history *history, ns_t begin, ns_t end,
		  struct error *err)
{
	struct exit_sums *s = kept_find(history, &kind);
	int ret;

	*out = s;
	if (s && s->begin == begin && s->end == end)
		return 0;
	kept_drop(history, &kind);
	s = calloc(1, sizeof(*s));
	if (!s)
		return fail(err, -ENOMEM, "out of memory");
	s->begin = begin;
	s->end = end;
	s->all_kept = true;
	ret = sum_up(s, history, err);
	if (ret) {
		release(&s->kept);
		return ret;
	}
	kept_set(history, &kind, &s->kept);
	*out = s;
	return 0;
}

int exit_sums_longest(const struct exit_sums *s, struct sonde_history *history,
		      bool (*each)(const struct exit_interval *list, size_t nr, void *data),
		      void *data)
{
	int ret = 0;

	if (s->all_kept && s->nr)
		each(s->list, s->nr, data);
	for (int64_t vcpu = 0; vcpu < sonde_nr_cpus(history) && !s->all_kept && !ret; vcpu++)
		ret = exits_scan(history, vcpu, s->begin, s->end, each, data);
	return ret;
}
