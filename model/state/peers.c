/* SPDX-License-Identifier: Apache-2.0 */
#include "model/state/peers.h"

static void set_first(struct thread *th, enum peers which, const struct thread *first)
{
	struct model *m = th->machine->model;
	uint64_t key = pair_key(th->machine, (uint32_t)th->peers[which].number);

	if (!first)
		map_del(&m->peers[which], key);
	else
		model_put(m, &m->peers[which], key, first->row);
}

static void leave(struct thread *th, enum peers which)
{
	struct peer *own = &th->peers[which];

	if (own->next)
		own->next->peers[which].before = own->before;
	if (own->before)
		own->before->peers[which].next = own->next;
	else
		set_first(th, which, own->next);
}

void peers_put(struct thread *th, enum peers which, int32_t number)
{
	struct peer *own = &th->peers[which];
	struct thread *first;

	if (own->number == number)
		return;
	if (own->number >= 0)
		leave(th, which);
	first = number >= 0 ? peers_first(th->machine, which, number) : NULL;
	*own = (struct peer){.next = first, .number = number};
	if (first)
		first->peers[which].before = th;
	if (number >= 0)
		set_first(th, which, th);
}

struct thread *peers_first(const struct machine_state *mc, enum peers which, int32_t number)
{
	const struct model *m = mc->model;
	const uint32_t *row = map_get(&m->peers[which], pair_key(mc, (uint32_t)number));

	return row ? m->threads[*row] : NULL;
}

void peers_set_process(struct thread *th, int32_t pid)
{
	th->pid = pid;
	peers_put(th, PEERS_PROCESS, pid);
}
