/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	less_specific WHOLE CUT ROOT-OF-WHOLE ROOT-OF-CUT [LIE]
 *
 * Prints what history CUT says that history WHOLE does not, see less_specific.h, and then
 * "compared MOMENTS KNOWN-NS KEPT-NS MORE ROWS ROWS-KEPT GAPS".  Exit status 0: nothing is wrong;
 * 1: something is; 3: a file cannot be read.
 */
#include "less_specific.h"

#include <stdio.h>
#include <string.h>

static enum lie lie_named(const char *name)
{
	static const char *const names[] = {
		[LIE_GREATER] = "greater",	 [LIE_MODES] = "modes", [LIE_WAITS] = "waits",
		[LIE_EXITS] = "exits",		 [LIE_GAINS] = "gains", [LIE_BOUNDS] = "bounds",
		[LIE_NEIGHBOURS] = "neighbours",
	};

	for (unsigned i = LIE_GREATER; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return LIE_NONE;
}

static void plant(struct pair *p)
{
	for (int64_t i = 0; p->lie == LIE_MODES && i < p->cut.nr_contexts; i++) {
		struct sonde_context *c = &p->cut.contexts[i];

		if (c->mode == SONDE_MODE_HYPERVISOR)
			*c = (struct sonde_context){.machine = c->machine,
						    .cpu = c->cpu,
						    .thread = c->thread,
						    .mode = SONDE_MODE_USER,
						    .detail_text = "",
						    .serves = -1,
						    .vmm = -1};
	}
}

int main(int argc, char **argv)
{
	struct pair p;
	int ret;

	if (argc != 5 && argc != 6) {
		fputs("usage: less_specific WHOLE CUT ROOT-OF-WHOLE ROOT-OF-CUT [LIE]\n", stderr);
		return 3;
	}
	if (pair_open(&p, argv + 1, argv + 3))
		return 3;
	if (argc == 6 && !(p.lie = lie_named(argv[5])))
		return 3;
	plant(&p);
	if (p.root >= 0) {
		compare_states(&p);
		compare_rows(&p);
	}
	/* Without the host's trace its guest counts as the machine: its CPUs are other CPUs. */
	if (p.root == 0) {
		compare_words(&p);
		compare_tables(&p);
	}
	if (p.root > 0)
		compare_bounds(&p);
	printf("compared\t%lld\t%lld\t%lld\t%lld\t%lld\t%lld\t%lld\n", (long long)p.moments,
	       (long long)p.known_ns, (long long)p.kept_ns, (long long)p.more, (long long)p.rows,
	       (long long)p.rows_kept,
	       (long long)(sonde_nr_losses(p.cut.history) - sonde_nr_losses(p.whole.history)));
	ret = p.wrong ? 1 : 0;
	pair_close(&p);
	return ret;
}
