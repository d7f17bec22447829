/* SPDX-License-Identifier: Apache-2.0 */
#include "events/dialect.h"

#include <string.h>

static bool name_matches(const char *pattern, const char *event)
{
	size_t len;

	/* Nearly always: there are many rows and many events. */
	if (pattern[0] != event[0] && pattern[0] != '*')
		return false;
	len = strlen(pattern);
	if (pattern[len - 1] == '*')
		return !strncmp(pattern, event, len - 1);
	return !strcmp(pattern, event);
}

const struct event_read *dialect_find(unsigned tracer, const char *event, uint16_t *kind)
{
	for (unsigned i = 0; i < EV_NR_KINDS; i++) {
		for (const struct event_read *read = event_rows[i].reads; read->tracers; read++) {
			if (!(read->tracers & tracer) || !name_matches(read->event, event))
				continue;
			*kind = (uint16_t)i;
			return read;
		}
	}
	return NULL;
}

const char *dialect_pick_field(const struct event_slot *slot,
			       bool (*has)(const char *field, void *data), void *data,
			       char scratch[static 64])
{
	const char *from = slot->field;

	while (from && *from) {
		size_t len = strcspn(from, "|");

		if (len < 64) {
			memcpy(scratch, from, len);
			scratch[len] = '\0';
			if (has(scratch, data))
				return scratch;
		}
		from += len + (from[len] == '|');
	}
	return NULL;
}

const char *dialect_syscall_name(const char *event)
{
	static const char *const prefixes[] = {"compat_syscall_entry_", "compat_syscall_exit_",
					       "syscall_entry_",	"syscall_exit_",
					       "compat_sys_",		"sys_"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (!strncmp(event, prefixes[i], len))
			return event + len;
	}
	return NULL;
}
