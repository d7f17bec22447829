/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a trace.dat file: {u16 id, u32 size, data} each, told apart by a table.
 */
#include "source/dat/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_id {
	OPTION_DONE = 0,
	OPTION_DATE = 1,
	OPTION_CPUSTAT = 2,
	OPTION_BUFFER = 3,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_CPUCOUNT = 8,
	OPTION_VERSION = 9,
	OPTION_TRACEID = 11,
	OPTION_TIME_SHIFT = 12,
	OPTION_GUEST = 13,
	OPTION_TSC2NSEC = 14,
	OPTION_HEADER_INFO = 16,
	OPTION_FTRACE_EVENTS = 17,
	OPTION_EVENT_FORMATS = 18,
	OPTION_KALLSYMS = 19,
	OPTION_PRINTK = 20,
	OPTION_CMDLINES = 21,
	OPTION_BUFFER_TEXT = 22,
};

#define SECTION_PACKED 1u
#define GUESTS_MAX 1024u
#define SAMPLE_BYTES 24 /* of TIME_SHIFT: time, offset, scaling */

/* A copy of a text option, up to its NUL or its end. */
static const char *option_text(struct dat_file *f, struct bytes *b)
{
	size_t room = bytes_left(b);
	const uint8_t *p = bytes_take(b, room);
	char *text = p ? arena_strndup(&f->arena, (const char *)p, strnlen((const char *)p, room))
		       : NULL;

	return text ? text : "";
}

/* Microseconds to the wall clock, as "0x..." (DATE). */
static void option_date(struct dat_file *f, struct bytes *b)
{
	f->trace->clock.offset_ns += (int64_t)(strtoull(option_text(f, b), NULL, 0) * 1000);
	f->trace->clock.offset_known = true;
}

/* Nanoseconds that the user wanted added. */
static void option_offset(struct dat_file *f, struct bytes *b)
{
	f->trace->clock.offset_ns += (int64_t)strtoull(option_text(f, b), NULL, 0);
}

static uint64_t stat_value(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	/* "overrun: " also ends "commit overrun: ": take the one at the start of a line. */
	while (p && p != text && p[-1] != '\n')
		p = strstr(p + 1, name);
	return p ? strtoull(p + strlen(name), NULL, 10) : 0;
}

/* In ticks.  Clocks that count nanoseconds are given as "SECONDS.MICROSECONDS". */
static uint64_t stat_time(const char *text, const char *name)
{
	const char *p = strstr(text, name);
	char *rest;
	uint64_t time;

	if (!p)
		return 0;
	time = strtoull(p + strlen(name), &rest, 10);
	if (*rest != '.')
		return time;
	return time * NS_PER_SEC + strtoull(rest + 1, NULL, 10) * 1000;
}

/*
 * The kernel's per_cpu/cpuN/stats, one option a CPU; "Buffer: NAME" in front of those of another
 * buffer.  In version 7 the buffers are described after their statistics, so these are kept until
 * dat_file_open() hands them out.
 */
static void option_cpustat(struct dat_file *f, struct bytes *b)
{
	const char *text = option_text(f, b);
	const char *buffer = strstr(text, "Buffer: ");
	const char *cpu = strstr(text, "CPU: ");
	struct dat_stat *s;
	uint64_t now;

	if (buffer) {
		size_t len = strcspn(buffer + 8, "\n");
		const char *name = arena_strndup(&f->arena, buffer + 8, len);

		f->stat_buffer = name ? name : "";
	}
	if (!cpu)
		return;
	s = arena_alloc(&f->arena, sizeof(*s));
	if (!s)
		return;
	s->buffer = f->stat_buffer;
	s->cpu = atoi(cpu + 5);
	s->lost = stat_value(text, "overrun: ") + stat_value(text, "commit overrun: ") +
		  stat_value(text, "dropped events: ");
	s->unread = stat_value(text, "entries: ");
	s->kept = stat_value(text, "read events: ") + s->unread;
	s->oldest = stat_time(text, "oldest event ts: ");
	s->next = f->stats;
	f->stats = s;
	f->nr_stats++;
	now = stat_time(text, "now ts: ");
	f->stat_now = now > f->stat_now ? now : f->stat_now;
}

/* Version 7 lists the CPUs here; version 6 only says where to look. */
static void option_buffer(struct dat_file *f, struct bytes *b)
{
	uint64_t offset = bytes_u64(b);
	const char *name = bytes_str(b);
	struct dat_buffer *u;
	const char *clock;
	uint32_t nr;

	if (!name || !(u = dat_buffer_add(f, name)))
		return;
	u->section_bytes = offset;
	if (f->version < 7)
		return;
	clock = bytes_str(b);
	u->clock = clock ? arena_strdup(&f->arena, clock) : NULL;
	if (!u->clock)
		u->clock = "";
	u->page_size = bytes_u32(b);
	nr = bytes_u32(b);
	if (dat_inside(f, offset, 4))
		u->packed = load16(f->map.data + offset + 2, f->swap) & SECTION_PACKED;
	if (nr > TRACE_CPUS_MAX || nr > bytes_left(b) / 20) {
		b->bad = true;
		return;
	}
	u->cpus = arena_alloc(&f->arena, nr * sizeof(*u->cpus));
	if (!u->cpus)
		return;
	u->nr_cpus = nr;
	for (uint32_t i = 0; i < nr; i++) {
		u->cpus[i].cpu = (int)bytes_u32(b);
		u->cpus[i].offset_bytes = bytes_u64(b);
		u->cpus[i].len_bytes = bytes_u64(b);
	}
}

