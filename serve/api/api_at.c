/* SPDX-License-Identifier: Apache-2.0 */
/* One moment of one row with all that is around it, and the way to the next one. */
#include "serve/api/api.h"
#include "query/counts.h"
#include "report/moment.h"
#include "serve/api/wakers.h"
#include "sonde/tables.h"
#include "sonde/sonde.h"

#include <errno.h>
#include <string.h>

#define LABEL_MAX 160
#define WAKES_BACK_MAX 2000 /* changes looked at for the last wake-up */

static void json_thread_label(struct json *j, const struct call *c, const char *key, int64_t row)
{
	char label[LABEL_MAX];

	json_begin_object(j, key);
	json_row(j, "row", row);
	sonde_thread_label(c->history, row, label, sizeof(label));
	json_str(j, "label", label);
	json_end(j);
}

/* The containers a thread is in, the innermost first. */
static void json_containers(struct json *j, const struct call *c, int64_t thread)
{
	struct sonde_thread t = {.pid_ns = -1};
	struct sonde_pid_ns ns;
	char label[LABEL_MAX];
	int64_t row;

	json_begin_array(j, "containers");
	if (!sonde_thread_get(c->history, thread, &t)) {
		unsigned depth = 0;

		for (row = t.pid_ns; is_container(c->history, row) &&
				     !sonde_pid_ns_get(c->history, row, &ns) && depth < 32;
		     row = ns.parent, depth++) {
			sonde_pid_ns_label(c->history, row, label, sizeof(label));
			json_begin_object(j, NULL);
			json_row(j, "row", row);
			json_str(j, "label", label);
			json_end(j);
		}
	}
	json_end(j);
}

static void json_interval(struct json *j, const struct call *c, int64_t begin, int64_t end)
{
	json_int(j, "begin", begin - c->begin);
	json_int(j, "end", end - c->begin);
}

/* All layers of a physical CPU. */
static int write_stack(struct json *j, struct call *c, int64_t row, int64_t t)
{
	struct sonde_stack s;
	struct sonde_cpu cpu;
	int ret = sonde_cpu_get(c->history, row, &cpu);

	if (!ret)
		ret = cpu.machine ? -EINVAL : sonde_stack_at(c->history, cpu.number, t, &s);
	if (ret)
		return ret;
	json_interval(j, c, s.begin, s.end);
	json_row(j, "context", s.context);
	json_uint(j, "mode", s.mode);
	json_str(j, "detail", s.detail_text);
	json_row(j, "serves", s.serves);
	json_row(j, "bound_ns", s.bound_ns);
	json_begin_array(j, "stack");
	for (unsigned i = 0; i < s.nr; i++) {
		json_begin_object(j, NULL);
		json_uint(j, "machine", s.frames[i].machine);
		json_row(j, "cpu", s.frames[i].cpu);
		json_thread_label(j, c, "thread", s.frames[i].thread);
		json_containers(j, c, s.frames[i].thread);
		json_end(j);
	}
	json_end(j);
	return 0;
}

/* Who ran at @t while this vCPU was ready to. */
static int write_culprit(struct json *j, struct call *c, int64_t vcpu, int64_t t)
{
	struct sonde_rows *f;
	struct sonde_error why;
	int ret = sonde_rows_get(&f, c->history, "preemption_list", t, t + 1, &why);
	int who, by, machine;

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	who = sonde_rows_column(f, "vcpu");
	by = sonde_rows_column(f, "culprit");
	machine = sonde_rows_column(f, "culprit_machine");
	for (size_t i = 0; who >= 0 && by >= 0 && i < sonde_rows_nr(f); i++) {
		if (sonde_rows_cell(f, i, (unsigned)who).i != vcpu)
			continue;
		json_thread_label(j, c, "instead", sonde_rows_cell(f, i, (unsigned)by).i);
		if (machine >= 0)
			json_row(j, "instead_machine", sonde_rows_cell(f, i, (unsigned)machine).i);
		break;
	}
	sonde_rows_free(f);
	return 0;
}

