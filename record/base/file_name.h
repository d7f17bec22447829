/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_BASE_FILE_NAME_H
#define RECORD_BASE_FILE_NAME_H

#include <stdbool.h>

/*
 * The relative name of a trace's file, as it may come from afar: parts of letters, digits and "._-"
 * between single slashes, none of which begins with a dot.
 */
#define FILE_NAME_MAX 192
#define FILE_NAME_LEVELS 8

bool file_name_is_fit(const char *name);

#endif