static void option_buffer_text(struct dat_file *f, struct bytes *b)
{
	uint64_t offset = bytes_u64(b);
	const char *name = bytes_str(b);

	dat_problem(f, offset,
		    "buffer \"%s\" is text of the latency tracer, without events to decode",
		    name ? name : "");
}

/* The content of "trace_clock": all clocks' names, the one in use in brackets. */
static void option_clock(struct dat_file *f, struct bytes *b)
{
	const char *text = option_text(f, b);
	const char *from = strchr(text, '[');
	size_t len = from ? strcspn(from + 1, "]\n") : strcspn(text, " \n");

	from = from ? from + 1 : text;
	snprintf(f->trace->clock.name, sizeof(f->trace->clock.name), "%.*s", (int)len, from);
}

/* "Linux HOST RELEASE MACHINE" */
static void option_uname(struct dat_file *f, struct bytes *b)
{
	char host[65] = "";
	char release[65] = "";
	char machine[33] = "";

	sscanf(option_text(f, b), "%*s %64s %64s %32s", host, release, machine);
	f->trace->arch = arch_of_machine(machine);
	memcpy(f->trace->hostname, host, sizeof(host));
	memcpy(f->trace->release, release, sizeof(release));
}

/* trace-cmd: "3.1.6 COMMIT"; Sonde: "sonde" */
static void option_version(struct dat_file *f, struct bytes *b)
{
	const char *text = option_text(f, b);

	snprintf(f->trace->tracer, sizeof(f->trace->tracer), "%s%.*s",
		 text[0] >= '0' && text[0] <= '9' ? "trace-cmd " : "", (int)strcspn(text, " \n"),
		 text);
}

static void option_cpucount(struct dat_file *f, struct bytes *b)
{
	uint32_t nr = bytes_u32(b);

	if (!b->bad && nr <= TRACE_CPUS_MAX)
		f->option_cpus = nr;
}

static void option_traceid(struct dat_file *f, struct bytes *b)
{
	f->trace->trace_id = bytes_u64(b);
}

/* Into t->shifts, which has room for as many samples as the option can hold. */
static void shift_cpu(struct dat_file *f, struct bytes *b, unsigned cpu)
{
	struct trace *t = f->trace;
	struct trace_shift *added = t->shifts + t->nr_shifts;
	uint32_t nr = bytes_u32(b);

	if (nr > bytes_left(b) / SAMPLE_BYTES) {
		b->bad = true;
		return;
	}
	t->nr_shifts += nr;
	for (uint32_t i = 0; i < nr; i++) {
		added[i].cpu = (int)cpu;
		added[i].at = bytes_u64(b);
	}
	for (uint32_t i = 0; i < nr; i++)
		added[i].offset = (int64_t)bytes_u64(b);
	for (uint32_t i = 0; i < nr; i++)
		added[i].scaling = bytes_u64(b);
}

/* Newer files end with the fraction bits of every sample; older ones have none: scaling 1 is 1. */
static void option_time_shift(struct dat_file *f, struct bytes *b)
{
	struct trace *t = f->trace;
	uint64_t peer = bytes_u64(b);
	uint32_t nr_cpus;

	(void)bytes_u32(b); /* flags of the protocol that measured */
	nr_cpus = bytes_u32(b);
	if (b->bad)
		return;
	t->peer_trace_id = peer;
	t->nr_shifts = 0;
	t->shifts = arena_alloc(&f->arena, bytes_left(b) / SAMPLE_BYTES * sizeof(*t->shifts));
	if (!t->shifts)
		return;
	for (uint32_t cpu = 0; cpu < nr_cpus && bytes_left(b); cpu++)
		shift_cpu(f, b, cpu);
	for (unsigned i = 0; i < t->nr_shifts && bytes_left(b) >= 8; i++) {
		uint64_t bits = bytes_u64(b);

		t->shifts[i].fraction_bits = bits < 64 ? (unsigned)bits : 0;
	}
	if (t->nr_shifts) {
		t->clock.shift_ticks = t->shifts[0].offset;
		t->clock.shift_known = true;
	}
}

static struct trace_guest *guest_add(struct dat_file *f)
{
	struct trace *t = f->trace;
	struct trace_guest *grown;

