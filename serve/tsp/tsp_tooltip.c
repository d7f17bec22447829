/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of the state, the annotation or the arrow under the pointer. */
#include "serve/tsp/tsp_notes.h"
#include "base/units.h"
#include "report/moment.h"
#include "report/palette.h"
#include "serve/api/wakers.h"

#include <errno.h>
#include <stdlib.h>

#define TEXT_MAX 256

/* A key is told once: clients make a map of it. */
static void put_length(struct json *j, const struct tsp_part *p, const char *key, int64_t length)
{
	char text[UNIT_TEXT];

	json_str(j, key, unit_length(text, length, sonde_history_ticks_are_ns(p->history)));
}

static void put_interval(struct json *j, const struct tsp_part *p, int64_t begin, int64_t end)
{
	char text[UNIT_TEXT];

	json_str(j, "Begin", unit_time(text, begin, sonde_history_ticks_are_ns(p->history)));
	json_str(j, "End", unit_time(text, end, sonde_history_ticks_are_ns(p->history)));
	put_length(j, p, "Length", end - begin);
}

static void put_thread(struct json *j, const struct tsp_part *p, const char *key, int64_t row)
{
	char text[TEXT_MAX];

	sonde_thread_label(p->history, row, text, sizeof(text));
	json_str(j, key, text);
}

static void put_container(struct json *j, const struct tsp_part *p, const char *key, int64_t thread)
{
	char text[TEXT_MAX];

	container_text(p->history, thread, text, sizeof(text));
	if (*text)
		json_str(j, key, text);
}

/* "L1 vm-a/0": a layer of a physical CPU. */
static void frame_key(const struct tsp_part *p, const struct sonde_frame *f, const char *what,
		      char *buf, size_t room)
{
	struct sonde_machine m = {.name = "?"};

	sonde_machine_get(p->history, f->machine, &m);
	if (f->cpu < 0)
		snprintf(buf, room, "L%u %s%s", m.level, m.name, what);
	else
		snprintf(buf, room, "L%u %s/%d%s", m.level, m.name, f->cpu, what);
}

static int put_stack(struct json *j, const struct tsp_entry *e, int64_t t)
{
	const struct tsp_part *p = e->part;
	struct sonde_cpu cpu;
	struct sonde_stack s;
	char key[TEXT_MAX], text[TEXT_MAX];
	int ret = sonde_cpu_get(p->history, e->row, &cpu);

	if (!ret)
		ret = cpu.machine ? -EINVAL : sonde_stack_at(p->history, cpu.number, t, &s);
	if (ret)
		return ret;
	for (unsigned i = 0; i < s.nr; i++) {
		frame_key(p, &s.frames[i], "", key, sizeof(key));
		put_thread(j, p, key, s.frames[i].thread);
		frame_key(p, &s.frames[i], " container", key, sizeof(key));
		put_container(j, p, key, s.frames[i].thread);
	}
	if (s.nr) {
		stack_does_text(p->history, &s, s.nr - 1, text, sizeof(text));
		json_str(j, "Does", text);
	}
	put_interval(j, p, s.begin, s.end);
	if (s.bound_ns < 0)
		json_str(j, "Clock uncertainty", "not limited");
	else
		put_length(j, p, "Clock uncertainty", s.bound_ns);
	return 0;
}

static int put_vcpu(struct json *j, const struct tsp_entry *e, int64_t t)
{
	struct sonde_history *history = e->part->history;
	struct sonde_interval state, on;
	struct sonde_cpu cpu;
	struct sonde_interval task;
	char text[2 * TEXT_MAX];
	int ret = sonde_cpu_get(history, e->row, &cpu);

	if (!ret)
		ret = sonde_interval_at(history, sonde_attr_of_cpu(history, e->row, "state"), t,
					&state);
	if (ret)
		return ret;
	json_str(j, "State", vcpu_color(state.value)->name);
	put_interval(j, e->part, state.begin, state.end);
	put_thread(j, e->part, "Host thread", cpu.host_thread);
	if (!sonde_interval_at(history, sonde_attr_of_cpu(history, e->row, "on"), t, &on) &&
	    on.value) {
		snprintf(text, sizeof(text), "%u", (unsigned)on.value - 1);
		json_str(j, "On CPU", text);
	}
	if (!sonde_interval_at(history, sonde_attr_of_cpu(history, e->row, "task"), t, &task) &&
	    task.value) {
		put_thread(j, e->part, "Guest thread", (int64_t)task.value - 1);
		put_container(j, e->part, "Container", (int64_t)task.value - 1);
	}
	*text = '\0';
	if (state.value == VCPU_WAITING)
		vcpu_wait_text(history, e->row, t, text, sizeof(text));
	else if (state.value == VCPU_PREEMPTED)
		vcpu_off_text(history, e->row, t, text, sizeof(text));
	if (*text)
		json_str(j, "Why", text);
	return 0;
}

