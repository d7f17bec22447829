/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/damage.h"
#include "base/units.h"
#include "history/history.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

struct found {
	struct history_damage first;
	int nr;
};

static void note_damage(const struct history_damage *d, void *data)
{
	struct found *f = data;

	if (d->needed && !f->nr++)
		f->first = *d;
}

/* Whether there was something to tell. */
static bool tell_of(const struct invocation *inv, const char *path)
{
	char begin[UNIT_TEXT], end[UNIT_TEXT], more[UNIT_TEXT + 20] = "";
	struct found f = {.nr = 0};
	struct history *h;
	struct stat st;
	bool is_ns;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || !history_probe(path) ||
	    history_open(&h, path, NULL))
		return false; /* why it does not open has been said */
	is_ns = history_ticks_are_ns(h);
	history_verify(h, note_damage, &f);
	history_close(h);
	if (!f.nr)
		return false;
	if (f.nr > 1)
		snprintf(more, sizeof(more), ", and %d more of its parts", f.nr - 1);
	if (f.first.what)
		complain(inv, EXIT_FAILED,
			 "%s is damaged at offset %" PRIu64 ": %s from %s to %s%s cannot be read",
			 path, f.first.offset_bytes, f.first.what,
			 unit_time(begin, f.first.begin, is_ns), unit_time(end, f.first.end, is_ns),
			 more);
	else
		complain(inv, EXIT_FAILED, "%s is damaged from offset %" PRIu64 " on", path,
			 f.first.offset_bytes);
	return true;
}

/* One file may have several names. */
static bool is_one_of(char *const *paths, int nr, const char *path)
{
	struct stat st, other;

	for (int i = 0; i < nr && !stat(path, &st); i++) {
		if (!stat(paths[i], &other) && st.st_dev == other.st_dev &&
		    st.st_ino == other.st_ino)
			return true;
	}
	return false;
}

/* The only history here, which commands read that are given none. */
static bool tell_of_the_only(const struct invocation *inv)
{
	glob_t here = {0};
	bool told = false;

	if (!glob("*.sonde", 0, NULL, &here) && here.gl_pathc == 1)
		told = tell_of(inv, here.gl_pathv[0]);
	globfree(&here);
	return told;
}

void damage_tell(const struct invocation *inv)
{
	bool told = inv->common.input && tell_of(inv, inv->common.input);

	for (int i = 0; i < inv->nr_operands; i++) {
		if (!is_one_of(inv->operands, i, inv->operands[i]))
			told |= tell_of(inv, inv->operands[i]);
	}
	if (!inv->common.input && !inv->nr_operands && inv->command->common & COMMON_INPUT)
		told = tell_of_the_only(inv);
	if (told)
		complain(inv, EXIT_FAILED,
			 "times away from damage may still be asked for; for the rest analyse the "
			 "traces again (sonde check lists where it is damaged)");
}
