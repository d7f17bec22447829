/* SPDX-License-Identifier: Apache-2.0 */
#include "model/identity/tid.h"

#include <stdio.h>
#include <string.h>

#include "model/identity/machine.h"
#include "model/state/peers.h"

static void make_attrs(struct thread *th)
{
	struct machine_state *mc = th->machine;
	struct history_writer *w = mc->model->w;
	char name[16];

	if (mc->threads_dir == ATTR_NONE)
		mc->threads_dir = history_writer_attr(w, mc->dir, "threads", ATTR_DIR, 0);
	snprintf(name, sizeof(name), "%u", th->row);
	th->dir = history_writer_attr(w, mc->threads_dir, name, ATTR_DIR, 0);
	th->state_attr = history_writer_attr(w, th->dir, "state", ATTR_ENUM, 0);
}

struct thread *thread_new(struct machine_state *mc, int32_t tid)
{
	struct model *m = mc->model;
	struct thread *th = arena_alloc(&m->arena, sizeof(*th));

	if (!th || model_grow(m, (void **)&m->threads, m->nr_threads, &m->threads_room,
			      sizeof(*m->threads))) {
		model_no_memory(m);
		return NULL;
	}
	th->machine = mc;
	th->row = m->nr_threads;
	th->tid = tid;
	for (unsigned i = 0; i < NR_PEERS; i++)
		th->peers[i].number = -1;
	th->pid = tid >= 0 && tid <= 2 ? tid : -1; /* idle, init and kthreadd */
	th->ppid = -1;
	th->maker = -1;
	th->first_cpu = th->queued_on = -1;
	th->losses = thread_known_since(mc);
	th->begin = m->now;
	th->end = NS_MAX;
	th->process_since = NS_MIN;
	th->woken_at = th->ran_at = NS_MIN;
	th->state = THREAD_NONE;
	th->kind = tid == 0 || tid == 2 ? KIND_KERNEL : KIND_UNKNOWN; /* 2 is kthreadd */
	th->dir = th->state_attr = th->cpu_attr = th->comm_attr = th->waker_attr = ATTR_NONE;
	if (tid > 0 && map_put(&m->by_tid, pair_key(mc, (uint32_t)tid), th->row)) {
		model_no_memory(m);
		return NULL;
	}
	m->threads[m->nr_threads++] = th;
	th->next_of_machine = mc->threads;
	mc->threads = th;
	if (th->pid > 0)
		peers_set_process(th, th->pid);
	if (tid > 0) {
		make_attrs(th);
		th->state = THREAD_UNKNOWN;
		model_set(m, th->state_attr, THREAD_UNKNOWN);
	}
	return th;
}

struct thread *thread_find(struct machine_state *mc, int32_t tid)
{
	uint32_t *row = tid > 0 ? map_get(&mc->model->by_tid, pair_key(mc, (uint32_t)tid)) : NULL;

	return row ? mc->model->threads[*row] : NULL;
}

struct thread *thread_get(struct machine_state *mc, int32_t tid, struct cpu *cpu)
{
	struct thread *th;

	if (unlikely(tid <= 0)) {
		if (tid < 0 || !cpu)
			return NULL;
		if (!cpu->idle)
			cpu->idle = thread_new(mc, 0);
		return cpu->idle;
	}
	th = thread_find(mc, tid);
	return likely(th) ? th : thread_new(mc, tid);
}

void thread_set_comm(struct thread *th, const char *comm)
{
	struct model *m = th->machine->model;
	size_t len_bytes;
	uint32_t id;

	if (!comm || likely(!strncmp(comm, th->comm, COMM_LEN)))
		return;
	len_bytes = strnlen(comm, COMM_LEN);
	memset(th->comm, 0, COMM_LEN);
	memcpy(th->comm, comm, len_bytes);
	id = history_writer_string(m->w, comm, len_bytes);
	th->comm_id = id;
	if (!th->first_comm_id) {
		th->first_comm_id = id;
		return;
	}
	if (!th->tid)
		return;
	if (th->comm_attr == ATTR_NONE)
		th->comm_attr = history_writer_attr(m->w, th->dir, "comm", ATTR_STRING, 0);
	model_set(m, th->comm_attr, id);
}
