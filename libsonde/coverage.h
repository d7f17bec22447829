/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBSONDE_COVERAGE_H
#define LIBSONDE_COVERAGE_H

#include "source/trace.h"

/* Says, a sentence at a time, of which of its machine's CPUs a trace knows nothing, or not all the
 * time; of many CPUs in one sentence.  0 or -ENOMEM. */
int coverage_tell(struct trace *t, void (*tell)(const char *text, void *data), void *data);

#endif
