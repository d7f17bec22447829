/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/event_marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int event_marks_init(struct event_marks *m, const struct inputs *in)
{
	m->in = in;
	m->running = malloc((in->nr_streams + 1) * sizeof(*m->running));
	if (!m->running)
		return -ENOMEM;
	memset(m->running, 0xff, (in->nr_streams + 1) * sizeof(*m->running));
	return 0;
}

void event_marks_release(struct event_marks *m)
{
	free(m->running);
	memset(m, 0, sizeof(*m));
}

void event_marks_follow(struct event_marks *m, unsigned input, const struct event *e)
{
	if (e->kind == EV_SCHED_SWITCH)
		m->running[input] = (int32_t)e->arg[1];
	else if (e->kind == EV_LOST)
		m->running[input] = -1;
	else if (e->tid >= 0)
		m->running[input] = e->tid;
}

/* The vCPU that a thread of @host runs. */
static const struct vcpu_hint *find_vcpu(const struct topology *t, int host, int32_t tid,
					 unsigned *machine)
{
	for (unsigned i = 0; i < t->nr_machines; i++) {
		const struct machine *m = &t->machines[i];

		for (unsigned v = 0; v < m->nr_vcpus && m->parent == host; v++) {
			*machine = i;
			if (m->vcpus[v].host_tid == tid)
				return &m->vcpus[v];
		}
	}
	return NULL;
}

static int32_t thread_on(const struct event_marks *m, unsigned machine, int cpu)
{
	for (unsigned i = 0; i < m->in->nr_streams; i++) {
		if (m->in->streams[i].machine == machine && m->in->streams[i].stream->cpu == cpu &&
		    m->running[i] >= 0)
			return m->running[i];
	}
	return -1;
}

int32_t event_marks_user(const struct event_marks *m, unsigned input, const struct event *e)
{
	const struct merge_input *s = &m->in->streams[input];
	int32_t tid = thread_on(m, s->machine, s->stream->cpu);
	int64_t vtid = e->kind == EV_MARK ? e->arg[2] : 0;

	return tid > 0 && (!vtid || vtid == tid) ? tid : -1;
}

bool event_mark_read(const struct event_marks *m, unsigned input, const struct event *e,
		     struct event_mark *out)
{
	const struct merge_input *s = &m->in->streams[input];
	const struct vcpu_hint *vcpu;
	unsigned inner;

	if (!ht_mark_take(&out->call, (uint64_t)e->arg[0], (uint64_t)e->arg[1], (uint64_t)e->arg[2],
			  (uint64_t)e->arg[3], (uint64_t)e->arg[4]))
		return false;
	out->machine = s->machine;
	out->cpu = s->stream->cpu;
	out->tid = m->running[input];
	vcpu = find_vcpu(&m->in->topology, (int)s->machine, out->tid, &out->machine);
	if (!vcpu) {
		out->machine = s->machine;
		return true;
	}
	/* A call that L0 took from a guest of its guest is of the innermost vCPU. */
	do {
		out->cpu = vcpu->vcpu;
		out->tid = thread_on(m, out->machine, vcpu->vcpu);
		inner = out->machine;
		vcpu = e->kind == EV_KVM_NESTED_HYPERCALL
			       ? find_vcpu(&m->in->topology, (int)out->machine, out->tid, &inner)
			       : NULL;
		out->machine = vcpu ? inner : out->machine;
	} while (vcpu);
	return true;
}

bool event_marks_possible(const struct inputs *in)
{
	for (unsigned i = 0; i < in->nr_traces; i++) {
		for (unsigned k = 0; k < in->traces[i]->nr_types; k++) {
			uint16_t kind = in->traces[i]->types[k].kind;

			if (kind == EV_KVM_HYPERCALL || kind == EV_KVM_NESTED_HYPERCALL)
				return true;
		}
	}
	return false;
}
