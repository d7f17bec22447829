/* SPDX-License-Identifier: Apache-2.0 */
#include "query/track.h"

/* The interval that holds @t, which the list does; @at is where to begin to look: mostly it is
 * near, and steps get longer the further it is. */
static unsigned find(const struct interval_list *l, unsigned at, ns_t t)
{
	unsigned high = l->nr;

	for (unsigned step = 1; l->begins[at] > t; step *= 2)
		at = at > step ? at - step : 0;
	for (unsigned step = 1; at + step < l->nr; step *= 2) {
		if (l->begins[at + step] > t) {
			high = at + step;
			break;
		}
		at += step;
	}
	while (at + 1 < high) {
		unsigned middle = at + (high - at) / 2;

		if (l->begins[middle] <= t)
			at = middle;
		else
			high = middle;
	}
	return at;
}

static int list_from(struct track *k, struct interval_cache *cache, ns_t t)
{
	int ret =
		interval_cache_list(cache, k->attr, t, sonde_history_end(cache->history), &k->list);

	k->at = 0;
	if (ret)
		k->list.nr = 0;
	return ret;
}

int track_hold(struct track *k, struct interval_cache *cache, ns_t begin, ns_t end)
{
	ns_t run_begin = sonde_history_begin(cache->history);
	int ret = interval_cache_hold(cache, k->attr, begin, end);

	begin = begin < run_begin ? run_begin : begin;
	return ret || begin >= sonde_history_end(cache->history) ? ret : list_from(k, cache, begin);
}

int track_at(struct track *k, struct interval_cache *cache, ns_t t, struct sonde_interval *out)
{
	const struct interval_list *l = &k->list;

	if (l->nr && t >= l->begins[0] && t < l->begins[l->nr]) {
		k->at = find(l, k->at, t);
	} else {
		int ret = list_from(k, cache, t);

		if (ret)
			return ret;
	}
	*out = (struct sonde_interval){l->begins[k->at], l->begins[k->at + 1], l->values[k->at]};
	return 0;
}
