/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/handed.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/run.h"
#include "base/grow.h"

static bool is_for_disk(enum io_kind kind)
{
	return kind == IO_READ || kind == IO_WRITE || kind == IO_FLUSH;
}

/* False: it was not handed on, or that is not known well enough. */
static bool handed_of(const struct io_request *r, struct handed *out)
{
	if (r->kind == IO_SEND && r->worker >= 0 && r->at[IO_KICKED] >= 0 && r->at[IO_PICKED] >= 0)
		*out = (struct handed){r->at[IO_PICKED], r->worker, r->thread, r->at[IO_KICKED],
				       HANDED_SENT};
	else if ((r->kind == IO_RECEIVE || is_for_disk(r->kind)) && r->irq_cpu >= 0 &&
		 r->sender >= 0 && r->at[IO_SENT] >= 0 && r->at[IO_HANDLED] >= 0)
		*out = (struct handed){r->at[IO_HANDLED], r->irq_cpu, r->sender, r->at[IO_SENT],
				       r->kind == IO_RECEIVE ? HANDED_RECEIVED : HANDED_DONE};
	else
		return false;
	return true;
}

static int order(const struct handed *a, enum handed_kind kind, int64_t holder, ns_t at)
{
	if (a->kind != kind)
		return a->kind < kind ? -1 : 1;
	if (a->holder != holder)
		return a->holder < holder ? -1 : 1;
	return a->at < at ? -1 : a->at > at;
}

static int by_holder(const void *a, const void *b)
{
	const struct handed *y = b;

	return order(a, y->kind, y->holder, y->at);
}

static int read_all(struct handed_list *h, const struct sonde_run *run)
{
	struct io_request r;
	struct handed one;

	for (int64_t row = 0; row < run_nr_requests(run); row++) {
		if (!run_request(run, row, &r) || !handed_of(&r, &one))
			continue;
		if (!room_for_one(&h->list, h->nr, &h->room))
			return -ENOMEM;
		h->list[h->nr++] = one;
	}
	if (h->nr)
		qsort(h->list, h->nr, sizeof(*h->list), by_holder);
	return 0;
}

int handed_get(const struct handed_list **out, struct sonde_run *run)
{
	struct handed_list *h = run->handed ? NULL : calloc(1, sizeof(*h));

	if (h && !read_all(h, run))
		run->handed = h;
	else
		handed_free(h);
	*out = run->handed;
	return *out ? 0 : -ENOMEM;
}

void handed_free(struct handed_list *h)
{
	if (h)
		free(h->list);
	free(h);
}

const struct handed *handed_last(const struct handed_list *h, enum handed_kind kind, int64_t holder,
				 ns_t from, ns_t to)
{
	size_t low = 0, high = h->nr;
	const struct handed *found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order(&h->list[middle], kind, holder, to) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	found = low ? &h->list[low - 1] : NULL;
	return found && found->kind == kind && found->holder == holder && found->at >= from ? found
											    : NULL;
}
