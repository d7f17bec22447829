/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agent/agent_identity.h"
#include "record/base/buffer.h"
#include "record/base/cpus.h"
#include "record/host/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

void agent_identity(struct wire_identity *id, const char *version)
{
	struct utsname uts;
	/* As drain.c counts: what it sends must be below this. */
	unsigned cpus = cpu_list("possible", NULL, 0);

	memset(id, 0, sizeof(*id));
	if (!uname(&uts)) {
		snprintf(id->hostname, sizeof(id->hostname), "%s", uts.nodename);
		snprintf(id->release, sizeof(id->release), "%s", uts.release);
	}
	product_uuid(id->product_uuid, sizeof(id->product_uuid));
	read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id->boot_id, sizeof(id->boot_id));
	snprintf(id->sonde, sizeof(id->sonde), "%s", version);
	id->cpus = cpus ? cpus : 1;
}
