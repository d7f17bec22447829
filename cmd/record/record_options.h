/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_RECORD_RECORD_OPTIONS_H
#define CMD_RECORD_RECORD_OPTIONS_H

#include "cmd/common/command.h"
#include "cmd/record/record_guests.h"

/* The options of sonde record. */
struct record_command {
	const char *purpose;
	struct text_list events;
	const char *duration;
	const char *tracer;
	uint64_t buffer_kb;
	const char *clock;
	const char *hypercalls;
	uint64_t hypercall_rate;
	const char *cr3;
	const char *recover;
	struct guest_options guests;
	bool check;
	bool no_rings;
};

/* record_check.c: --check */
enum exit_code record_check(const struct invocation *inv);

#endif
