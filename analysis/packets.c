/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/packets.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/run.h"
#include "base/grow.h"

/* False: it is no packet, or not known well enough. */
static bool packet_of(const struct io_request *r, struct packet *out)
{
	if (r->kind == IO_SEND && r->worker >= 0 && r->at[IO_KICKED] >= 0 && r->at[IO_PICKED] >= 0)
		*out = (struct packet){r->at[IO_PICKED], r->worker, r->thread, r->at[IO_KICKED],
				       false};
	else if (r->kind == IO_RECEIVE && r->irq_cpu >= 0 && r->sender >= 0)
		*out = (struct packet){r->at[IO_HANDLED], r->irq_cpu, r->sender, r->at[IO_SENT],
				       true};
	else
		return false;
	return true;
}

static int order(const struct packet *a, bool received, int64_t holder, ns_t at)
{
	if (a->received != received)
		return a->received < received ? -1 : 1;
	if (a->holder != holder)
		return a->holder < holder ? -1 : 1;
	return a->at < at ? -1 : a->at > at;
}

static int by_holder(const void *a, const void *b)
{
	const struct packet *y = b;

	return order(a, y->received, y->holder, y->at);
}

static int read_all(struct packets *p, const struct sonde_run *run)
{
	struct io_request r;
	struct packet one;

	for (int64_t row = 0; row < run_nr_requests(run); row++) {
		if (!run_request(run, row, &r) || !packet_of(&r, &one))
			continue;
		if (!room_for_one(&p->list, p->nr, &p->room))
			return -ENOMEM;
		p->list[p->nr++] = one;
	}
	if (p->nr)
		qsort(p->list, p->nr, sizeof(*p->list), by_holder);
	return 0;
}

int packets_get(const struct packets **out, struct sonde_run *run)
{
	struct packets *p = run->packets ? NULL : calloc(1, sizeof(*p));

	if (p && !read_all(p, run))
		run->packets = p;
	else
		packets_free(p);
	*out = run->packets;
	return *out ? 0 : -ENOMEM;
}

void packets_free(struct packets *p)
{
	if (p)
		free(p->list);
	free(p);
}

const struct packet *packets_last(const struct packets *p, bool received, int64_t holder, ns_t from,
				  ns_t to)
{
	size_t low = 0, high = p->nr;
	const struct packet *found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order(&p->list[middle], received, holder, to) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	found = low ? &p->list[low - 1] : NULL;
	return found && found->received == received && found->holder == holder && found->at >= from
		       ? found
		       : NULL;
}
