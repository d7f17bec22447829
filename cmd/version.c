/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/command.h"

#include <stdio.h>

/* Of builds from no repository and no release the commit is not known. */
void print_version(void)
{
	if (*SONDE_COMMIT)
		printf("sonde %s (commit %s)\n", sonde_version(), SONDE_COMMIT);
	else
		printf("sonde %s\n", sonde_version());
}
