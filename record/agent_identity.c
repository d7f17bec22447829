/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agent_identity.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void read_line(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, out, room - 1);

	if (fd >= 0)
		close(fd);
	out[got > 0 ? got : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

void agent_identity(struct wire_identity *id, const char *version)
{
	struct utsname uts;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	memset(id, 0, sizeof(*id));
	if (!uname(&uts)) {
		snprintf(id->hostname, sizeof(id->hostname), "%s", uts.nodename);
		snprintf(id->release, sizeof(id->release), "%s", uts.release);
	}
	read_line("/sys/class/dmi/id/product_uuid", id->product_uuid, sizeof(id->product_uuid));
	for (char *c = id->product_uuid; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	read_line("/proc/sys/kernel/random/boot_id", id->boot_id, sizeof(id->boot_id));
	snprintf(id->sonde, sizeof(id->sonde), "%s", version);
	id->cpus = cpus > 0 ? (uint64_t)cpus : 1;
}
