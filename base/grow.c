/* SPDX-License-Identifier: Apache-2.0 */
#include "base/grow.h"

#include <stdlib.h>

#define FIRST 64

bool grow_array(void *list, size_t *room, size_t each_bytes)
{
	size_t more = *room ? *room * 2 : FIRST;
	void *grown = more > *room ? reallocarray(*(void **)list, more, each_bytes) : NULL;

	if (!grown)
		return false;
	*(void **)list = grown;
	*room = more;
	return true;
}

bool grow_array_u32(void *list, uint32_t *room, size_t each_bytes)
{
	size_t more = *room;

	if (*room > UINT32_MAX / 2 || !grow_array(list, &more, each_bytes))
		return false;
	*room = (uint32_t)more;
	return true;
}
