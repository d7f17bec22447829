/* SPDX-License-Identifier: Apache-2.0 */
#include "libsonde/inputs/inputs.h"
#include "base/figure.h"
#include "source/span.h"

#include <errno.h>

int inputs_span(const struct inputs *in, ns_t *begin, ns_t *end)
{
	bool any = false;

	for (unsigned i = 0; i < in->nr_streams; i++) {
		const struct merge_input *s = &in->streams[i];
		ticks_t first, last;
		ns_t from, to;
		int ret = stream_first_tick(s->stream, &first);

		if (ret > 0)
			ret = stream_last_tick(s->stream, &last);
		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		from = clock_to_l0(s->clock, first);
		to = ns_plus(clock_to_l0(s->clock, last), 1);
		*begin = any && *begin < from ? *begin : from;
		*end = any && *end > to ? *end : to;
		any = true;
	}
	return any ? 0 : -ENODATA;
}