/* What ended, or will end, the wait that @t is in: known from the VM entry behind it. */
static void write_wake(struct json *j, struct call *c, int64_t row, int64_t t)
{
	uint32_t attr = sonde_attr_of_cpu(c->history, row, "woken");
	struct sonde_interval now;
	struct sonde_wake wake;
	int64_t next;

	if (sonde_interval_at(c->history, attr, t, &now))
		return;
	if (!now.value && (sonde_attr_next_change(c->history, attr, t, &next) ||
			   sonde_interval_at(c->history, attr, next, &now)))
		return;
	if (sonde_wake_get(c->history, (int64_t)now.value - 1, &wake))
		return;
	json_begin_object(j, "wake");
	json_str(j, "cause", sonde_cause_name(wake.cause));
	json_str(j, "irq", wake.irq);
	json_row(j, "from", wake.from);
	json_str(j, "evidence", wake.evidence);
	json_end(j);
}

/* Why its thread lost the CPU. */
static void write_off(struct json *j, struct call *c, int64_t row, int64_t t)
{
	struct sonde_interval off;

	if (!sonde_interval_at(c->history, sonde_attr_of_cpu(c->history, row, "why_off"), t,
			       &off) &&
	    off.value > SONDE_OFF_UNKNOWN && off.value < QUERY_NR_OFFS)
		json_str(j, "why_off", sonde_off_name((enum sonde_off)off.value));
}

static int write_vcpu(struct json *j, struct call *c, int64_t row, int64_t t)
{
	struct sonde_interval state, on, task;
	struct sonde_cpu cpu;
	int ret = sonde_cpu_get(c->history, row, &cpu);

	if (!ret)
		ret = sonde_interval_at(c->history, sonde_attr_of_cpu(c->history, row, "state"), t,
					&state);
	if (ret)
		return ret;
	json_interval(j, c, state.begin, state.end);
	json_uint(j, "state", state.value);
	json_thread_label(j, c, "host_thread", cpu.host_thread);
	if (!sonde_interval_at(c->history, sonde_attr_of_cpu(c->history, row, "on"), t, &on) &&
	    on.value)
		json_uint(j, "on", on.value - 1);
	if (!sonde_interval_at(c->history, sonde_attr_of_cpu(c->history, row, "task"), t, &task) &&
	    task.value) {
		json_thread_label(j, c, "task", (int64_t)task.value - 1);
		json_containers(j, c, (int64_t)task.value - 1);
	}
	if (state.value == VCPU_WAITING)
		write_wake(j, c, row, t);
	if (state.value != VCPU_PREEMPTED)
		return 0;
	write_off(j, c, row, t);
	return write_culprit(j, c, row, t);
}

/* When it was woken last, at or before @t; -1: not in the time looked at. */
static int64_t last_wake(struct call *c, uint32_t attr, int64_t t)
{
	struct sonde_interval now, before;

	for (unsigned i = 0; i < WAKES_BACK_MAX && !sonde_interval_at(c->history, attr, t, &now);
	     i++) {
		if (now.begin <= c->begin ||
		    sonde_interval_at(c->history, attr, now.begin - 1, &before))
			break;
		if (thread_sleeps(before.value) && !thread_sleeps(now.value))
			return now.begin;
		t = now.begin - 1;
	}
	return -1;
}

static void write_woken(struct json *j, struct call *c, int64_t row, uint32_t attr, int64_t t)
{
	int64_t woken = last_wake(c, attr, t);
	struct sonde_interval waker;
	struct sonde_context by;

	if (woken < 0 ||
	    sonde_interval_at(c->history, sonde_attr_of_thread(c->history, row, "waker"), woken,
			      &waker) ||
	    sonde_context_get(c->history, (int64_t)waker.value - 1, &by))
		return;
	json_begin_object(j, "woken");
	json_int(j, "t", woken - c->begin);
	json_thread_label(j, c, "by", by.thread);
	json_uint(j, "machine", by.machine);
	json_int(j, "cpu", by.cpu);
	json_uint(j, "mode", by.mode);
	json_str(j, "detail", by.detail_text);
	json_end(j);
}

static int write_thread(struct json *j, struct call *c, int64_t row, int64_t t)
{
	uint32_t attr = sonde_attr_of_thread(c->history, row, "state");
	struct sonde_interval state, cpu;
	int ret = sonde_interval_at(c->history, attr, t, &state);

	if (ret)
		return ret;
	json_interval(j, c, state.begin, state.end);
	json_uint(j, "state", state.value);
	json_thread_label(j, c, "thread", row);
	json_containers(j, c, row);
	if (!sonde_interval_at(c->history, sonde_attr_of_thread(c->history, row, "cpu"), t, &cpu) &&
	    cpu.value)
		json_uint(j, "cpu", cpu.value - 1);
	if (state.value == THREAD_RUNNING || state.value == THREAD_RUNNABLE)
		write_woken(j, c, row, attr, t);
	return 0;
}

