/* SPDX-License-Identifier: Apache-2.0 */
/* Every attribute of docs/formats/schema.md, at every moment. */
#include "less_specific.h"

#include <stdio.h>

#include "model/context.h"

#define INCARNATION 8 /* in a thread's state: bits above */

/* ---- what physical CPUs run, and rows of table "context" ----------------------------------- */

static const struct sonde_context *context_of(const struct side *s, uint32_t value)
{
	return value && value <= s->nr_contexts ? &s->contexts[value - 1] : NULL;
}

static bool context_known(const struct side *s, uint32_t value)
{
	const struct sonde_context *c = context_of(s, value);

	return c && c->mode != SONDE_MODE_UNKNOWN;
}

static bool contexts_fit(const struct pair *p, uint32_t cut, uint32_t whole, int64_t t)
{
	const struct sonde_context *c = context_of(&p->cut, cut), *w = context_of(&p->whole, whole);

	return !c || (w && context_fits(p, c, w, t));
}

static bool contexts_say_more(const struct pair *p, uint32_t cut, uint32_t whole)
{
	const struct sonde_context *c = context_of(&p->cut, cut), *w = context_of(&p->whole, whole);

	return c && w && context_says_more(p, c, w);
}

static int64_t slack_of_runs(const struct pair *p, const struct question *q, uint32_t cut,
			     uint32_t whole, int64_t t)
{
	const struct sonde_context *c = context_of(&p->cut, cut), *w = context_of(&p->whole, whole);

	(void)q;
	return c && w ? slack_of_contexts(p, c, w, t) : 0;
}

static int64_t slack_of_machine(const struct pair *p, const struct question *q, uint32_t cut,
				uint32_t whole, int64_t t)
{
	(void)cut;
	(void)whole;
	return slack_of(p, q->cut_machine, q->whole_machine, t);
}

