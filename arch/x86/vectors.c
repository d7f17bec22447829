/* SPDX-License-Identifier: Apache-2.0 */
#include "arch/tables.h"

/* Linux gives its own interrupts the vectors at the top. */
const char *x86_64_vector_name(int64_t vector)
{
	switch (vector) {
	case 0xec:
		return "local_timer";
	case 0xf6:
		return "irq_work";
	case 0xfb:
		return "call_function_single";
	case 0xfc:
		return "call_function";
	case 0xfd:
		return "reschedule";
	default:
		return NULL;
	}
}
