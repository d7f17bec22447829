/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMON_TRACE_OPTIONS_H
#define CMD_COMMON_TRACE_OPTIONS_H

#include "base/types.h"
#include "cmd/common/command.h"

/* What a user can say about traces: the same options in every command that reads them. */
struct trace_options {
	struct text_list guests;
	struct text_list parents;
	struct text_list tsc_offsets;
	uint64_t tsc_khz;
	uint64_t threads;
};

/* Rows for an option table whose struct @type has a struct trace_options called @field. */
#define TRACE_OPTIONS(type, field)                                                                 \
	{0,                                                                                        \
	 "guest",                                                                                  \
	 OPTION_PAIRS,                                                                             \
	 offsetof(type, field.guests),                                                             \
	 "NAME=PATH",                                                                              \
	 NULL,                                                                                     \
	 "the trace at or under PATH is the machine NAME",                                         \
	 0},                                                                                       \
		{0,                                                                                \
		 "parent",                                                                         \
		 OPTION_PAIRS,                                                                     \
		 offsetof(type, field.parents),                                                    \
		 "CHILD=PARENT",                                                                   \
		 NULL,                                                                             \
		 "machine CHILD runs in PARENT; \"-\" for the physical machine",                   \
		 0},                                                                               \
		{0,                                                                                \
		 "tsc-offset",                                                                     \
		 OPTION_OFFSETS,                                                                   \
		 offsetof(type, field.tsc_offsets),                                                \
		 "NAME=N",                                                                         \
		 NULL,                                                                             \
		 "TSC of NAME is that of its parent plus N cycles",                                \
		 0},                                                                               \
		{0,                                                                                \
		 "tsc-khz",                                                                        \
		 OPTION_NUMBER,                                                                    \
		 offsetof(type, field.tsc_khz),                                                    \
		 "N",                                                                              \
		 NULL,                                                                             \
		 "rate of the physical machine's TSC",                                             \
		 0},                                                                               \
	{                                                                                          \
		'j', "threads", OPTION_THREADS, offsetof(type, field.threads), "N", NULL,          \
			"use N threads (default: one per CPU)", 0                                  \
	}

static inline struct sonde_inputs trace_inputs(const struct invocation *inv,
					       const struct trace_options *opt)
{
	return (struct sonde_inputs){
		.paths = (const char *const *)inv->operands,
		.nr_paths = (unsigned)inv->nr_operands,
		.guests = opt->guests.items,
		.nr_guests = opt->guests.nr,
		.parents = opt->parents.items,
		.nr_parents = opt->parents.nr,
		.tsc_offsets = opt->tsc_offsets.items,
		.nr_tsc_offsets = opt->tsc_offsets.nr,
		.tsc_khz = opt->tsc_khz,
		.threads = (unsigned)opt->threads,
		.command_line = inv->command_line,
	};
}

#endif
