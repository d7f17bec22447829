/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/life/levels.h"
#include "query/milestone.h"
#include "base/figure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void add(struct levels *l, const struct milestone *ms)
{
	bool is_level = !strcmp(ms->kind, "level");

	l->is_cut |= !strcmp(ms->kind, "lost");
	if (!is_level && strcmp(ms->kind, "init"))
		return;
	l->list[l->nr] = (struct level){
		ms->at, is_level && strcmp(ms->text, "first program") ? ms->text : "", l->nr};
	l->nr++;
}

static int by_time(const void *a, const void *b)
{
	const struct level *x = a, *y = b;

	if (x->at == y->at)
		return x->came < y->came ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

int levels_init(struct levels *l, const struct sonde_history *history, int64_t machine,
		const struct by_machine *milestones)
{
	struct milestone ms;
	uint32_t nr;
	const uint32_t *rows = by_machine_rows(milestones, machine, &nr);

	*l = (struct levels){.list = calloc((size_t)nr + 1, sizeof(*l->list))};
	if (!l->list || losses_init(&l->losses, history, (int)machine))
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && !query_milestone(history, rows[i], &ms); i++)
		add(l, &ms);
	qsort(l->list, l->nr, sizeof(*l->list), by_time);
	return 0;
}

void levels_release(struct levels *l)
{
	free(l->list);
	losses_release(&l->losses);
	*l = (struct levels){0};
}

const struct level *levels_at(const struct levels *l, ns_t t)
{
	size_t low = 0, high = l->nr; /* below @low: those that have begun */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->list[middle].at <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &l->list[low - 1] : NULL;
}

bool levels_may_be_later(const struct levels *l, const struct level *level, ns_t t)
{
	bool has_next = level + 1 < l->list + l->nr;

	/* A gap ends with the next event, which may be that of the level. */
	return losses_touch(&l->losses, ns_plus(level->at, 1), ns_plus(t, -1)) &&
	       !(has_next && level_is_next(level->name, level[1].name));
}

bool level_is_first(const char *level)
{
	return !strcmp(level, "console") || !strcmp(level, "start_kernel");
}

bool level_is_next(const char *level, const char *next)
{
	static const char *const levels[] = {"console", "early",  "pure", "core",   "postcore",
					     "arch",	"subsys", "fs",	  "device", "late"};
	size_t i = 0;

	while (i < ARRAY_SIZE(levels) && strcmp(levels[i], level))
		i++;
	return i + 1 < ARRAY_SIZE(levels) ? !strcmp(levels[i + 1], next)
					  : i < ARRAY_SIZE(levels) && !*next;
}
