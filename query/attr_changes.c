/* SPDX-License-Identifier: Apache-2.0 */
/* From one change of an attribute to the next, and the attributes of threads. */
#include "query/query.h"
#include "base/text.h"

#include <errno.h>

uint32_t sonde_attr_of_thread(const struct sonde_history *history, int64_t thread, const char *name)
{
	struct sonde_thread t;
	char number[24];
	struct text text = text_in(number, sizeof(number));
	attr_t dir;

	if (sonde_thread_get(history, thread, &t) || t.machine >= sonde_nr_machines(history))
		return SONDE_NO_ATTR;
	text_i64(&text, thread);
	text_end(&text, sizeof(number));
	dir = history_child(history->file, history->thread_dirs[t.machine], number);
	return history_child(history->file, dir, name);
}

uint32_t sonde_nr_attrs(const struct sonde_history *history)
{
	return history_nr_attrs(history->file);
}

int sonde_attr_next_change(struct sonde_history *history, uint32_t attr, int64_t t, int64_t *out)
{
	return attr == SONDE_NO_ATTR ? -ENOENT : history_next_change(history->file, attr, t, out);
}

int sonde_attr_prev_change(struct sonde_history *history, uint32_t attr, int64_t t, int64_t *out)
{
	return attr == SONDE_NO_ATTR ? -ENOENT : history_prev_change(history->file, attr, t, out);
}
