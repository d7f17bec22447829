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
	int64_t until; /* all is, from the history's begin to there */
};

static void note_damage(const struct history_damage *d, void *data)
{
	struct found *f = data;

	if (!d->needed)
		return;
	if (!f->nr++)
		f->first = *d;
	if (!d->what)
		f->until = INT64_MAX;
	else if (d->begin <= f->until && d->end > f->until)
		f->until = d->end;
}

/* What was found, and whether other times may be asked for. */
static bool tell_found(const struct invocation *inv, const char *path, const struct history *h,
		       const struct found *f)
{
	char begin[UNIT_TEXT], end[UNIT_TEXT], more[UNIT_TEXT + 20] = "";
	bool is_ns = history_ticks_are_ns(h);
	bool all = f->until >= history_end(h);

	if (f->nr > 1)
		snprintf(more, sizeof(more), ", and %d more of its parts", f->nr - 1);
	if (f->first.what)
		complain(inv, EXIT_FAILED,
			 "%s is damaged at offset %" PRIu64 ": %s from %s to %s%s cannot be read%s",
			 path, f->first.offset_bytes, f->first.what,
			 unit_time(begin, f->first.begin, is_ns),
			 unit_time(end, f->first.end, is_ns), more,
			 all ? ", which is all of its time" : "");
	else
		complain(inv, EXIT_FAILED, "%s is damaged from offset %" PRIu64 " on", path,
			 f->first.offset_bytes);
	return !all;
}

/* What a damaged history needs. */
enum advice { NO_ADVICE, ANALYSE_AGAIN, ASK_ELSEWHERE };

static enum advice tell_of(const struct invocation *inv, const char *path)
{
	enum advice advice = NO_ADVICE;
	struct found f = {.nr = 0};
	struct history *h;
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || !history_probe(path) ||
	    history_open(&h, path, NULL))
		return NO_ADVICE; /* why it does not open has been said */
	f.until = history_begin(h);
	history_verify(h, note_damage, &f);
	if (f.nr)
		advice = tell_found(inv, path, h, &f) ? ASK_ELSEWHERE : ANALYSE_AGAIN;
	history_close(h);
	return advice;
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
static enum advice tell_of_the_only(const struct invocation *inv)
{
	enum advice advice = NO_ADVICE;
	glob_t here = {0};

	if (!glob("*.sonde", 0, NULL, &here) && here.gl_pathc == 1)
		advice = tell_of(inv, here.gl_pathv[0]);
	globfree(&here);
	return advice;
}

void damage_tell(const struct invocation *inv)
{
	enum advice advice = inv->common.input ? tell_of(inv, inv->common.input) : NO_ADVICE;

	for (int i = 0; i < inv->nr_operands; i++) {
		enum advice of_this = is_one_of(inv->operands, i, inv->operands[i])
					      ? NO_ADVICE
					      : tell_of(inv, inv->operands[i]);

		advice = of_this > advice ? of_this : advice;
	}
	if (!inv->common.input && !inv->nr_operands && inv->command->common & COMMON_INPUT)
		advice = tell_of_the_only(inv);
	if (advice == ASK_ELSEWHERE)
		complain(inv, EXIT_FAILED,
			 "times away from damage may still be asked for; for the rest analyse the "
			 "traces again (sonde check lists where it is damaged)");
	else if (advice)
		complain(inv, EXIT_FAILED, "analyse the traces again");
}
