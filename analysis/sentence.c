/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sentence.h"
#include "base/text.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text as it is: most of a sentence, and there is a sentence for each verdict. */
static void say_text(struct sentence *s, const char *text)
{
	size_t room = sizeof(s->text) - 1 - s->len;
	size_t len = strnlen(text, room);

	memcpy(s->text + s->len, text, len);
	s->len += len;
	s->text[s->len] = 0;
}

void say(struct sentence *s, const char *fmt, ...)
{
	va_list args;
	int n;

	if (!strchr(fmt, '%')) {
		say_text(s, fmt);
		return;
	}
	va_start(args, fmt);
	n = vsnprintf(s->text + s->len, sizeof(s->text) - s->len, fmt, args);
	va_end(args);
	if (n > 0)
		s->len += (size_t)n;
	if (s->len >= sizeof(s->text))
		s->len = sizeof(s->text) - 1;
}

static void say_number(struct sentence *s, int64_t number)
{
	char digits[UNIT_TEXT];
	struct text text = text_in(digits, sizeof(digits));

	text_i64(&text, number);
	text_end(&text, sizeof(digits));
	say_text(s, digits);
}

void say_length(struct sentence *s, ns_t length)
{
	char text[UNIT_TEXT];

	say_text(s, unit_length(text, length, sonde_history_ticks_are_ns(s->history)));
}

void say_time(struct sentence *s, ns_t t)
{
	char text[UNIT_TEXT];

	say_text(s, unit_time(text, t, sonde_history_ticks_are_ns(s->history)));
}

void say_machine(struct sentence *s, int64_t machine)
{
	struct sonde_machine m;

	say_text(s, sonde_machine_get(s->history, machine, &m) ? "an unknown machine" : m.name);
}

void say_cpu(struct sentence *s, int64_t row)
{
	struct sonde_cpu cpu;

	if (sonde_cpu_get(s->history, row, &cpu)) {
		say(s, "a CPU");
		return;
	}
	if (cpu.machine == 0) {
		say(s, "CPU ");
		say_number(s, cpu.number);
		return;
	}
	say_machine(s, cpu.machine);
	if (cpu.number < 0) {
		say(s, "'s vCPUs");
		return;
	}
	say(s, " vCPU ");
	say_number(s, cpu.number);
}

void say_thread(struct sentence *s, int64_t row)
{
	struct sonde_pid_ns ns;
	struct sonde_thread t;
	char label[96];

	if (sonde_thread_get(s->history, row, &t)) {
		say(s, "a thread");
		return;
	}
	if (!t.tid) {
		say(s, "the idle task");
		return;
	}
	if (t.vcpu >= 0) {
		say_cpu(s, t.vcpu);
		return;
	}
	sonde_thread_label(s->history, row, label, sizeof(label));
	say_text(s, label);
	if (sonde_pid_ns_get(s->history, t.pid_ns, &ns) || !ns.level)
		return;
	sonde_pid_ns_label(s->history, t.pid_ns, label, sizeof(label));
	say(s, " in container %s", label);
}

static void say_vm_culprit(struct sentence *s, const struct culprit *c)
{
	say_cpu(s, c->vcpu);
	if (c->thread < 0)
		return;
	say(s, " (");
	say_thread(s, c->thread);
	say(s, ")");
}

void say_culprit(struct sentence *s, const struct culprit *c)
{
	switch (c->mode) {
	case SONDE_MODE_UNKNOWN:
		say(s, "something unknown");
		return;
	case SONDE_MODE_IDLE:
		say(s, "nobody");
		return;
	case SONDE_MODE_IRQ:
	case SONDE_MODE_SOFTIRQ:
		say(s, c->mode == SONDE_MODE_IRQ ? "hardirqs of " : "softirqs of ");
		say_machine(s, c->machine);
		return;
	case SONDE_MODE_HYPERVISOR:
		say_machine(s, c->machine);
		say(s, "'s hypervisor, for ");
		say_cpu(s, c->vcpu);
		say(s, ",");
		return;
	default:
		break;
	}
	if (c->machine > 0) {
		say_vm_culprit(s, c);
		return;
	}
	say_thread(s, c->thread);
	say(s, " of ");
	say_machine(s, c->machine);
}

void say_had_cpu(struct sentence *s, const struct culprit *c, int64_t cpu)
{
	if (c->mode == SONDE_MODE_IDLE) {
		say(s, "it was on its way to an idle CPU.");
		return;
	}
	if (c->mode == SONDE_MODE_UNKNOWN) {
		say(s, "it is not known who had the CPU.");
		return;
	}
	say_culprit(s, c);
	say(s, " had ");
	if (cpu < 0)
		say(s, "the CPU");
	else
		say_cpu(s, cpu);
	say(s, ".");
}

const char *thread_name(const struct sonde_history *history, int64_t row)
{
	struct sonde_thread t;

	return sonde_thread_get(history, row, &t) ? "" : t.comm;
}
