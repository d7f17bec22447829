/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_RECORD_LIVE_H
#define CMD_RECORD_LIVE_H

#include "base/error.h"
#include "sonde/history.h"

/*
 * This machine as it is now, in windows: each is recorded as `sonde record` does it, into memory
 * (/dev/shm), analysed as `sonde analyze` does it, and is a run like any other until the next.  So
 * nothing is shown that a recording would not show, and what the kernel did between two windows is
 * not seen: live_cost says how much of the time was.
 *
 *	ret = live_open(&live, &err);
 *	while (!live_window(live, length_ns, &wait, &window, &err)) { ... window.run ... }
 *	live_close(live);
 */
struct live;

struct live_cost {
	int64_t watched_ns;   /* the window */
	int64_t elapsed_ns;   /* since the window before ended, or since the begin */
	int64_t cpu_ns;	      /* of this program in that time, all of its threads */
	uint64_t events_lost; /* by the kernel, as the window was recorded */
	uint64_t bytes;
	char clock[32];
	char notice[256]; /* what is good to know: "" nothing */
};

struct live_window {
	struct sonde_history *history; /* the caller's until the next window, or live_close() */
	int64_t begin, end;	       /* the part of it that is not our own begin and end */
	struct live_cost cost;
};

/* What goes on while a window is recorded: returns after about @ms, false to end. */
struct live_wait {
	bool (*wait)(int ms, void *data);
	void *data;
};

/* -EACCES when this is not root; -ENODEV when the kernel cannot trace. */
int live_open(struct live **out, struct error *err);
int live_window(struct live *live, int64_t length_ns, const struct live_wait *wait,
		struct live_window *out, struct error *err);
void live_close(struct live *live);

#endif
