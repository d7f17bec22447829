/* SPDX-License-Identifier: Apache-2.0 */
#include "report/missing.h"

#include "analysis/rows.h"
#include "query/losses.h"
#include "base/figure.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int not_known_find(struct not_known *out, struct sonde_history *history, int64_t begin, int64_t end)
{
	struct sonde_rows *f;
	int ret = sonde_rows_get(&f, history, "machine_time", begin, end, NULL);

	*out = (struct not_known){0};
	if (ret)
		return ret;
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		unsigned unknown = (unsigned)sonde_rows_column(f, "unknown");
		unsigned total = (unsigned)sonde_rows_column(f, "total");

		out->time_ns += sonde_rows_cell(f, row, unknown).i;
		out->all_ns += sonde_rows_cell(f, row, total).i;
	}
	sonde_rows_free(f);
	return 0;
}

int64_t missing_gaps(const struct sonde_history *history, int64_t begin, int64_t end)
{
	struct sonde_loss l;
	int64_t nr = 0;

	for (int64_t row = 0; !sonde_loss_get(history, row, &l); row++)
		nr += loss_is_in(history, &l, begin, end);
	return nr;
}

char *missing_left_out(const struct sonde_history *history, char *buf, size_t room)
{
	int64_t nr = sonde_nr_left_outs(history);

	*buf = '\0';
	if (nr)
		snprintf(buf, room, "%" PRId64 " trace%s left out", nr, nr == 1 ? "" : "s");
	return buf;
}

char *missing_line(struct sonde_history *history, int64_t begin, int64_t end, char *buf,
		   size_t room)
{
	int64_t gaps = missing_gaps(history, begin, end);
	char share[UNIT_TEXT], nr[UNIT_TEXT], left_out[LEFT_OUT_TEXT];
	bool cut = !sonde_history_complete(history);
	struct not_known of;
	size_t used;

	missing_left_out(history, left_out, sizeof(left_out));
	used = (size_t)snprintf(buf, room, "%s%s%s", cut ? "not complete" : "",
				cut && *left_out ? ", " : "", left_out);
	if (gaps && used < room)
		used += (size_t)snprintf(buf + used, room - used, "%s%s gap%s", used ? ", " : "",
					 unit_count(nr, gaps), gaps == 1 ? "" : "s");
	if (!not_known_find(&of, history, begin, end) && of.time_ns && used < room)
		snprintf(buf + used, room - used, "%s%s of the CPU time unknown", used ? ", " : "",
			 unit_share(share, share_ppm(of.time_ns, of.all_ns)));
	return buf;
}