static void word_context(const struct side *s, uint32_t value, char *buf, size_t room)
{
	const struct sonde_context *c = context_of(s, value);
	int len = value ? sonde_context_label(s->history, (int64_t)value - 1, buf, room)
			: snprintf(buf, room, "none");

	if (c && len > 0 && (size_t)len < room)
		snprintf(buf + len, room - (size_t)len,
			 " {%s cpu%d mode %d detail %lld %s serves %lld vmm %d}",
			 s->machines[c->machine].name, c->cpu, c->mode, (long long)c->detail,
			 c->detail_text, (long long)c->serves, c->vmm);
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Of states 0 is none and 1 unknown; of numbers 0 is unknown. */
static bool state_known(const struct side *s, uint32_t value)
{
	(void)s;
	return (value & 0xff) > 1;
}

static bool number_known(const struct side *s, uint32_t value)
{
	(void)s;
	return value > 0;
}

static bool same_number(const struct pair *p, uint32_t cut, uint32_t whole, int64_t t)
{
	(void)t;
	(void)p;
	return cut == whole;
}

/* That an earlier incarnation is gone stays true. */
static bool states_fit(const struct pair *p, uint32_t cut, uint32_t whole, int64_t t)
{
	(void)t;
	(void)p;
	return (cut & 0xff) == (whole & 0xff) ||
	       ((cut & 0xff) == THREAD_DEAD && whole >> INCARNATION);
}

static void word_number(const struct side *s, uint32_t value, char *buf, size_t room)
{
	(void)s;
	snprintf(buf, room, "%u", value & 0xff);
}

/* ---- rows of tables ------------------------------------------------------------------------- */

static bool threads_fit(const struct pair *p, uint32_t cut, uint32_t whole, int64_t t)
{
	(void)t;
	return thread_fits(p, (int64_t)cut - 1, (int64_t)whole - 1);
}

/* A process of a VM without a trace has a number that only means something in one history. */
static bool task_known(const struct side *s, uint32_t value)
{
	return value && s->threads[value - 1].tid >= 0;
}

static void word_thread(const struct side *s, uint32_t value, char *buf, size_t room)
{
	if (value)
		sonde_thread_label(s->history, (int64_t)value - 1, buf, room);
	else
		snprintf(buf, room, "none");
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Of @l what holds while @of has @value, and had @before right before that (0: whatever). */
static void only_while(struct interval_list *l, const struct interval_list *of, uint32_t value,
		       uint32_t before)
{
	struct interval_list out = {0};
	size_t j = 0;

	for (size_t i = 0; i < of->nr; i++) {
		const struct sonde_interval *o = &of->list[i];

		while (j < l->nr && l->list[j].end <= o->begin)
			j++;
		if ((o->value & 0xff) != value ||
		    (before && (!i || (of->list[i - 1].value & 0xff) != before)))
			continue;
		for (size_t k = j; k < l->nr && l->list[k].begin < o->end; k++) {
			struct sonde_interval x = l->list[k];

			x.begin = x.begin > o->begin ? x.begin : o->begin;
			x.end = x.end < o->end ? x.end : o->end;
			list_add(&out, &x);
		}
	}
	list_release(l);
	*l = out;
}

/* All that had this TID, one after the other. */
static void list_states(const struct side *s, int64_t machine, int64_t tid,
			struct interval_list *out)
{
	uint32_t incarnation = 0;

	for (int64_t row = 0; row < s->nr_threads; row++) {
		struct interval_list one = {0};

		if (s->threads[row].machine != machine || s->threads[row].tid != tid)
			continue;
		list_attr(s->history, sonde_attr_of_thread(s->history, row, "state"), &one);
		for (size_t i = 0; i < one.nr; i++) {
			struct sonde_interval *x = &one.list[i];

			if (!x->value)
				continue;
			while (out->nr && out->list[out->nr - 1].begin >= x->begin)
				out->nr--;
			if (out->nr && out->list[out->nr - 1].end > x->begin)
				out->list[out->nr - 1].end = x->begin;
			x->value |= incarnation << INCARNATION;
			list_add(out, x);
		}
		incarnation++;
		list_release(&one);
	}
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	uint32_t while_state, after; /* 0 always */
	bool (*known)(const struct side *s, uint32_t value);
	bool (*fits)(const struct pair *p, uint32_t cut, uint32_t whole, int64_t t);
	void (*word)(const struct side *s, uint32_t value, char *buf, size_t room);
} of_vcpus[] = {
	{"state", 0, 0, state_known, states_fit, word_number},
	{"on", VCPU_ON_CPU, 0, number_known, same_number, word_number},
	{"why_off", VCPU_PREEMPTED, VCPU_ON_CPU, state_known, same_number, word_number},
	{"task", 0, 0, task_known, threads_fit, word_thread},
};

/* A vCPU's state is its parent's word; its task its own. */
static void compare_vcpu(struct pair *p, int64_t cut, int64_t whole)
{
	const struct sonde_cpu *c = &p->cut.cpus[cut], *w = &p->whole.cpus[whole];
	struct interval_list state = {0};
	char label[96];

	sonde_cpu_label(p->cut.history, cut, label, sizeof(label));
	list_attr(p->cut.history, sonde_attr_of_cpu(p->cut.history, cut, "state"), &state);
	list_translate(p, &state);
	for (size_t i = 0; i < sizeof(of_vcpus) / sizeof(*of_vcpus); i++) {
		const char *name = of_vcpus[i].name;
		struct interval_list said = {0}, was = {0};
		bool own = of_vcpus[i].known == task_known;
		struct question q = {
			.kind = name,
			.known = of_vcpus[i].known,
			.fits = of_vcpus[i].fits,
			.word = of_vcpus[i].word,
			.slack = slack_of_machine,
			.part = of_vcpus[i].while_state,
			.cut_machine = own ? (int)c->machine : p->cut.machines[c->machine].parent,
			.whole_machine =
				own ? (int)w->machine : p->whole.machines[w->machine].parent,
			.of = {c->machine, own ? -1 : cut, -1},
		};

		snprintf(q.which, sizeof(q.which), "%s/%s", label, name);
		list_attr(p->cut.history, sonde_attr_of_cpu(p->cut.history, cut, name), &said);
		list_attr(p->whole.history, sonde_attr_of_cpu(p->whole.history, whole, name), &was);
		list_translate(p, &said);
		if (of_vcpus[i].while_state)
			only_while(&said, &state, of_vcpus[i].while_state, of_vcpus[i].after);
		compare_timelines(p, &q, &said, &was);
		list_release(&said);
		list_release(&was);
	}
	list_release(&state);
}

static void compare_physical(struct pair *p, int64_t cut, int64_t whole)
{
	struct interval_list said = {0}, was = {0};
	struct question q = {
		.kind = "runs",
		.known = context_known,
		.fits = contexts_fit,
		.more = contexts_say_more,
		.word = word_context,
		.slack = slack_of_runs,
		.of = {0, -1, -1},
		.context = true,
	};

	sonde_cpu_label(p->cut.history, cut, q.which, sizeof(q.which));
	list_attr(p->cut.history, sonde_attr_of_cpu(p->cut.history, cut, "runs"), &said);
	list_attr(p->whole.history, sonde_attr_of_cpu(p->whole.history, whole, "runs"), &was);
	list_translate(p, &said);
	compare_timelines(p, &q, &said, &was);
	list_release(&said);
	list_release(&was);
}

/* ---- threads --------------------------------------------------------------------------------- */

static bool seen_before(const struct side *s, int64_t row)
{
	for (int64_t i = 0; i < row; i++) {
		if (s->threads[i].machine == s->threads[row].machine &&
		    s->threads[i].tid == s->threads[row].tid)
			return true;
	}
	return false;
}

static int64_t count_of(const struct side *s, int64_t machine, int64_t tid, int64_t *row)
{
	int64_t nr = 0;

	for (int64_t i = 0; i < s->nr_threads; i++) {
		if (s->threads[i].machine == machine && s->threads[i].tid == tid) {
			*row = i;
			nr++;
		}
	}
	return nr;
}

/* An attribute that means something while the thread is in one state. */
static void compare_of_thread(struct pair *p, const struct question *like, int64_t cut,
			      int64_t whole, const char *name, uint32_t while_state,
			      const struct interval_list *state)
{
	struct question q = *like;
	struct interval_list said = {0}, was = {0};

	snprintf(q.which, sizeof(q.which), "%.120s/%s", like->which, name);
	list_attr(p->cut.history, sonde_attr_of_thread(p->cut.history, cut, name), &said);
	list_attr(p->whole.history, sonde_attr_of_thread(p->whole.history, whole, name), &was);
	list_translate(p, &said);
	only_while(&said, state, while_state, 0);
	q.part = true;
	compare_timelines(p, &q, &said, &was);
	list_release(&said);
	list_release(&was);
}

static void compare_thread(struct pair *p, int64_t row)
{
	const struct sonde_thread *th = &p->cut.threads[row];
	int64_t machine = p->machines[th->machine].row, whole = -1;
	struct interval_list said = {0}, was = {0};
	struct question q = {
		.kind = "thread",
		.known = state_known,
		.fits = states_fit,
		.word = word_number,
		.slack = slack_of_machine,
		.cut_machine = th->machine,
		.whole_machine = machine,
		.of = {th->machine, -1, row},
	};

	sonde_thread_label(p->cut.history, row, q.which, sizeof(q.which));
	list_states(&p->cut, th->machine, th->tid, &said);
	list_states(&p->whole, machine, th->tid, &was);
	list_translate(p, &said);
	compare_timelines(p, &q, &said, &was);
	if (count_of(&p->whole, machine, th->tid, &whole) == 1 && th->end < 0) {
		q.known = number_known;
		q.fits = same_number;
		q.kind = "thread cpu";
		compare_of_thread(p, &q, row, whole, "cpu", THREAD_RUNNING, &said);
		q.known = context_known;
		q.fits = contexts_fit;
		q.more = contexts_say_more;
		q.word = word_context;
		q.kind = "waker";
		q.context = true;
		compare_of_thread(p, &q, row, whole, "waker", THREAD_RUNNABLE, &said);
	}
	list_release(&said);
	list_release(&was);
}

void compare_states(struct pair *p)
{
	for (int64_t i = 0; i < p->cut.nr_cpus; i++) {
		if (p->cpus[i] < 0)
			continue;
		if (p->cut.cpus[i].machine)
			compare_vcpu(p, i, p->cpus[i]);
		else if (!p->root)
			compare_physical(p, i, p->cpus[i]);
	}
	for (int64_t row = 0; row < p->cut.nr_threads; row++) {
		const struct sonde_thread *th = &p->cut.threads[row];
		struct twin machine = p->machines[th->machine];

		if (th->tid > 0 && machine.row >= 0 && !machine.within &&
		    !seen_before(&p->cut, row))
			compare_thread(p, row);
	}
}