int answer_at(struct call *c, struct error *err)
{
	static const struct {
		const char *kind;
		int (*write)(struct json *j, struct call *c, int64_t row, int64_t t);
	} kinds[] = {{"cpu", write_stack}, {"vcpu", write_vcpu}, {"thread", write_thread}};
	const char *kind = request_text(c->request, "kind");
	struct json j = {.out = c->reply->out};
	int64_t row, t;
	int ret = request_int(c->request, "row", 0, INT32_MAX, &row, err);

	if (!ret)
		ret = request_int(c->request, "t", 0, c->length - 1, &t, err);
	if (ret)
		return ret;
	for (unsigned i = 0; kind && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].kind, kind))
			continue;
		json_begin_object(&j, NULL);
		ret = kinds[i].write(&j, c, row, c->begin + t);
		json_end(&j);
		return ret ? fail(err, ret, "nothing is known of this row then") : 0;
	}
	return fail(err, -EINVAL, "kind is none of cpu, vcpu, thread");
}

/* ---- steps --------------------------------------------------------------------------------- */

/* What a step looks for; -1 = any. */
struct wanted {
	int64_t value;	/* of the attribute */
	int64_t thread; /* row, in contexts */
};

static bool is_wanted(const struct call *c, const struct wanted *w, uint32_t value)
{
	struct sonde_context x;

	if (w->value >= 0 && value != w->value)
		return false;
	if (w->thread < 0)
		return true;
	return !sonde_context_get(c->history, (int64_t)value - 1, &x) && x.thread == w->thread;
}

/* Follows the changes of @attr; *t is the moment of the one wanted.  1 found, 0 none, -errno. */
static int step(struct call *c, uint32_t attr, bool forward, const struct wanted *w, int64_t *t)
{
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		struct sonde_interval now;
		int ret = forward ? sonde_attr_next_change(c->history, attr, *t, t)
				  : sonde_attr_prev_change(c->history, attr, *t - 1, t);

		if (ret || *t == SONDE_TIME_MAX || *t < c->begin || *t >= c->begin + c->length)
			return ret;
		ret = sonde_interval_at(c->history, attr, *t, &now);
		if (ret)
			return ret;
		if (is_wanted(c, w, now.value))
			return 1;
	}
	return 0;
}

int answer_step(struct call *c, struct error *err)
{
	struct json j = {.out = c->reply->out};
	struct wanted w = {-1, -1};
	int64_t attr, t, back = 0;
	int ret = request_int(c->request, "attr", 0, (int64_t)sonde_nr_attrs(c->history) - 1, &attr,
			      err);

	if (!ret)
		ret = request_int(c->request, "t", 0, c->length, &t, err);
	if (!ret && request_text(c->request, "back"))
		ret = request_int(c->request, "back", 0, 1, &back, err);
	if (!ret && request_text(c->request, "value"))
		ret = request_int(c->request, "value", 0, UINT32_MAX, &w.value, err);
	if (!ret && request_text(c->request, "thread"))
		ret = request_int(c->request, "thread", 0, INT32_MAX, &w.thread, err);
	if (ret)
		return ret;
	t += c->begin;
	ret = step(c, (uint32_t)attr, !back, &w, &t);
	if (ret < 0)
		return fail(err, ret, "cannot read the history: %s", error_reason(ret));
	json_begin_object(&j, NULL);
	if (ret)
		json_int(&j, "t", t - c->begin);
	else
		json_put_null(&j, "t");
	json_end(&j);
	return 0;
}

int answer_time(struct call *c, struct error *err)
{
	const char *text = request_text(c->request, "text");
	struct json j = {.out = c->reply->out};
	struct sonde_error why = {0};
	int64_t t;
	int ret = text ? sonde_history_time(c->history, text, &t, &why) : -EINVAL;

	if (ret)
		return fail(err, ret, "%s", text ? why.text : "text is missing");
	json_begin_object(&j, NULL);
	json_int(&j, "t", t - c->begin);
	json_end(&j);
	return 0;
}
