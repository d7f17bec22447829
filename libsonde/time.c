/* SPDX-License-Identifier: Apache-2.0 */
/* sonde/time.h over libsonde/time_text.h. */
#include "query/query.h"
#include "libsonde/events.h"
#include "libsonde/inputs/inputs_run.h"
#include "sonde/time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct time_base run_time_base(const struct sonde_history *history,
				      const struct clock_model *clock)
{
	struct time_base base = {
		.begin = sonde_history_begin(history),
		.end = sonde_history_end(history),
		.ticks_are_ns = sonde_history_ticks_are_ns(history),
		.l0 = clock->nr_pieces ? clock : NULL,
	};

	sonde_history_traced(history, &base.traced_begin, &base.traced_end);
	base.wall_known = sonde_history_wall_offset(history, &base.wall_offset_ns);
	return base;
}

int sonde_history_time(struct sonde_history *history, const char *text, int64_t *out,
		       struct sonde_error *err)
{
	struct error inner = {0};
	struct clock_model clock;
	struct time_base base;
	int ret = clock_of_run(&clock, history, 0);

	if (ret)
		return query_error(err, fail(&inner, ret, "out of memory"), &inner);
	base = run_time_base(history, &clock);
	ret = time_parse(&base, text, out, &inner);
	clock_model_release(&clock);
	return query_error(err, ret, &inner);
}

int sonde_history_window(struct sonde_history *history, const char *text, int64_t *begin,
			 int64_t *end, struct sonde_error *err)
{
	struct error inner = {0};
	struct clock_model clock;
	struct time_base base;
	int ret = clock_of_run(&clock, history, 0);

	if (ret)
		return query_error(err, fail(&inner, ret, "out of memory"), &inner);
	base = run_time_base(history, &clock);
	ret = time_parse_window(&base, text, begin, end, &inner);
	clock_model_release(&clock);
	return query_error(err, ret, &inner);
}

int sonde_events_window(const struct sonde_events *e, const char *text, int64_t *begin,
			int64_t *end, struct sonde_error *err)
{
	struct time_base base = events_time_base(e);
	struct error inner = {0};

	return query_error(err, time_parse_window(&base, text, begin, end, &inner), &inner);
}