static int put_thread_state(struct json *j, const struct tsp_entry *e, int64_t t)
{
	struct sonde_history *history = e->part->history;
	struct sonde_interval state, cpu;
	char text[32];
	int ret = sonde_interval_at(history, sonde_attr_of_thread(history, e->row, "state"), t,
				    &state);

	if (ret)
		return ret;
	put_thread(j, e->part, "Thread", e->row);
	json_str(j, "State", thread_color(state.value)->name);
	put_interval(j, e->part, state.begin, state.end);
	put_container(j, e->part, "Container", e->row);
	if (!sonde_interval_at(history, sonde_attr_of_thread(history, e->row, "cpu"), t, &cpu) &&
	    cpu.value) {
		snprintf(text, sizeof(text), "%u", (unsigned)cpu.value - 1);
		json_str(j, "CPU", text);
	}
	return 0;
}

static int put_state(struct tsp_call *c, const struct tsp_entry *e, int64_t t)
{
	if (tsp_entry_attr(c->output.kind, e) == SONDE_NO_ATTR)
		return 0;
	t = tsp_run_time(e->part, t);
	if (t < e->part->begin || t >= e->part->end)
		return 0;
	if (c->output.kind == TSP_FUSED)
		return put_stack(&c->json, e, t);
	return c->output.kind == TSP_VCPUS ? put_vcpu(&c->json, e, t)
					   : put_thread_state(&c->json, e, t);
}

static void entry_label(const struct tsp_entry *e, char *buf, size_t room)
{
	struct sonde_machine m = {.name = ""};

	switch (e->kind) {
	case TSP_MACHINE:
		sonde_machine_get(e->part->history, e->row, &m);
		snprintf(buf, room, "%s", m.name);
		break;
	case TSP_CPU:
		sonde_cpu_label(e->part->history, e->row, buf, room);
		break;
	case TSP_PID_NS:
		sonde_pid_ns_label(e->part->history, e->row, buf, room);
		break;
	default:
		sonde_thread_label(e->part->history, e->row, buf, room);
	}
}

static void put_arrow(struct tsp_call *c, const struct tsp_entry *e, const struct tsp_element *el)
{
	struct tsp_entry to;
	char text[TEXT_MAX];

	entry_label(e, text, sizeof(text));
	json_str(&c->json, "From", text);
	if (!tsp_entry_find(&c->view, el->destination, &to)) {
		entry_label(&to, text, sizeof(text));
		json_str(&c->json, "To", text);
	}
	put_length(&c->json, e->part, "Length", el->duration);
}

/* ---- annotations --------------------------------------------------------------------------- */

struct wanted {
	struct json *json;
	int64_t entry, time;
	bool found;
};

static bool put_note(const struct tsp_note *n, void *data)
{
	struct wanted *w = data;

	if (w->found || n->entry != w->entry || n->time != w->time)
		return true;
	json_str(w->json, tsp_category_name(n->category), n->label);
	w->found = true;
	return false;
}

static int put_annotation(struct tsp_call *c, const struct tsp_entry *e,
			  const struct tsp_element *el, struct error *err)
{
	struct wanted w = {
		.json = &c->json,
		.entry = tsp_entry_id(e->part, e->kind, e->row),
		.time = el->time,
	};
	struct tsp_range at = {.start = el->time, .end = el->time + 1};

	if (el->time == INT64_MAX)
		return 0;
	return tsp_notes(c, &at, TSP_ALL_CATEGORIES, put_note, &w, err);
}

int tsp_tooltip(struct tsp_call *c, struct error *err)
{
	struct tsp_element el = {.kind = TSP_STATE, .entry = -1, .destination = -1};
	int64_t *times = NULL, *items = NULL;
	struct tsp_entry e;
	int ret = tsp_query_element(c->query, &el, err);

	if (c->output.kind > TSP_THREADS)
		return fail(err, -EINVAL, "%s is no time graph", c->output.id);
	if (!ret || ret == -ENODATA)
		ret = tsp_query_list(c->query, "requested_items", &items, err);
	if (ret == 0)
		ret = fail(err, -EINVAL, "requested_items is empty");
	if (ret > 0 && tsp_entry_find(&c->view, items[0], &e))
		ret = fail(err, -ENOENT, "there is no such entry");
	if (ret > 0)
		ret = tsp_query_list(c->query, "requested_times", &times, err);
	if (ret == 0)
		ret = fail(err, -EINVAL, "requested_times is empty");
	if (ret < 0)
		goto out;
	json_begin_object(&c->json, "model");
	if (el.kind == TSP_STATE)
		ret = put_state(c, &e, times[0]);
	else if (el.kind == TSP_ANNOTATION)
		ret = put_annotation(c, &e, &el, err);
	else
		put_arrow(c, &e, &el);
	json_end(&c->json);
out:
	free(times);
	free(items);
	return ret < 0 ? ret : 0;
}
