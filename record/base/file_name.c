/* SPDX-License-Identifier: Apache-2.0 */
#include "record/base/file_name.h"

#include <string.h>

bool file_name_is_fit(const char *name)
{
	unsigned levels = 1;
	char before = '/';

	if (strlen(name) > FILE_NAME_MAX)
		return false;
	for (; *name; before = *name++) {
		bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
			     (*name >= '0' && *name <= '9') || *name == '_' || *name == '-';

		if (!plain && (before == '/' || (*name != '.' && *name != '/')))
			return false;
		levels += *name == '/';
	}
	return before != '/' && levels <= FILE_NAME_LEVELS;
}
