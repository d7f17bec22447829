/* SPDX-License-Identifier: Apache-2.0 */
#include "model/boot/initcalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/boot/milestones.h"
#include "source/trace.h"

/* A kernel has some thousands; a guest may send any number. */
#define INITCALLS_MAX 65536

/* Those that may be under way: as many as CPUs load modules. */
#define OPEN_MAX 64

/* Steps of a boot by their numbers in the hypertrace format. */
static const char *const boot_levels[] = {
	"start_kernel", "memory",    "scheduler", "interrupts and clocks",
	"console",	"processes", "early",	  "pure",
	"core",		"postcore",  "arch",	  "subsys",
	"fs",		"device",    "late",
};

#define FIRST_PROGRAM 17

/* Numbers 7 on are not in the order of time. */
static const char *boot_level(uint64_t number)
{
	switch (number) {
	case 7:
		return "other CPUs";
	case 16:
		return "initramfs";
	case FIRST_PROGRAM:
		return "first program";
	default:
		if (number > 7)
			number--;
		return number < ARRAY_SIZE(boot_levels) ? boot_levels[number] : NULL;
	}
}

static void level_begins(struct machine_state *mc, const struct event *e)
{
	struct model *m = mc->model;
	struct milestone milestone = {
		.machine = mc, .since = m->now, .at = m->now, .kind = "level"};
	struct field_value level;
	const char *name;
	size_t len;

	if (trace_event_field(m->stream, e, "level", &level))
		return;
	name = level.text ? level.text : boot_level(level.u);
	if (!name)
		return;
	len = level.text ? strnlen(level.text, level.len) : strlen(name);
	milestone.text = history_writer_string(m->w, name, len);
	mc->boot_level = milestone.text;
	mc->has_init |= !level.text && level.u == FIRST_PROGRAM;
	milestone_add(m, &milestone);
}

/* ---- initcalls ----------------------------------------------------------------------------- */

/* What a tracer calls it, or the kernel's list of its functions, or its address.  The list is of
 * the recording's end: by then others stand where modules had theirs. */
static uint32_t name_of(struct machine_state *mc, const struct field_value *func, bool of_module)
{
	struct model *m = mc->model;
	char address[24];
	const char *name = func->text;
	size_t len = name ? strnlen(name, func->len) : 0;

	if (!len && !of_module && !mc->symbols_read) {
		mc->symbols_read = true;
		if (symbols_open(&mc->symbols, mc->trace))
			model_no_memory(m);
	}
	if (!len && !of_module)
		name = symbols_find(&mc->symbols, func->u, &len);
	if (!name) {
		len = (size_t)snprintf(address, sizeof(address), "0x%llx",
				       (unsigned long long)func->u);
		name = address;
	}
	return history_writer_string(m->w, name, len);
}

static struct initcall *under_way(struct model *m, const struct cpu *cpu, uint64_t func)
{
	uint32_t from = m->nr_initcalls > OPEN_MAX ? m->nr_initcalls - OPEN_MAX : 0;

	for (uint32_t i = m->nr_initcalls; i-- > from;) {
		struct initcall *c = &m->initcalls[i];

		if (c->end == NS_MIN && !c->is_over && c->machine == cpu->machine &&
		    c->func == func && c->thread == cpu->thread)
			return c;
	}
	return NULL;
}

void initcall_add(struct model *m, const struct initcall *c)
{
	if (m->nr_initcalls < INITCALLS_MAX &&
	    !model_grow(m, (void **)&m->initcalls, m->nr_initcalls, &m->initcalls_room,
			sizeof(*m->initcalls)))
		m->initcalls[m->nr_initcalls++] = *c;
}

uint32_t initcall_level_unknown(struct model *m)
{
	return history_writer_string(m->w, "unknown", sizeof("unknown") - 1);
}

/* NULL: there are too many, or no memory. */
static struct initcall *add_here(struct cpu *cpu, const struct field_value *func, ns_t begin)
{
	struct machine_state *mc = cpu->machine;
	struct model *m = mc->model;
	uint32_t nr = m->nr_initcalls;
	/* Thread 1 calls the kernel's own, until it is the first program. */
	bool of_module =
		cpu->thread && (cpu->thread->tid > 1 || (cpu->thread->tid == 1 && mc->has_init));
	bool has_level = cpu->thread && mc->boot_level;
	const struct initcall c = {
		.machine = mc,
		.thread = cpu->thread,
		.func = func->u,
		.name = name_of(mc, func, of_module),
		.level = of_module   ? 0
			 : has_level ? mc->boot_level
				     : initcall_level_unknown(m),
		.begin = begin,
		.end = NS_MIN,
	};

	initcall_add(m, &c);
	return m->nr_initcalls > nr ? &m->initcalls[nr] : NULL;
}

static void initcall_ends(struct cpu *cpu, const struct event *e, const struct field_value *func)
{
	struct model *m = cpu->machine->model;
	struct initcall *c = under_way(m, cpu, func->u);
	struct field_value result;

	if (!c) /* it was called before the trace, or while events were lost */
		c = add_here(cpu, func, NS_MIN);
	if (!c)
		return;
	c->end = m->now;
	if (!trace_event_field(m->stream, e, "ret", &result))
		c->result = result.i;
}

void initcall_event(struct cpu *cpu, const struct event *e)
{
	struct model *m = cpu->machine->model;
	const char *name = m->stream->trace->types[e->type].name;
	struct field_value func;

	if (strstr(name, "level"))
		level_begins(cpu->machine, e);
	else if (trace_event_field(m->stream, e, "func", &func))
		return;
	else if (strstr(name, "start"))
		add_here(cpu, &func, m->now);
	else
		initcall_ends(cpu, e, &func);
}

void initcalls_release(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_machines; i++)
		symbols_release(&m->machines[i]->symbols);
	free(m->initcalls);
}
