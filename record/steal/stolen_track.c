/* SPDX-License-Identifier: Apache-2.0 */
#include "record/steal/stolen_track.h"
#include "base/map.h"
#include "channel/holdups.h"

#include <stdlib.h>

#define THREADS_MAX 16384u /* then all is forgotten, and learned again */
#define CPUS_MAX 8192u
#define NONE UINT32_MAX
/* A process that has shown no vCPU for so long is no VM any more: its number may be another's. */
#define VM_FOR_S 60

struct thread {
	int tid;
	uint32_t tgid, vcpu;
	uint32_t cpu;	    /* waits there */
	uint32_t ran_cpu;   /* ran there last; NONE not known */
	int64_t since_ns;   /* the stretch began; 0 it does not wait */
	enum st_class kind; /* of it */
	uint32_t next;	    /* thread that waits on the same CPU; NONE the last */
	int64_t tsc_offset;
	uint64_t tsc_ratio;
};

struct stolen_track {
	void (*take)(void *data, const struct hold *hold);
	void *data;
	struct map by_tid;
	struct map vms;		/* process: second at which a vCPU of it was seen last */
	struct thread *threads; /* owned */
	uint32_t nr, room;
	uint32_t *first; /* owned; by CPU: a thread that waits there */
};

struct stolen_track *stolen_track_new(void (*take)(void *data, const struct hold *hold), void *data)
{
	struct stolen_track *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->take = take;
	t->data = data;
	t->first = malloc(CPUS_MAX * sizeof(*t->first));
	if (!t->first) {
		free(t);
		return NULL;
	}
	for (unsigned i = 0; i < CPUS_MAX; i++)
		t->first[i] = NONE;
	return t;
}

void stolen_track_free(struct stolen_track *t)
{
	if (!t)
		return;
	map_release(&t->by_tid);
	map_release(&t->vms);
	free(t->threads);
	free(t->first);
	free(t);
}

/* ---- threads ------------------------------------------------------------------------------- */

static void forget(struct stolen_track *t)
{
	map_clear(&t->by_tid);
	map_clear(&t->vms);
	t->nr = 0;
	for (unsigned i = 0; i < CPUS_MAX; i++)
		t->first[i] = NONE;
}

static bool grow(struct stolen_track *t)
{
	uint32_t room = t->room ? t->room * 2 : 64;
	struct thread *grown;

	if (t->nr < t->room)
		return true;
	grown = reallocarray(t->threads, room, sizeof(*grown));
	if (!grown)
		return false;
	t->threads = grown;
	t->room = room;
	return true;
}

static struct thread *thread_of(struct stolen_track *t, const struct holdup *h)
{
	uint32_t *found = map_get(&t->by_tid, h->tid);
	struct thread *th;

	if (!found && t->nr == THREADS_MAX)
		forget(t);
	if (!found) {
		if (!grow(t) || map_put(&t->by_tid, h->tid, t->nr))
			return NULL;
		t->threads[t->nr] =
			(struct thread){.tid = (int)h->tid, .ran_cpu = NONE, .next = NONE};
		th = &t->threads[t->nr++];
	} else {
		th = &t->threads[*found];
	}
	th->tgid = h->tgid;
	th->vcpu = h->vcpu;
	return th;
}

static void seen_vm(struct stolen_track *t, const struct holdup *h)
{
	if (t->vms.nr >= THREADS_MAX)
		map_clear(&t->vms);
	map_put(&t->vms, h->tgid, (uint32_t)(h->time_ns / NS_PER_SEC));
}

/* ---- waits --------------------------------------------------------------------------------- */

static enum st_class class_of(const struct stolen_track *t, const struct thread *th,
			      const struct holdup *h)
{
	const uint32_t *seen;

	if (!h->runner)
		return ST_NOBODY;
	if (h->runner == th->tgid)
		return ST_OWN;
	seen = map_get(&t->vms, h->runner);
	return seen && h->time_ns / NS_PER_SEC < (uint64_t)*seen + VM_FOR_S ? ST_VM : ST_HOST;
}

static struct hold hold_of(const struct thread *th, const struct holdup *h)
{
	return (struct hold){
		.tid = th->tid,
		.tgid = th->tgid,
		.vcpu = th->vcpu,
		.is_vmx = h->flags & HU_VMX,
		.reason = ST_REASON_UNKNOWN,
		.tsc_offset = th->tsc_offset,
		.tsc_ratio = th->tsc_ratio,
	};
}