	if (t->nr_guests == GUESTS_MAX)
		return NULL;
	grown = arena_alloc(&f->arena, (t->nr_guests + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	if (t->nr_guests)
		memcpy(grown, t->guests, t->nr_guests * sizeof(*grown));
	t->guests = grown;
	return &grown[t->nr_guests];
}

static void option_guest(struct dat_file *f, struct bytes *b)
{
	const char *name = bytes_str(b);
	uint64_t id = bytes_u64(b);
	uint32_t nr = bytes_u32(b);
	struct trace_guest *g;
	int32_t *tids;

	if (b->bad || nr > TRACE_CPUS_MAX || nr > bytes_left(b) / 8) {
		b->bad = true;
		return;
	}
	g = guest_add(f);
	tids = arena_alloc(&f->arena, nr * sizeof(*tids));
	if (!g || !tids)
		return;
	for (uint32_t i = 0; i < nr; i++)
		tids[i] = -1;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t cpu = bytes_u32(b);
		int32_t tid = (int32_t)bytes_u32(b);

		if (cpu < nr)
			tids[cpu] = tid;
	}
	g->name = arena_strdup(&f->arena, name);
	if (!g->name)
		return;
	g->trace_id = id;
	g->vcpu_tid = tids;
	g->nr_vcpus = nr;
	f->trace->nr_guests++;
}

/* The kernel's own factors: ns = (ticks - offset) * mult >> shift.  They hold the TSC's rate. */
static void option_tsc2nsec(struct dat_file *f, struct bytes *b)
{
	uint32_t mult = bytes_u32(b);
	uint32_t shift = bytes_u32(b);

	if (b->bad || !mult || shift > 63)
		return;
	f->tsc_hz = (uint64_t)(((unsigned __int128)NS_PER_SEC << shift) / mult);
}

/* The options that say where a table is have the number of its section. */
static const struct {
	uint16_t id;
	enum dat_table table;
} tables[] = {
	{OPTION_HEADER_INFO, DAT_HEADERS},	   {OPTION_FTRACE_EVENTS, DAT_FTRACE_FORMATS},
	{OPTION_EVENT_FORMATS, DAT_EVENT_FORMATS}, {OPTION_PRINTK, DAT_PRINTK},
	{OPTION_CMDLINES, DAT_CMDLINES},
};

void dat_section_found(struct dat_file *f, uint64_t offset_bytes, uint16_t id)
{
	if (id == OPTION_DONE && !f->has_options)
		dat_options_section(f, offset_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (tables[i].id == id)
			dat_section_table(f, offset_bytes, id, tables[i].table);
	}
	/* Large, and seldom wanted. */
	if (id == OPTION_KALLSYMS && !f->symbols_section)
		f->symbols_section = offset_bytes;
}

void dat_section_symbols(struct dat_file *f)
{
	if (f->symbols_section)
		dat_section_table(f, f->symbols_section, OPTION_KALLSYMS, DAT_SYMBOLS);
	f->symbols_section = 0;
}

/* What is not here (hooks, process maps) decodes no event. */
static const struct {
	uint16_t id;
	const char *name;
	void (*read)(struct dat_file *f, struct bytes *b);
} options[] = {
	{OPTION_DATE, "DATE", option_date},
	{OPTION_CPUSTAT, "CPUSTAT", option_cpustat},
	{OPTION_BUFFER, "BUFFER", option_buffer},
	{OPTION_TRACECLOCK, "TRACECLOCK", option_clock},
	{OPTION_UNAME, "UNAME", option_uname},
	{OPTION_OFFSET, "OFFSET", option_offset},
	{OPTION_CPUCOUNT, "CPUCOUNT", option_cpucount},
	{OPTION_VERSION, "VERSION", option_version},
	{OPTION_TRACEID, "TRACEID", option_traceid},
	{OPTION_TIME_SHIFT, "TIME_SHIFT", option_time_shift},
	{OPTION_GUEST, "GUEST", option_guest},
	{OPTION_TSC2NSEC, "TSC2NSEC", option_tsc2nsec},
	{OPTION_BUFFER_TEXT, "BUFFER_TEXT", option_buffer_text},
};

static void option_read(struct dat_file *f, uint16_t id, struct bytes *b, uint64_t offset)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		if (tables[i].id == id && bytes_left(b) >= 8)
			dat_section_found(f, bytes_u64(b), id);
	}
	if (id == OPTION_KALLSYMS && bytes_left(b) >= 8)
		dat_section_found(f, bytes_u64(b), id);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (options[i].id != id)
			continue;
		options[i].read(f, b);
		if (b->bad)
			dat_problem(f, offset, "option %s is shorter than what it must hold",
				    options[i].name);
		return;
	}
}

void dat_options_read(struct dat_file *f, struct bytes *b, uint64_t base, uint64_t *next)
{
	*next = 0;
	f->has_options = true;
	for (;;) {
		uint64_t offset = base + b->pos;
		uint16_t id = bytes_u16(b);
		struct bytes data;

		/* Version 6 ends with a bare zero. */
		if (id == OPTION_DONE && f->version < 7 && !b->bad)
			return;
		data = bytes_sub(b, bytes_u32(b));
		if (b->bad || data.bad) {
			b->bad = true;
			dat_problem(f, offset, "the options end before their end mark");
			return;
		}
		if (id == OPTION_DONE) {
			*next = bytes_u64(&data);
			return;
		}
		option_read(f, id, &data, offset);
	}
}
