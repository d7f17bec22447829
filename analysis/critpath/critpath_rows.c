/* SPDX-License-Identifier: Apache-2.0 */
/* A critical path as rows: its steps, each in words. */
#include "analysis/critpath/critpath.h"
#include "analysis/rows.h"
#include "analysis/sentence.h"

#include <errno.h>
#include <stdlib.h>

static const char *const kind_names[PATH_NR_KINDS] = {
	[PATH_RUNS] = "runs",	    [PATH_HYPERVISOR] = "hypervisor", [PATH_INTERRUPTED] = "irq",
	[PATH_OFF_CPU] = "steal",   [PATH_QUEUED] = "queued",	      [PATH_WAITS] = "waits",
	[PATH_UNKNOWN] = "unknown",
};

/* "irq 25 (virtio0-req.0)": its number, as its kernel counts, and what its handler is called. */
static void say_mode(struct sentence *s, const struct sonde_context *c)
{
	const char *name;

	say(s, "%s%s%s", sonde_mode_name(c->mode), *c->detail_text ? " " : "", c->detail_text);
	if (!*c->detail_text && c->detail >= 0 &&
	    (c->mode == SONDE_MODE_IRQ || c->mode == SONDE_MODE_HYPERVISOR ||
	     c->mode == SONDE_MODE_SOFTIRQ))
		say(s, " %lld", (long long)c->detail);
	if (!*c->detail_text && c->mode == SONDE_MODE_IRQ) {
		name = query_irq_name(s->history, c->machine, c->detail);
		say(s, "%s%s%s", *name ? " (" : "", name, *name ? ")" : "");
	}
}

static void say_wait(struct sentence *s, const struct path_step *step,
		     const struct sonde_context *c)
{
	if (step->context < 0) {
		say(s, "until something that the trace does not tell");
		return;
	}
	if (c->mode == SONDE_MODE_IDLE) {
		say(s, "until woken from idle on ");
		say_machine(s, c->machine);
		return;
	}
	say(s, "for ");
	say_mode(s, c);
	say(s, " on ");
	say_cpu(s, sonde_find_cpu(s->history, c->machine, c->cpu));
	if (!c->machine) {
		say(s, " of ");
		say_machine(s, 0);
	}
}

static bool is_vcpu_thread(const struct sentence *s, int64_t thread)
{
	struct sonde_thread t;

	return !sonde_thread_get(s->history, thread, &t) && t.vcpu >= 0;
}

/* "web1 vCPU 2 was runnable, CPU 3 ran postgres[12] of host0"; of that vCPU's own thread "runnable,
 * CPU 3 ran ..."; of other threads "behind postgres[12] of host0" */
static void say_others(struct sentence *s, const struct path_step *step, const struct culprit *by)
{
	bool ready = step->ready >= 0;

	if (ready) {
		say_cpu(s, step->ready);
		say(s, " was ");
	}
	if (step->kind == PATH_QUEUED && is_vcpu_thread(s, step->thread))
		ready = true;
	if (ready)
		say(s, "runnable");
	if (step->on < 0)
		return;
	if (ready)
		say(s, ", ");
	if (by->mode == SONDE_MODE_IDLE) {
		say(s, "on its way to ");
		say_cpu(s, step->on);
		return;
	}
	if (ready) {
		say_cpu(s, step->on);
		say(s, " ran ");
	} else {
		say(s, "behind ");
	}
	say_culprit(s, by);
}

/* Of who made it nothing is known, either. */
static bool is_before_birth(const struct sentence *s, const struct path_step *step)
{
	struct sonde_thread t;

	return !sonde_thread_get(s->history, step->thread, &t) && t.begin >= step->end;
}

/* What a step was about, beyond its kind and its thread. */
static void say_step(struct sentence *s, const struct path_step *step)
{
	struct sonde_context c = {.thread = -1, .detail_text = ""};
	struct culprit culprit = culprit_of(s->history, step->context);

	sonde_context_get(s->history, step->context, &c);
	switch (step->kind) {
	case PATH_RUNS:
	case PATH_INTERRUPTED:
		say_mode(s, &c);
		break;
	case PATH_HYPERVISOR:
		say_machine(s, c.machine);
		say(s, "'s, %s for ", *c.detail_text ? c.detail_text : "exit");
		if (c.serves < 0)
			say(s, "a guest of ");
		say_cpu(s, query_vcpu_served(s->history, &c));
		break;
	case PATH_OFF_CPU:
	case PATH_QUEUED:
		say_others(s, step, &culprit);
		break;
	case PATH_WAITS:
		say_wait(s, step, &c);
		if (step->ready < 0)
			break;
		culprit = culprit_of(s->history, step->instead);
		say(s, "; ");
		say_others(s, step, &culprit);
		break;
	case PATH_UNKNOWN:
		if (is_before_birth(s, step))
			say(s, "before it was first seen");
		break;
	default:
		break;
	}
	/* "host0's hypervisor, for vm vCPU 0," ends where a sentence would go on. */
	if (s->len && s->text[s->len - 1] == ',')
		s->text[--s->len] = '\0';
}

