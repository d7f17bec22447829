/* SPDX-License-Identifier: Apache-2.0 */
#include "model/state/syscalls.h"

#include <string.h>

#include "arch/arch.h"
#include "events/dialect.h"

static uint32_t name_of_lttng_syscall(const struct trace *t, const struct event *e,
				      struct history_writer *w)
{
	const struct event_type *type = &t->types[e->type];
	const char *name = NULL;

	if (type->syscall >= 0 && (unsigned)type->syscall < t->nr_syscall_names)
		name = t->syscall_names[type->syscall];
	else
		name = dialect_syscall_name(type->name);
	if (!name || !strcmp(name, "unknown"))
		return 0;
	return history_writer_string(w, name, strlen(name));
}

static uint32_t name_of_syscall(struct machine_state *mc, const struct event *e)
{
	const char *name;

	if (mc->trace->lttng)
		return name_of_lttng_syscall(mc->trace, e, mc->model->w);
	name = arch_syscall_name(mc->trace->arch, e->arg[0]);
	return name ? history_writer_string(mc->model->w, name, strlen(name)) : 0;
}

/* Looked up once per event type (LTTng) or number (ftrace). */
static uint32_t syscall_id(struct machine_state *mc, const struct event *e)
{
	int64_t slot = mc->trace->lttng ? e->type : e->arg[0];

	if (slot < 0 || slot >= mc->nr_syscall_ids)
		return 0;
	if (!mc->syscall_ids[slot])
		mc->syscall_ids[slot] = name_of_syscall(mc, e) + 1;
	return mc->syscall_ids[slot] - 1;
}

void cpu_syscall_entry(struct cpu *cpu, const struct event *e)
{
	if (!cpu->thread)
		return;
	cpu->thread->kind = KIND_USER;
	cpu->thread->where = WHERE_SYSCALL;
	cpu->thread->syscall = syscall_id(cpu->machine, e);
}

void cpu_syscall_exit(struct cpu *cpu)
{
	if (!cpu->thread)
		return;
	cpu->thread->kind = KIND_USER;
	cpu->thread->where = WHERE_USER;
}
