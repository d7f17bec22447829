/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/common/limits.h"

void allow_many_files(struct rlimit *usual)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, usual))
		return;
	most = *usual;
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
}
