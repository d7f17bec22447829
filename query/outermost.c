/* SPDX-License-Identifier: Apache-2.0 */
#include "query/outermost.h"

#include <string.h>

enum outermost outermost_of(const struct sonde_history *history)
{
	const char *hypervisor = sonde_identity_of(history, 0, "hypervisor");

	if (!*hypervisor)
		return OUTERMOST_UNKNOWN;
	return strcmp(hypervisor, "none") ? OUTERMOST_VM : OUTERMOST_PHYSICAL;
}
