/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_INPUTS_NOT_TRACE_H
#define LIBSONDE_INPUTS_NOT_TRACE_H

#include "base/error.h"

/*
 * What a path is that is neither a directory nor a trace, and what can be done: a pipe, a history,
 * a packed file.  Fails with -EINVAL, always.
 */
int not_trace(const char *path, struct error *err);

#endif
