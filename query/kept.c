/* SPDX-License-Identifier: Apache-2.0 */
#include "query/kept.h"

void *kept_find(const struct sonde_run *run, const struct kept_kind *kind)
{
	for (struct kept *k = run->kept; k; k = k->next) {
		if (k->kind == kind)
			return k;
	}
	return NULL;
}

void kept_drop(struct sonde_run *run, const struct kept_kind *kind)
{
	for (struct kept **at = &run->kept; *at; at = &(*at)->next) {
		struct kept *k = *at;

		if (k->kind != kind)
			continue;
		*at = k->next;
		kind->release(k);
		return;
	}
}

void kept_set(struct sonde_run *run, const struct kept_kind *kind, struct kept *what)
{
	kept_drop(run, kind);
	what->kind = kind;
	what->next = run->kept;
	run->kept = what;
}

void kept_release_all(struct sonde_run *run)
{
	while (run->kept)
		kept_drop(run, run->kept->kind);
}
