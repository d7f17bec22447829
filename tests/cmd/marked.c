/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a small history with marks, and prints its path: for critpath.sh. */
#include "base/types.h"
#include "tests/unit/small_history.h"

int main(void)
{
	char path[64];

	if (small_history_write_with(path, 1700000000000000000, small_marks))
		return 1;
	puts(path);
	return 0;
}
