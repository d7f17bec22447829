/* SPDX-License-Identifier: Apache-2.0 */
#include "query/kept.h"

void *kept_find(const struct sonde_history *history, const struct kept_kind *kind)
{
	for (struct kept *k = history->kept; k; k = k->next) {
		if (k->kind == kind)
			return k;
	}
	return NULL;
}

void kept_drop(struct sonde_history *history, const struct kept_kind *kind)
{
	for (struct kept **at = &history->kept; *at; at = &(*at)->next) {
		struct kept *k = *at;

		if (k->kind != kind)
			continue;
		*at = k->next;
		kind->release(k);
		return;
	}
}

void kept_set(struct sonde_history *history, const struct kept_kind *kind, struct kept *what)
{
	kept_drop(history, kind);
	what->kind = kind;
	what->next = history->kept;
	history->kept = what;
}

void kept_release_all(struct sonde_history *history)
{
	while (history->kept)
		kept_drop(history, history->kept->kind);
}
