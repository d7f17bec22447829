/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/sample/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_range(struct ranges *r, uint64_t begin, uint64_t end)
{
	struct range *n = sample_add(r);

	if (!n)
		return -ENOMEM;
	*n = (struct range){begin, end};
	return 0;
}

int ranges_of_thread(struct ranges *out, const struct sample *host, int32_t tid, bool nested)
{
	enum nested other = nested ? NESTED_NO : NESTED_YES;
	size_t nr;
	const struct stay *s = sample_stays(host, tid, &nr);
	int ret = 0;

	*out = (struct ranges){.from = host->begin, .to = host->end};
	for (size_t i = 0; i < nr && ret == 0; i++) {
		if (s[i].nested != other)
			ret = add_range(out, s[i].begin, s[i].end);
	}
	return ret;
}

int ranges_intersect(struct ranges *r, const struct ranges *with)
{
	struct ranges out = {.from = r->from > with->from ? r->from : with->from,
			     .to = r->to < with->to ? r->to : with->to};
	size_t i = 0, k = 0;
	int ret = 0;

	while (i < r->nr && k < with->nr && ret == 0) {
		const struct range *a = &r->list[i], *b = &with->list[k];
		uint64_t begin = a->begin > b->begin ? a->begin : b->begin;
		uint64_t end = a->end < b->end ? a->end : b->end;

		if (begin <= end)
			ret = add_range(&out, begin, end);
		if (a->end < b->end)
			i++;
		else
			k++;
	}
	free(r->list);
	*r = out;
	return ret;
}

static int ranges_up(const void *a, const void *b)
{
	const struct range *p = a, *q = b;

	return (p->begin > q->begin) - (p->begin < q->begin);
}

int ranges_join(struct ranges *r, const struct ranges *with)
{
	size_t out = 0;

	for (size_t i = 0; i < with->nr; i++) {
		int ret = add_range(r, with->list[i].begin, with->list[i].end);

		if (ret)
			return ret;
	}
	if (r->nr)
		qsort(r->list, r->nr, sizeof(*r->list), ranges_up);
	for (size_t i = 0; i < r->nr; i++) {
		struct range *last = out ? &r->list[out - 1] : NULL;

		if (!last || r->list[i].begin > last->end)
			r->list[out++] = r->list[i];
		else if (r->list[i].end > last->end)
			last->end = r->list[i].end;
	}
	r->nr = out;
	r->from = with->from > r->from ? with->from : r->from;
	r->to = with->to < r->to ? with->to : r->to;
	return 0;
}

void ranges_release(struct ranges *r)
{
	free(r->list);
	memset(r, 0, sizeof(*r));
}
