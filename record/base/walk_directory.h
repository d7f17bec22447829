/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_BASE_WALK_DIRECTORY_H
#define RECORD_BASE_WALK_DIRECTORY_H

#include <stdbool.h>

/*
 * Goes through everything below @dir, to a depth of WALK_DEPTH_MAX; symbolic links are not
 * followed.  entry() is called for each entry after those below it: @dir is open, @name is in it.
 * What cannot be opened is passed over.
 */
#define WALK_DEPTH_MAX 16

typedef void walk_entry(int dir, const char *name, bool is_directory, void *data);

void walk_below(int dir, walk_entry *entry, void *data);

#endif
