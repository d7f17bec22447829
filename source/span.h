/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_SPAN_H
#define SOURCE_SPAN_H

#include "source/trace.h"

/* The times of the first and the last event of a stream; for the latter its last packet that has
 * any is decoded.  1, 0 when there is no event, or -ENOMEM. */
int stream_first_tick(struct stream *s, ticks_t *out);
int stream_last_tick(struct stream *s, ticks_t *out);

/* Where the first of all packets begins; UINT64_MAX when there is none. */
uint64_t trace_first_begin(const struct trace *t);
/* Where the last of all packets ends, as far as that is known; 0 when there is none. */
uint64_t trace_last_end(const struct trace *t);

#endif
