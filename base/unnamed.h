/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UNNAMED_H
#define BASE_UNNAMED_H

#include "base/error.h"

/*
 * A file without a name, for what may be larger than memory: in TMPDIR, else in /var/tmp.  It is
 * gone when its descriptor is closed and nothing maps it.  @what: what it is for, as an error says
 * it. Returns the descriptor or -errno.
 */
int unnamed_file(const char *what, struct error *err);

#endif
