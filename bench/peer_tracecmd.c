/* SPDX-License-Identifier: Apache-2.0 */

/*
 * peer_tracecmd FILE...: how fast libtracecmd walks over all events of a trace.dat, in time order,
 * looking at what any user of an event needs: its time, CPU and event id.  Prints, for all files
 * together, "EVENTS SECONDS"; opening is not timed.
 */
#include "base/now.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <trace-cmd.h>

struct sum {
	struct tep_handle *tep;
	unsigned long long events;
	unsigned long long mix; /* so that nothing is optimised away */
};

static int on_event(struct tracecmd_input *in, struct tep_record *r, int cpu, void *data)
{
	struct sum *sum = data;

	(void)in;
	sum->events++;
	sum->mix += r->ts ^ (unsigned long long)tep_data_type(sum->tep, r) ^ (unsigned)cpu;
	return 0;
}

int main(int argc, char **argv)
{
	struct sum sum = {0};
	double seconds = 0;

	for (int i = 1; i < argc; i++) {
		struct tracecmd_input *in = tracecmd_open(argv[i], TRACECMD_FL_LOAD_NO_PLUGINS);
		double begin;

		if (!in) {
			fprintf(stderr, "peer_tracecmd: cannot open %s\n", argv[i]);
			return 1;
		}
		sum.tep = tracecmd_get_tep(in);
		begin = now_s();
		tracecmd_iterate_events(in, NULL, 0, on_event, &sum);
		seconds += now_s() - begin;
		tracecmd_close(in);
	}
	printf("%llu %.6f\n", sum.events, seconds);
	fprintf(stderr, "checksum %llx\n", sum.mix);
	return argc > 1 ? 0 : 1;
}
