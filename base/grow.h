/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Arrays that grow one by one, in any struct that has a pointer to them, their number and how many there is room for:
 *
 *	if (!room_for_one(&p->steps, p->nr, &p->room))
 *		return -ENOMEM;
 *	p->steps[p->nr++] = step;
 *
 * Room doubles.  Where memory is out, false, and the array is as it was.  The owner frees it.
 */
#define room_for_one(list, nr, room)                                                               \
	((nr) < *(room) || _Generic(*(room), uint32_t                                              \
				    : grow_array_u32, size_t                                       \
				    : grow_array)((list), (room), sizeof(**(list))))

/* Makes more room for elements of so many bytes. @list is the address of the pointer to them. */
bool grow_array(void *list, size_t *room, size_t each_bytes);
bool grow_array_u32(void *list, uint32_t *room, size_t each_bytes);

#endif
