/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/io/handovers.h"

#include <errno.h>
#include <stdlib.h>

#include "query/query.h"
#include "base/grow.h"

static bool is_for_disk(enum io_kind kind)
{
	return kind == IO_READ || kind == IO_WRITE || kind == IO_FLUSH;
}

static struct handed one_of(enum handover_kind kind, ns_t at, int64_t holder, int64_t from,
			    ns_t since)
{
	return (struct handed){
		.at = at, .holder = holder, .from = from, .since = since, .by = -1, .kind = kind};
}

/* How many times it was handed on, as far as that is known well enough. */
static unsigned handovers_of(const struct io_request *r, struct handed out[2])
{
	unsigned nr = 0;

	if (r->kind == IO_SEND && r->worker >= 0) {
		ns_t told = r->at[IO_KICKED], picked = r->at[IO_PICKED];

		if (told >= 0 && picked >= 0)
			out[nr++] = one_of(HANDED_SENT, picked, r->worker, r->thread, told);
		told = told >= 0 ? told : r->at[IO_ISSUED];
		if (told >= 0)
			out[nr++] = one_of(HANDED_ON, r->at[IO_DONE], r->worker, r->thread, told);
	} else if ((r->kind == IO_RECEIVE || is_for_disk(r->kind)) && r->irq_cpu >= 0 &&
		   r->sender >= 0 && r->at[IO_HANDLED] >= 0) {
		ns_t sent = r->at[IO_SENT];

		out[nr] = one_of(r->kind == IO_RECEIVE ? HANDED_RECEIVED : HANDED_DONE,
				 r->at[IO_HANDLED], r->irq_cpu, r->sender, sent);
		if (r->kind == IO_RECEIVE && r->at[IO_PICKED] >= 0) {
			out[nr].by = r->worker;
			out[nr].by_at = r->at[IO_PICKED];
			/* An interrupt was on its way already: only its CPU was missing. */
			out[nr].since = sent >= 0 ? sent : out[nr].by_at;
		}
		nr += out[nr].since >= 0;
	}
	return nr;
}

static int order(const struct handed *a, enum handover_kind kind, int64_t holder, ns_t at)
{
	if (a->kind != kind)
		return a->kind < kind ? -1 : 1;
	if (a->holder != holder)
		return a->holder < holder ? -1 : 1;
	return a->at < at ? -1 : a->at > at;
}

/* Of those that one handler told of the one that came last is the last. */
static int by_holder(const void *a, const void *b)
{
	const struct handed *x = a, *y = b;
	int ret = order(x, y->kind, y->holder, y->at);

	return ret ? ret : x->since < y->since ? -1 : x->since > y->since;
}

static int read_all(struct handovers_list *h, const struct sonde_history *history)
{
	struct io_request r;
	struct handed some[2];

	for (int64_t row = 0; row < query_nr_requests(history); row++) {
		unsigned nr = query_request(history, row, &r) ? handovers_of(&r, some) : 0;

		for (unsigned i = 0; i < nr; i++) {
			if (!room_for_one(&h->list, h->nr, &h->room))
				return -ENOMEM;
			h->list[h->nr++] = some[i];
		}
	}
	if (h->nr)
		qsort(h->list, h->nr, sizeof(*h->list), by_holder);
	return 0;
}

static void release(struct kept *kept)
{
	struct handovers_list *h = (struct handovers_list *)kept;

	free(h->list);
	free(h);
}

static const struct kept_kind kind = {release};

int handovers_get(const struct handovers_list **out, struct sonde_history *history)
{
	struct handovers_list *h = kept_find(history, &kind);

	*out = h;
	if (h)
		return 0;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	if (read_all(h, history)) {
		release(&h->kept);
		return -ENOMEM;
	}
	kept_set(history, &kind, &h->kept);
	*out = h;
	return 0;
}

const struct handed *handovers_last(const struct handovers_list *h, enum handover_kind kind,
				    int64_t holder, ns_t from, ns_t to)
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
