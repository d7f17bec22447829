/* SPDX-License-Identifier: Apache-2.0 */
#include "query/losses.h"
#include "base/figure.h"

#include <errno.h>
#include <stdlib.h>

static void find_ends(struct losses *losses, const struct sonde_history *history)
{
	ns_t end = NS_MIN;

	for (size_t i = 0; i < losses->nr; i++) {
		struct sonde_loss l;

		sonde_loss_get(history, losses->list[i].at, &l);
		end = l.end > end ? l.end : end;
		losses->ends[i] = end;
	}
}

int losses_init(struct losses *losses, const struct sonde_history *history, int machine)
{
	size_t nr = (size_t)sonde_nr_losses(history);
	struct sonde_loss l;

	*losses = (struct losses){.list = malloc((2 * nr + 1) * sizeof(*losses->list)),
				  .ends = malloc((nr + 1) * sizeof(*losses->ends))};
	if (!losses->list || !losses->ends) {
		losses_release(losses);
		return -ENOMEM;
	}
	for (size_t row = 0; row < nr; row++) {
		if (!sonde_loss_get(history, (int64_t)row, &l) && l.machine == machine)
			losses->list[losses->nr++] =
				(struct sort_item){.key = sort_key(l.begin), .at = (uint32_t)row};
	}
	key_sort(losses->list, losses->nr);
	find_ends(losses, history);
	return 0;
}

void losses_release(struct losses *losses)
{
	free(losses->list);
	free(losses->ends);
	*losses = (struct losses){0};
}

ns_t loss_latest_end(const struct sonde_history *history, const struct sonde_loss *l)
{
	ns_t end = sonde_history_end(history);
	struct sonde_machine m;

	if (l->end > l->begin || sonde_machine_get(history, l->machine, &m) || m.end < 0)
		return l->end;
	/* Behind the last event there is the ns that it takes itself. */
	return ns_plus(l->begin, 1) >= m.end && end > ns_plus(l->begin, 1) ? end : l->end;
}

bool loss_is_in(const struct sonde_history *history, const struct sonde_loss *l, ns_t begin,
		ns_t end)
{
	return l->begin < end && (loss_latest_end(history, l) > begin || l->begin == begin);
}

bool losses_touch(const struct losses *losses, ns_t from, ns_t to)
{
	size_t low = 0, high = losses->nr; /* below @low: those that begin up to @to */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (losses->list[middle].key <= sort_key(to))
			low = middle + 1;
		else
			high = middle;
	}
	return low && losses->ends[low - 1] >= from;
}
