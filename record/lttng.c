/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracer.h"

#include <errno.h>

int lttng_open(struct tracer **out, const struct record_options *options, struct sink *sink,
	       struct error *err)
{
	(void)options;
	(void)sink;
	*out = NULL;
	return fail(err, -ENOTSUP, "LTTng is not supported");
}