static void end_stretch(struct stolen_track *t, struct thread *th, const struct holdup *h,
			bool moved)
{
	struct hold hold = hold_of(th, h);

	hold.begin_ns = th->since_ns;
	hold.length_ns = (int64_t)h->time_ns - th->since_ns;
	hold.kind = th->kind;
	hold.moved = moved;
	th->since_ns = (int64_t)h->time_ns;
	if (hold.length_ns > 0)
		t->take(t->data, &hold);
}

static void leave_line(struct stolen_track *t, struct thread *th)
{
	uint32_t *at = &t->first[th->cpu], self = (uint32_t)(th - t->threads);

	while (*at != NONE && *at != self)
		at = &t->threads[*at].next;
	if (*at == self)
		*at = th->next;
	th->next = NONE;
}

static void join_line(struct stolen_track *t, struct thread *th, const struct holdup *h)
{
	th->cpu = h->cpu;
	th->next = t->first[h->cpu];
	t->first[h->cpu] = (uint32_t)(th - t->threads);
	th->kind = class_of(t, th, h);
}

static void begin_wait(struct stolen_track *t, struct thread *th, const struct holdup *h)
{
	if (th->since_ns) /* how that one ended was lost */
		leave_line(t, th);
	th->since_ns = (int64_t)h->time_ns;
	join_line(t, th, h);
}

static void move(struct stolen_track *t, struct thread *th, const struct holdup *h)
{
	enum st_class was = th->kind;

	if (!th->since_ns)
		return;
	leave_line(t, th);
	join_line(t, th, h);
	if (th->kind == was)
		return;
	th->kind = was;
	end_stretch(t, th, h, false);
	th->kind = class_of(t, th, h);
}

static void run(struct stolen_track *t, struct thread *th, const struct holdup *h)
{
	if (th->since_ns) {
		leave_line(t, th);
		end_stretch(t, th, h, th->ran_cpu != NONE && th->ran_cpu != h->cpu);
	}
	th->since_ns = 0;
	th->ran_cpu = h->cpu;
}

/* All who wait there wait for somebody else now. */
static void change_runner(struct stolen_track *t, const struct holdup *h)
{
	for (uint32_t i = t->first[h->cpu]; i != NONE; i = t->threads[i].next) {
		struct thread *th = &t->threads[i];
		enum st_class kind = class_of(t, th, h);

		if (kind == th->kind)
			continue;
		end_stretch(t, th, h, false);
		th->kind = kind;
	}
}

/* ---- exits --------------------------------------------------------------------------------- */

static void put_exit(struct stolen_track *t, struct thread *th, const struct holdup *h)
{
	struct hold hold;

	th->tsc_offset = h->tsc_offset;
	th->tsc_ratio = h->tsc_ratio;
	hold = hold_of(th, h);
	hold.kind = ST_HYPERVISOR;
	hold.sum_nr = h->exit.sum_nr;
	hold.sum_ns = (int64_t)h->exit.sum_ns;
	hold.longest_ns = (int64_t)h->exit.longest_ns;
	hold.begin_ns = (int64_t)h->exit.begin_ns;
	if (hold.sum_nr)
		t->take(t->data, &hold);
	hold.sum_nr = 0;
	hold.sum_ns = hold.longest_ns = 0;
	hold.length_ns = (int64_t)h->exit.held_ns;
	hold.reason = h->exit.reason;
	if (hold.length_ns > 0)
		t->take(t->data, &hold);
}

void stolen_track_put(struct stolen_track *t, const struct holdup *h)
{
	struct thread *th;

	if (h->cpu >= CPUS_MAX)
		return;
	if (h->kind == HU_RUNNER) {
		change_runner(t, h);
		return;
	}
	th = h->tid ? thread_of(t, h) : NULL;
	if (!th)
		return;
	seen_vm(t, h);
	switch (h->kind) {
	case HU_WAIT:
		begin_wait(t, th, h);
		break;
	case HU_MOVE:
		move(t, th, h);
		break;
	case HU_RUN:
		run(t, th, h);
		break;
	case HU_EXIT:
		put_exit(t, th, h);
		break;
	case HU_ANNOUNCE:
		th->tsc_offset = h->tsc_offset;
		th->tsc_ratio = h->tsc_ratio;
		break;
	}
}