static void add_step(struct sonde_rows *out, struct sonde_history *history,
		     const struct path_step *step)
{
	bool instead = step->kind == PATH_WAITS && step->ready >= 0;
	struct culprit by = culprit_of(history, instead ? step->instead : step->context);
	struct sentence says = {.history = history};
	struct sonde_thread t;
	char *text;

	say_step(&says, step);
	text = arena_strdup(&out->arena, says.text);
	out->no_memory |= !text;
	if (!text)
		return;
	rows_add(out,
		 (union sonde_cell[]){
			 cell_int(step->begin),
			 cell_int(step->end - step->begin),
			 cell_int(sonde_thread_get(history, step->thread, &t) ? -1
									      : (int64_t)t.machine),
			 cell_int(step->thread),
			 cell_int(step->depth),
			 cell_str(kind_names[step->kind]),
			 cell_str(text),
			 cell_int(step->on),
			 cell_int(by.machine),
			 cell_int(by.thread),
			 cell_int(by.mode),
			 cell_int(step->ready),
		 });
}

static const struct sonde_column columns[] = {
	{"at", "AT", SONDE_COL_TIME, "start of the step"},
	{"length", "FOR", SONDE_COL_NS, "how long; the steps add up to the window's length"},
	{"machine", "MACHINE", SONDE_COL_MACHINE, "of the thread"},
	{"thread", "THREAD", SONDE_COL_THREAD, "whose part of the path this is"},
	{"depth", "WAKE-UPS", SONDE_COL_INT, "how many wake-ups away from the thread asked for"},
	{"kind", "IS", SONDE_COL_STRING,
	 "runs, hypervisor (one works for its vCPU), irq (handlers upon it), steal (its kernel "
	 "took it "
	 "for running, others had the CPU), queued (runnable), waits (for an interrupt, or what is "
	 "not "
	 "known), unknown"},
	{"what", "WHAT", SONDE_COL_STRING, "in words"},
	{"on", "ON", SONDE_COL_CPU, "physical CPU"},
	{"by_machine", "BY", SONDE_COL_MACHINE,
	 "machine of what that CPU ran, or, where none is known, of what ended the wait"},
	{"by", "BY THREAD", SONDE_COL_THREAD, "its thread"},
	{"mode", "AS", SONDE_COL_MODE, "what it did"},
	{"runnable_vcpu", "RUNNABLE VCPU", SONDE_COL_CPU,
	 "vCPU under the thread that was runnable and did not run"},
};

static const struct sonde_table critical_path = {
	"critical_path", "Critical path",
	"what a thread waited for, followed backwards through wake-ups, interrupts and vCPUs",
	columns, ARRAY_SIZE(columns)};

int sonde_critical_path(struct sonde_rows **out, struct sonde_history *history, int64_t thread,
			int64_t begin, int64_t end, struct sonde_error *err)
{
	struct sonde_rows *f = calloc(1, sizeof(*f));
	struct error inner = {0};
	struct sonde_thread t;
	struct path path = {0};
	int ret;

	*out = NULL;
	if (!f)
		return query_error(err, fail(&inner, -ENOMEM, "out of memory"), &inner);
	f->table = &critical_path;
	query_begin(history, critical_path.name);
	if (sonde_thread_get(history, thread, &t))
		ret = fail(&inner, -ENOENT, "there is no such thread");
	else if (t.end >= 0 && t.end <= begin)
		ret = fail(&inner, -ERANGE, "the thread has ended before that");
	else
		ret = path_find(&path, history, thread, begin,
				t.end >= 0 && t.end < end ? t.end : end, &inner);
	for (size_t i = 0; i < path.nr; i++)
		add_step(f, history, &path.steps[i]);
	path_release(&path);
	if (!ret && f->no_memory)
		ret = fail(&inner, -ENOMEM, "out of memory");
	ret = query_end(history, ret, &inner);
	if (ret) {
		sonde_rows_free(f);
		return query_error(err, ret, &inner);
	}
	*out = f;
	return 0;
}
