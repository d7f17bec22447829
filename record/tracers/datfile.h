/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_TRACERS_DATFILE_H
#define RECORD_TRACERS_DATFILE_H

#include "record/base/buffer.h"
#include "record/host/clocks.h"
#include "record/tracers/events.h"

/*
 * The three parts of a trace.dat, version 6 (man 5 trace-cmd.dat.v6), that surround the events.
 *
 *	head	17 08 44 "tracing" "6\0", u8 big endian?, u8 size of long, u32 page size,
 *		"header_page\0" u64 size, text, "header_event\0" u64 size, text,
 *		u32 number of ftrace's own formats {u64 size, text},
 *		u32 systems {name\0, u32 events {u64 size, text}},
 *		u32 size of symbols, text, u32 size of printk formats, text
 *	tail	u64 size of command names, text ("TID NAME\n"), u32 CPUs,
 *		"options  \0" {u16 id, u32 size, data}... u16 0
 *	rest	"flyrecord\0", per CPU {u64 offset, u64 size}; then each CPU's pages, page-aligned
 *
 * head and tail are written while the machine is recorded; datfile_join() makes the rest.
 */

/*
 * The head, for a trace of these events.  @tracing_dir: of a tracefs.  Kernel symbols make it large
 * (some MB) and slow to make, so they are in it only when an event of the list prints one.
 */
int datfile_head(struct buffer *out, int tracing_dir, const struct event_list *events,
		 struct error *err);

struct dat_tail {
	const struct buffer *comms;  /* "TID NAME\n" lines */
	int instance_dir;	     /* of an ftrace instance: its clock, and what each CPU lost */
	unsigned nr_cpus;	     /* that the machine can have */
	const struct tsc_rate *rate; /* NULL unless the clock is x86-tsc and the rate is known */
	uint64_t trace_id;
	const char *writer; /* "sonde 1.0" */
};

int datfile_tail(struct buffer *out, const struct dat_tail *tail, struct error *err);

/*
 * Joins the parts in @folder (record/directory/folder.h) into trace.dat there, and removes them. It
 * can be stopped at any moment and called again.  Room for a second copy of the events is used when
 * there is some; when the disk is full, what has been copied is freed on the way.
 *
 * -ENOENT: there is no whole head or tail, so nothing was recorded.  -ENOSPC: part of it is in
 * trace.dat.part and the rest where it was; calling again goes on from there.  -ENOTDIR: @folder is
 * a symbolic link.  -EEXIST: a trace.dat is there that is not empty and does not hold what the parts
 * do: nothing is removed.
 */
int datfile_join(const char *folder, struct error *err);

/* True when @folder holds parts that can be joined. */
bool datfile_has_parts(const char *folder);

#endif
