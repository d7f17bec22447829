/* SPDX-License-Identifier: Apache-2.0 */
#include "sonde/types.h"

const char *sonde_version(void)
{
	return SONDE_VERSION;
}
