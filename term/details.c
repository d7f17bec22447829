/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the chosen line at the cursor: all layers of a CPU, a vCPU, a thread. */
#include "base/units.h"
#include "report/moment.h"
#include "report/palette.h"
#include "term/scene.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Values of a vCPU's state, docs/formats/schema.md. */
#define VCPU_PREEMPTED 3
#define VCPU_WAITING 4

/* Where the next line goes. */
struct sheet {
	struct scene *s;
	unsigned row, end;
};

static void say(struct sheet *sheet, enum tty_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(struct sheet *sheet, enum tty_style style, const char *fmt, ...)
{
	unsigned columns = tty_columns(sheet->s->tty);
	char text[600];
	va_list ap;

	if (sheet->row >= sheet->end)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tty_put(sheet->s->tty, sheet->row++, 1, columns - 1, style, false, text);
}

static char *length_text(const struct scene *s, ns_t length, char buf[static UNIT_TEXT])
{
	return unit_length(buf, length, sonde_history_ticks_are_ns(s->history));
}

/* "container X", with blanks before it; "" for none. */
static char *in_container(const struct scene *s, int64_t thread, char *buf, size_t room)
{
	char label[100];

	container_text(s->history, thread, label, sizeof(label));
	snprintf(buf, room, "%s%s", *label ? "  in " : "", label);
	return buf;
}

static void say_frame(struct sheet *sheet, const struct sonde_stack *stack, unsigned i)
{
	struct scene *s = sheet->s;
	const struct sonde_frame *f = &stack->frames[i];
	char thread[120] = "", container[120], does[160], cpu[32] = "";
	struct sonde_machine m;

	sonde_machine_get(s->history, f->machine, &m);
	if (f->cpu >= 0)
		snprintf(cpu, sizeof(cpu), "/%d", f->cpu);
	if (f->thread >= 0)
		sonde_thread_label(s->history, f->thread, thread, sizeof(thread));
	stack_does_text(s->history, stack, i, does, sizeof(does));
	say(sheet, i + 1 == stack->nr ? TTY_BOLD : TTY_PLAIN, "%*sL%u %s%s  %s%s  %s", (int)(2 * i),
	    "", m.level, m.name, cpu, thread,
	    in_container(s, f->thread, container, sizeof(container)), does);
}

static void say_stack(struct sheet *sheet, int cpu)
{
	struct scene *s = sheet->s;
	ns_t at = s->view.cursor;
	char length[UNIT_TEXT], since[UNIT_TEXT], bound[UNIT_TEXT], uncertain[120] = "";
	struct sonde_stack stack;

	if (sonde_stack_at(s->history, cpu, at, &stack)) {
		say(sheet, TTY_BAD, "nothing can be read of this moment");
		return;
	}
	for (unsigned i = 0; i < stack.nr; i++)
		say_frame(sheet, &stack, i);
	if (stack.context >= 0 && stack_is_uncertain(&stack, at))
		snprintf(uncertain, sizeof(uncertain),
			 "; a change is nearer than the clocks' error");
	if (stack.context >= 0 && stack.bound_ns > 0)
		snprintf(uncertain + strlen(uncertain), sizeof(uncertain) - strlen(uncertain),
			 " (%s)", length_text(s, stack.bound_ns, bound));
	say(sheet, TTY_FAINT, "for %s, since %s%s", length_text(s, stack.end - stack.begin, length),
	    length_text(s, at - stack.begin, since), uncertain);
}

/* The physical CPU that a vCPU (a row) is on; -1: on none, or not known. */
static int physical_cpu(const struct scene *s, int64_t vcpu)
{
	struct sonde_cpu cpu;

	for (unsigned depth = 0; depth < SONDE_LAYERS_MAX; depth++) {
		struct sonde_interval on;
		struct sonde_machine m;

		if (sonde_cpu_get(s->history, vcpu, &cpu) ||
		    sonde_machine_get(s->history, cpu.machine, &m))
			return -1;
		if (m.parent < 0)
			return cpu.number;
		if (sonde_interval_at(s->history, sonde_attr_of_cpu(s->history, vcpu, "on"),
				      s->view.cursor, &on) ||
		    !on.value)
			return -1;
		vcpu = sonde_find_cpu(s->history, (unsigned)m.parent, (int)on.value - 1);
	}
	return -1;
}

static void say_vcpu(struct sheet *sheet, int64_t vcpu)
{
	struct scene *s = sheet->s;
	ns_t at = s->view.cursor;
	char label[100], length[UNIT_TEXT], text[400] = "";
	struct sonde_interval state, task;
	int cpu;

	sonde_cpu_label(s->history, vcpu, label, sizeof(label));
	if (sonde_interval_at(s->history, sonde_attr_of_cpu(s->history, vcpu, "state"), at, &state))
		return;
	say(sheet, state.value == VCPU_PREEMPTED ? TTY_BAD : TTY_BOLD, "%s is %s, for %s", label,
	    vcpu_color(state.value)->name, length_text(s, state.end - state.begin, length));
	if (state.value == VCPU_PREEMPTED)
		vcpu_off_text(s->history, vcpu, at, text, sizeof(text));
	else if (state.value == VCPU_WAITING)
		vcpu_wait_text(s->history, vcpu, at, text, sizeof(text));
	if (*text)
		say(sheet, TTY_PLAIN, "%s", text);
	if (!sonde_interval_at(s->history, sonde_attr_of_cpu(s->history, vcpu, "task"), at,
			       &task) &&
	    task.value) {
		sonde_thread_label(s->history, (int64_t)task.value - 1, label, sizeof(label));
		say(sheet, TTY_PLAIN, "its kernel has %s on it%s", label,
		    in_container(s, (int64_t)task.value - 1, text, sizeof(text)));
	}
	cpu = physical_cpu(s, vcpu);
	if (cpu >= 0)
		say_stack(sheet, cpu);
}

static void say_thread(struct sheet *sheet, int64_t thread)
{
	struct scene *s = sheet->s;
	char label[100], container[120], length[UNIT_TEXT], where[64] = "";
	struct sonde_interval state, cpu;
	struct sonde_thread t;
	struct sonde_machine m;

	if (sonde_thread_get(s->history, thread, &t) ||
	    sonde_machine_get(s->history, t.machine, &m) ||
	    sonde_interval_at(s->history, sonde_attr_of_thread(s->history, thread, "state"),
			      s->view.cursor, &state))
		return;
	sonde_thread_label(s->history, thread, label, sizeof(label));
	say(sheet, TTY_BOLD, "%s on %s is %s, for %s%s", label, m.name,
	    state.value ? thread_color(state.value)->name : "not there",
	    length_text(s, state.end - state.begin, length),
	    in_container(s, thread, container, sizeof(container)));
	if (!sonde_interval_at(s->history, sonde_attr_of_thread(s->history, thread, "cpu"),
			       s->view.cursor, &cpu) &&
	    cpu.value)
		snprintf(where, sizeof(where), ", CPU %u of it", cpu.value - 1);
	say(sheet, TTY_FAINT, "process %lld, its parent %lld%s", (long long)t.pid,
	    (long long)t.ppid, where);
	if (t.vcpu >= 0)
		say_vcpu(sheet, t.vcpu);
}

/* Of a group: what each physical CPU does, in a line each. */
static void say_all(struct sheet *sheet)
{
	struct scene *s = sheet->s;
	int number = INT32_MIN;
	int64_t row;

	while ((row = sonde_next_cpu(s->history, 0, number)) >= 0 && sheet->row < sheet->end) {
		struct sonde_interval now;
		struct sonde_cpu cpu;
		char label[200];

		sonde_cpu_get(s->history, row, &cpu);
		number = cpu.number;
		if (sonde_interval_at(s->history, sonde_attr_of_cpu(s->history, row, "runs"),
				      s->view.cursor, &now))
			continue;
		sonde_context_label(s->history, (int64_t)now.value - 1, label, sizeof(label));
		say(sheet, TTY_PLAIN, "CPU %d  %s", number, label);
	}
}

/* The bar at the cursor, in numbers. */
static void say_exits(struct sheet *sheet, const struct line *line)
{
	struct scene *s = sheet->s;
	char each[UNIT_TEXT], here[UNIT_TEXT], most[UNIT_TEXT];
	struct layout l;
	uint32_t n;

	scene_layout(s, &l);
	n = exits_count(&s->exits, line, view_column(&s->view, s->view.cursor, l.cells), l.cells);
	if (!s->exits.nr)
		return;
	say(sheet, TTY_BOLD, "%s%s exits in %s; the highest bar is %s",
	    s->exits.about ? "about " : "", unit_count(here, n),
	    length_text(s, (s->view.end - s->view.begin) / (ns_t)s->exits.nr, each),
	    unit_count(most, s->exits.most));
}

void details_draw(struct scene *s, unsigned row, unsigned nr)
{
	struct sheet sheet = {s, row, row + nr};
	const struct line *line = s->chosen < s->lines.nr ? &s->lines.list[s->chosen] : NULL;
	struct sonde_cpu cpu;

	if (line && line->kind == LINE_EXITS)
		say_exits(&sheet, line);
	if (!line || line->kind == LINE_GROUP)
		say_all(&sheet);
	else if (line->kind == LINE_CPU && !sonde_cpu_get(s->history, line->cpu, &cpu))
		say_stack(&sheet, cpu.number);
	else if (line->kind == LINE_THREAD)
		say_thread(&sheet, line->thread);
	else
		say_vcpu(&sheet, line->cpu);
}
