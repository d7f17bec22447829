/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_TRACE_MARK_H
#define LIBSONDE_INPUTS_TRACE_MARK_H

#include "clock/topology.h"

/*
 * What tells a trace from what stands at its path later: a number made of its packets' places and
 * times, and of what describes its events (a folder's metadata, the beginning of a file).  A history
 * keeps it, so that events are not read from another trace under the same name.
 * It is cheap, and says nothing of what is in the packets: events that were changed where they stand
 * are not noticed.  No secret: it holds against mistakes.
 */
#define TRACE_MARK_TEXT 20

void trace_mark(const struct trace *t, char text[static TRACE_MARK_TEXT]);

/* Under which key a history's table "meta" has the mark of the machine's trace. */
#define TRACE_MARK_KEY 72

void trace_mark_key(const struct machine *m, char key[static TRACE_MARK_KEY]);

#endif
