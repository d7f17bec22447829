/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_DAT_FILE_H
#define SOURCE_DAT_FILE_H

#include "base/arena.h"
#include "base/mapfile.h"
#include "source/dat/bytes.h"
#include "source/dat/unpack.h"
#include "source/trace.h"

/*
 * The container: trace-cmd's trace.dat, version 6 and 7 (man 5 trace-cmd.dat.v6, .v7).
 *
 *	both   17 08 44 "tracing" "6\0" or "7\0", u8 big endian?, u8 size of long, u32 page size
 *	6      header info, ftrace formats, event formats, kallsyms, printk formats, command lines,
 *	       u32 CPUs, "options  \0" {u16 id, u32 size, data}... u16 0, "flyrecord\0",
 *	       per CPU {u64 offset, u64 size}; the pages of each CPU
 *	7      "packing\0version\0", u64 offset of the first options section; then sections
 *	       {u16 id, u16 flags (1 = packed), u32 string id, u64 size, data}; packed data starts
 *	       with {u32 packed size, u32 unpacked size}.  The options' last, DONE, holds the offset of
 *	       the next options section, 0 = none.  A CPU's packed pages are
 *	       {u32 chunks, {u32 packed size, u32 unpacked size, data}...}
 *
 * Every number in the file is taken for a lie until it is checked: what lies outside of the file,
 * or leads in a circle, becomes a problem of the trace, and what can be reached is used.
 */
struct dat_cpu {
	int cpu;
	uint64_t offset_bytes; /* of its pages (or chunk count) in the file */
	uint64_t len_bytes;    /* in the file */
	bool found;	       /* not where the file says, but where its pages are */
	bool disputed;	       /* not all of that is its own: bytes of it are missing */
	bool has_stats;	       /* trace-cmd stored the kernel's counters ... */
	uint64_t stat_lost;    /* ... which say that so many events were lost ... */
	uint64_t stat_kept;    /* ... and so many were not ... */
	uint64_t stat_unread;  /* ... of which so many were still in the kernel's buffer ... */
	uint64_t stat_oldest;  /* ... and what was read last is not older than this; 0 not said */
};

struct dat_buffer {
	const char *name;  /* "" for the top buffer */
	const char *clock; /* "" when the file does not say */
	uint32_t page_size;
	bool packed;
	uint64_t section_bytes; /* where the file says its data starts */
	struct dat_cpu *cpus;
	unsigned nr_cpus;
};

struct dat_stat {
	struct dat_stat *next;
	const char *buffer;
	int cpu;
	uint64_t lost;
	uint64_t kept, unread;
	uint64_t oldest;
};

/* The parts that hold tables, unpacked, in the file's own layout.  Bad when not there. */
enum dat_table {
	DAT_HEADERS,
	DAT_FTRACE_FORMATS,
	DAT_EVENT_FORMATS,
	DAT_CMDLINES,
	DAT_PRINTK,
	DAT_SYMBOLS,
	DAT_NR_TABLES
};

/* More than a file has, but for one that is made to be slow. */
#define DAT_BROKEN_MAX 16u

struct dat_file {
	struct trace *trace; /* takes the problems, and what the options say */
	struct mapfile map;
	struct arena arena; /* everything here points into it or into the map */
	struct unpacker unpacker;
	unsigned version;
	bool swap;
	unsigned long_size;
	uint32_t page_size;
	enum packing packing;
	bool has_options;	/* one options section at least was read */
	uint32_t option_cpus;	/* CPUCOUNT */
	uint64_t tsc_hz;	/* TSC2NSEC; 0 when not said */
	struct dat_stat *stats; /* CPUSTAT, newest first */
	uint32_t nr_stats;
	const char *stat_buffer; /* the buffer that the next CPUSTAT is about */
	uint64_t stat_now;	 /* when the last CPUSTAT was read, in ticks; 0 not said */
	struct bytes tables[DAT_NR_TABLES];
	uint64_t broken[DAT_BROKEN_MAX]; /* where packed sections are that cannot be unpacked */
	unsigned nr_broken;
	uint64_t symbols_section; /* version 7: where DAT_SYMBOLS is unpacked from when it is wanted
				   */
	struct dat_buffer *buffers; /* in the arena; [0] is the top buffer */
	unsigned nr_buffers;
};

/* The largest sub-buffer a kernel makes is 64 pages of 64 KiB; a smaller than 256 bytes has no
 * room for what it must hold. */
#define DAT_MIN_PAGE 256u
#define DAT_MAX_PAGE (4u << 20)

bool dat_file_probe(const char *path);

/* Reads all but the events.  @f->trace and its path are set, the rest zero. */
int dat_file_open(struct dat_file *f, struct error *err);
void dat_file_release(struct dat_file *f);

/* Reads options up to the one that ends them; @base is where @b starts in the file (0 when that is
 * not known), *next what DONE said (version 7). */
void dat_options_read(struct dat_file *f, struct bytes *b, uint64_t base, uint64_t *next);

/* Reads one options section; returns where the next one is, 0 = there is none. */
uint64_t dat_options_section(struct dat_file *f, uint64_t offset_bytes);

/* Gives the CPUSTAT counters to the CPUs, when all buffers are known.  0 or -ENOMEM. */
int dat_stats_assign(struct dat_file *f);

/* Unpacks the section at @offset_bytes, which must have this id, into f->tables[which]. */
void dat_section_table(struct dat_file *f, uint64_t offset_bytes, uint16_t id,
		       enum dat_table which);

/* Reads a section of any kind that was found by its place, if that was not done before. */
void dat_section_found(struct dat_file *f, uint64_t offset_bytes, uint16_t id);

/* Unpacks DAT_SYMBOLS, if that was not done before. */
void dat_section_symbols(struct dat_file *f);

/* Version 7: looks for the sections that the options no longer lead to, from @first on. */
void dat_salvage(struct dat_file *f, uint64_t first);

/* Version 6's tables of formats, behind the size of a page; perf.data has the same. */
struct dat_formats {
	struct bytes headers, ftrace, events;
};
void dat_formats_take(struct bytes *b, struct dat_formats *out);

/* A problem at this place in the file. */
void dat_problem(struct dat_file *f, uint64_t offset_bytes, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds a buffer; NULL when memory is out or there are far too many. */
struct dat_buffer *dat_buffer_add(struct dat_file *f, const char *name);

/* False for a page size that no kernel has. */
static inline bool dat_page_size_ok(uint32_t size)
{
	return size >= DAT_MIN_PAGE && size <= DAT_MAX_PAGE && !(size & (size - 1));
}

/* True when [offset, offset + len) lies in the file. */
static inline bool dat_inside(const struct dat_file *f, uint64_t offset_bytes, uint64_t len_bytes)
{
	return offset_bytes <= f->map.len_bytes && len_bytes <= f->map.len_bytes - offset_bytes;
}

#endif
