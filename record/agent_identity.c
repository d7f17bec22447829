/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agent_identity.h"
#include "record/buffer.h"
#include "record/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

void agent_identity(struct wire_identity *id, const char *version)
{
	struct utsname uts;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	memset(id, 0, sizeof(*id));
	if (!uname(&uts)) {
		snprintf(id->hostname, sizeof(id->hostname), "%s", uts.nodename);
		snprintf(id->release, sizeof(id->release), "%s", uts.release);
	}
	product_uuid(id->product_uuid, sizeof(id->product_uuid));
	read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id->boot_id, sizeof(id->boot_id));
	snprintf(id->sonde, sizeof(id->sonde), "%s", version);
	id->cpus = cpus > 0 ? (uint64_t)cpus : 1;
}
