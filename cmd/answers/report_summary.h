/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_ANSWERS_REPORT_SUMMARY_H
#define CMD_ANSWERS_REPORT_SUMMARY_H

#include "cmd/common/command.h"

/*
 * The sentences with which sonde report begins when nothing was chosen: what the window is, how
 * much of it is not known and why, and, of each vCPU that was kept off the CPU for 1% of it or
 * more, for how long and by whom most.
 */

/* The rows that they are made of, of the same window; the caller's. */
struct summary_rows {
	struct sonde_rows *vcpus; /* "vcpu_time" */
	struct sonde_rows *pairs; /* "preemption" */
	bool whole;		  /* nothing was chosen: what is missing is told, too */
};

void report_summary_print(const struct invocation *inv, struct sonde_history *history,
			  const struct summary_rows *rows, int64_t begin, int64_t end);

#endif
