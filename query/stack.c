/* SPDX-License-Identifier: Apache-2.0 */
/* All layers of a physical CPU at one moment: from the innermost outwards, over each vCPU's `on`
 * attribute and the thread of the parent that runs it. */
#include "query/query.h"
#include "model/context.h"

#include <errno.h>
#include <string.h>

/* The vCPU of a VM in L0 that the physical CPU runs; -1 not known.  For guests of it that do not
 * say on which of its vCPUs they are. */
static int64_t vcpu_on(struct sonde_history *history, unsigned vm, int physical_cpu, int64_t t)
{
	for (int64_t row = 0; row < sonde_nr_cpus(history); row++) {
		const attr_t *attrs = history->cpu_attrs[row];
		struct sonde_interval state, on;
		struct sonde_cpu cpu;

		if (!sonde_cpu_get(history, row, &cpu) && cpu.machine == vm &&
		    !sonde_interval_at(history, attrs[CPU_STATE], t, &state) &&
		    state.value == VCPU_ON_CPU &&
		    !sonde_interval_at(history, attrs[CPU_ON], t, &on) &&
		    on.value == (uint32_t)physical_cpu + 1)
			return row;
	}
	return -1;
}

/* The frame of the parent around @inner; false at the physical machine. */
static bool frame_around(struct sonde_history *history, int physical_cpu, int64_t t,
			 struct sonde_frame *inner, struct sonde_frame *outer)
{
	int64_t vcpu = sonde_find_cpu(history, inner->machine, inner->cpu);
	struct sonde_interval on;
	struct sonde_machine m;
	struct sonde_cpu cpu;

	if (sonde_machine_get(history, inner->machine, &m) || m.parent < 0)
		return false;
	if (vcpu < 0 && m.parent == 0) {
		vcpu = vcpu_on(history, inner->machine, physical_cpu, t);
		if (vcpu >= 0 && !sonde_cpu_get(history, vcpu, &cpu))
			inner->cpu = cpu.number;
	}
	*outer = (struct sonde_frame){.machine = (unsigned)m.parent, .cpu = -1, .thread = -1};
	if (vcpu >= 0 && !sonde_cpu_get(history, vcpu, &cpu))
		outer->thread = cpu.host_thread;
	if (outer->machine == 0)
		outer->cpu = physical_cpu;
	else if (vcpu >= 0 &&
		 !sonde_interval_at(history, history->cpu_attrs[vcpu][CPU_ON], t, &on) && on.value)
		outer->cpu = (int)on.value - 1;
	return true;
}

/* The worst of the layers' clocks; without a trace, a layer's times are those of its host. */
static int64_t stack_bound(struct sonde_history *history, const struct sonde_stack *s, int64_t t)
{
	int64_t worst = 0;

	for (unsigned i = 0; i < s->nr; i++) {
		struct sonde_interval bound;
		struct sonde_machine m;
		attr_t attr;

		if (sonde_machine_get(history, s->frames[i].machine, &m))
			continue;
		attr = history_child(history->file, ATTR_ROOT, m.name);
		if (attr != ATTR_NONE)
			attr = history_child(history->file, attr, "clock_bound");
		if (attr == ATTR_NONE || sonde_interval_at(history, attr, t, &bound))
			continue;
		if (bound.value == UINT32_MAX)
			return -1;
		worst = bound.value > worst ? bound.value : worst;
	}
	return worst;
}

static void reverse(struct sonde_frame *frames, unsigned nr)
{
	for (unsigned i = 0; i < nr / 2; i++) {
		struct sonde_frame swap = frames[i];

		frames[i] = frames[nr - 1 - i];
		frames[nr - 1 - i] = swap;
	}
}

static int stack_at(struct sonde_history *history, int cpu, int64_t t, struct sonde_stack *out)
{
	int64_t row = sonde_find_cpu(history, 0, cpu);
	struct sonde_interval now;
	struct sonde_context c;
	int ret;

	memset(out, 0, sizeof(*out));
	if (row < 0)
		return -ENOENT;
	ret = sonde_interval_at(history, history->cpu_attrs[row][CPU_RUNS], t, &now);
	if (ret)
		return ret;
	out->begin = now.begin;
	out->end = now.end;
	out->context = (int64_t)now.value - 1;
	out->detail_text = "";
	out->serves = -1;
	out->frames[0] = (struct sonde_frame){.machine = 0, .cpu = cpu, .thread = -1};
	out->nr = 1;
	if (sonde_context_get(history, out->context, &c))
		return 0;
	out->mode = c.mode;
	out->detail_text = c.detail_text;
	out->serves = c.serves;
	out->frames[0] =
		(struct sonde_frame){.machine = c.machine, .cpu = c.cpu, .thread = c.thread};
	while (out->nr < SONDE_LAYERS_MAX &&
	       frame_around(history, cpu, t, &out->frames[out->nr - 1], &out->frames[out->nr]))
		out->nr++;
	reverse(out->frames, out->nr);
	out->bound_ns = stack_bound(history, out, t);
	return 0;
}

int sonde_stack_at_sized(struct sonde_history *history, int cpu, int64_t t, struct sonde_stack *out,
			 size_t out_bytes)
{
	struct sonde_stack own;
	int ret = stack_at(history, cpu, t, &own);

	query_give(out, out_bytes, &own, sizeof(own));
	return ret;
}
