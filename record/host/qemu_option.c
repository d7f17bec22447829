/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/qemu_option.h"

#include <stdio.h>
#include <string.h>

/* The value at @at, which ends at a comma (",," stands for one). */
static bool copy_plain(const char *at, char *value, size_t room)
{
	size_t len = 0;

	for (; *at && (*at != ',' || at[1] == ','); at++) {
		at += *at == ',';
		if (len + 1 >= room)
			return false;
		value[len++] = *at;
	}
	value[len] = '\0';
	return true;
}

/* A JSON string, number or word.  Escapes other than \" \\ \/ do not occur in what we look for. */
static bool copy_json(const char *at, char *value, size_t room)
{
	bool quoted = *at == '"';
	size_t len = 0;

	for (at += quoted; *at && (quoted ? *at != '"' : !strchr(",}] ", *at)); at++) {
		if (quoted && *at == '\\' && at[1])
			at++;
		if (len + 1 >= room)
			return false;
		value[len++] = *at;
	}
	value[len] = '\0';
	return true;
}

static bool json_value(const char *option, const char *key, char *value, size_t room)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\"", key);
	at = strstr(option, quoted);
	if (!at)
		return false;
	at += strlen(quoted);
	at += strspn(at, " ");
	if (*at++ != ':')
		return false;
	return copy_json(at + strspn(at, " "), value, room);
}

/* What follows the next comma that is not part of a value. */
static const char *next_item(const char *list)
{
	while ((list = strchr(list, ','))) {
		if (list[1] != ',')
			return list + 1;
		list += 2;
	}
	return NULL;
}

static bool list_value(const char *list, const char *key, char *value, size_t room)
{
	size_t len = strlen(key);

	for (; list; list = next_item(list)) {
		if (!len && !memchr(list, '=', strcspn(list, ",")))
			return copy_plain(list, value, room);
		if (len && !strncmp(list, key, len) && list[len] == '=')
			return copy_plain(list + len + 1, value, room);
	}
	return false;
}

bool qemu_option(const char *option, const char *key, char *value, size_t room)
{
	return *option == '{' ? json_value(option, key, value, room)
			      : list_value(option, key, value, room);
}
