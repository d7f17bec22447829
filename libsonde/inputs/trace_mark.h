/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_TRACE_MARK_H
#define LIBSONDE_INPUTS_TRACE_MARK_H

#include "source/trace.h"

/*
 * What tells a trace from what stands at its path later: a number made of its packets' places and
 * times.  A history keeps it, so that events are not read from another trace under the same name.
 * No secret: it holds against mistakes, and against who exchanges a file for one of his own that has
 * other packets.
 */
#define TRACE_MARK_TEXT 20

void trace_mark(const struct trace *t, char text[static TRACE_MARK_TEXT]);

#endif
