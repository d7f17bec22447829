/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzz target: state lines.  The input's first byte is the room for text, the rest is one event's
 * text, which is parsed and asked for every key there is in every way.
 */
#include "source/state_line.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MAX 64

static const char *const keys[] = {
	"version",	"cause",
	"hostname",	"boot_id",
	"product_uuid", "release",
	"cpus",		"online",
	"hypervisor",	"clocksource",
	"tsc_khz",	"tsc",
	"mono",		"boot",
	"real",		"width",
	"inum",		"parent",
	"level",	"id",
	"path",		"tid",
	"pid",		"ppid",
	"state",	"kthread",
	"pidns",	"nstids",
	"cgroup",	"comm",
	"vm",		"name",
	"uuid",		"manager",
	"vcpu",		"tsc_offset",
	"tsc_ratio",	"tsc_ratio_bits",
	"hz",		"steal",
	"tasks",	"",
};

static volatile uint64_t sink;

static void ask(const struct state_line *l, const char *key, size_t room)
{
	char *text = malloc(room);
	int64_t list[3];
	uint8_t uuid[16];
	unsigned nr;

	if (!text)
		abort();
	if (!state_text(l, key, text, room) && text[0])
		abort();
	if (strlen(text) >= room)
		abort();
	free(text);
	nr = state_list(l, key, list, ARRAY_SIZE(list));
	if (nr > ARRAY_SIZE(list) || (nr == 1 && state_int(l, key, ~list[0]) != list[0]))
		abort();
	sink += state_uint(l, key, 0) + state_uuid(l, key, uuid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct state_block block = {0};
	struct state_line l;

	if (!len_bytes || !state_line_parse(&l, (const char *)data + 1, len_bytes - 1))
		return 0;
	if (l.nr > STATE_PAIRS_MAX)
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		ask(&l, keys[i], 1 + data[0] % ROOM_MAX);
	state_block_takes(&block, &l, 1);
	if (block.open != (l.kind == STATE_BEGIN && state_uint(&l, "version", 1) == 1))
		abort();
	return 0;
}
