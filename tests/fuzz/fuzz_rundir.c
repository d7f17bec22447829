/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the manifest of a run directory, which may come from elsewhere. */
#include "libsonde/inputs/rundir.h"
#include "tests/fuzz/scratch.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* What a machine's folder may be: one name below the run directory. */
static void check_machine(const struct rundir_machine *m)
{
	size_t len = strlen(scratch_dir());

	if (strncmp(m->folder, scratch_dir(), len) || m->folder[len] != '/' ||
	    strchr(m->folder + len + 1, '/') || !strcmp(m->folder + len, "/..") ||
	    !strcmp(m->folder + len, "/."))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct problems problems = {0};
	struct error err = {0};
	struct rundir r = {0};
	int ret;

	scratch_write("run.json", data, len_bytes);
	ret = rundir_read(&r, scratch_dir(), &problems, &err);
	for (unsigned i = 0; ret == 1 && i < r.nr; i++)
		check_machine(&r.machines[i]);
	rundir_release(&r);
	problems_release(&problems);
	return 0;
}
