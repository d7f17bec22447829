/* SPDX-License-Identifier: Apache-2.0 */
/* Long calls ask their caller whether to go on. */
#include "query/kept.h"
#include "query/query.h"

#include <errno.h>

#define READS_PER_QUESTION 64 /* of up to some thousand intervals each: about a millisecond */

void sonde_history_watch_sized(struct sonde_history *history, const struct sonde_watcher *watcher,
			       size_t watcher_bytes)
{
	struct sonde_watcher none = {0};

	query_give(&history->watch.watcher, sizeof(history->watch.watcher),
		   watcher ? watcher : &none, watcher ? watcher_bytes : sizeof(none));
}

void query_begin(struct sonde_history *history, const char *phase)
{
	history->watch.phase = phase;
	history->watch.reads = 0;
	history->watch.stopped = false;
}

int query_end(struct sonde_history *history, int ret, struct error *err)
{
	bool stopped = history->watch.stopped;

	history->watch.phase = NULL;
	history->watch.stopped = false;
	if (!stopped)
		return ret;
	kept_release_all(history);
	return fail(err, -EINTR, "stopped, as its caller asked");
}

bool query_goes_on(struct sonde_history *history)
{
	struct query_watch *w = &history->watch;

	if (w->phase && w->watcher.progress && !w->stopped && w->reads++ % READS_PER_QUESTION == 0)
		w->stopped = !w->watcher.progress(w->phase, -1, w->watcher.data);
	return !w->stopped;
}

int query_list(struct sonde_history *history, attr_t attr, ns_t begin, ns_t end, ns_t *begins,
	       uint32_t *values, unsigned room, unsigned *nr)
{
	*nr = 0;
	if (!query_goes_on(history))
		return -EINTR;
	return history_list(history->file, attr, begin, end, begins, values, room, nr);
}
