/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/comms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int comms_put(struct comms *c, int tid, const char *name)
{
	const uint32_t *known = map_get(&c->by_tid, (uint64_t)tid);
	struct comm *at;

	if (!known) {
		if (!room_for_one(&c->list, c->nr, &c->room))
			return -ENOMEM;
		if (map_put(&c->by_tid, (uint64_t)tid, c->nr))
			return -ENOMEM;
		c->list[c->nr].tid = tid;
	}
	at = &c->list[known ? *known : c->nr++];
	snprintf(at->name, sizeof(at->name), "%.15s", name);
	return 0;
}

void comms_read_saved(struct comms *c, int tracing_dir)
{
	struct buffer text = {0};
	char *from, *end;

	if (buffer_file(&text, tracing_dir, "saved_cmdlines") > 0)
		buffer_bytes(&text, "", 1);
	for (from = text.error ? NULL : text.data; from && *from; from = end + 1) {
		char *name;
		long tid = strtol(from, &name, 10);

		end = strchr(from, '\n');
		if (!end)
			break;
		*end = '\0';
		/* "<...>" is the kernel's word for a name it has forgotten. */
		if (name > from && *name == ' ' && name[1] != '<' &&
		    comms_put(c, (int)tid, name + 1))
			break;
	}
	buffer_release(&text);
}

void comms_print(const struct comms *c, struct buffer *out)
{
	for (unsigned i = 0; i < c->nr; i++)
		buffer_print(out, "%d %s\n", c->list[i].tid, c->list[i].name);
}

void comms_release(struct comms *c)
{
	map_release(&c->by_tid);
	free(c->list);
	*c = (struct comms){0};
}
