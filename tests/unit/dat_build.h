/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_DAT_BUILD_H
#define TESTS_UNIT_DAT_BUILD_H

/*
 * Makes small trace.dat files for tests, byte for byte as man 5 trace-cmd.dat.v6 and .v7 have it:
 * either byte order, 32- and 64-bit kernels, plain and packed.
 *
 *	struct pages p = {.form = &form};
 *	page_begin(&p, 1000);
 *	page_record(&p, 5, payload, sizeof(payload));
 *	page_end(&p, 0);
 *	dat_build(&form, &p, 1, &out);
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define BUILD_PAGE 512

struct buf {
	uint8_t *data;
	size_t len;
	bool big;
	size_t room;
};

struct pages;

/* What kind of file. */
struct dat_form {
	unsigned version; /* 6 or 7 */
	bool big;
	unsigned long_size;
	const char *packing; /* version 7: "none", "zstd", "zlib" */
	const char *clock;
	void (*more_options)(struct buf *b); /* appends options of its own */
	bool short_last_page;		     /* the last page is stored without its unused end */
	uint32_t chunk_pages;		     /* per packed chunk; 0 = 2 */
	const struct pages *instance;	   /* version 7: a second buffer, "foo", of two CPUs ... */
	const char *instance_clock;	   /* ... recorded with this clock */
	const char *printk;		   /* version 6: lines of formats of trace_printk() */
	const char *const *ftrace_formats; /* version 6: ftrace's own events, up to a NULL */
	const char *const
		*kvm_formats; /* version 6: these, up to a NULL, and sched_switch are all */
};

struct pages {
	const struct dat_form *form;
	struct buf b;
	size_t page; /* where the page being filled starts */
	size_t used; /* end of its records */
};

static inline void put(struct buf *b, const void *data, size_t len)
{
	if (b->len + len >= b->room) {
		b->room = 2 * (b->len + len) + 1;
		b->data = realloc(b->data, b->room);
	}
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
}

static inline void set_uint(uint8_t *p, uint64_t v, unsigned size, bool big)
{
	for (unsigned i = 0; i < size; i++)
		p[big ? size - 1 - i : i] = (uint8_t)(v >> 8 * i);
}

static inline void put_uint(struct buf *b, uint64_t v, unsigned size)
{
	uint8_t bytes[8];

	set_uint(bytes, v, size, b->big);
	put(b, bytes, size);
}

static inline void put_text(struct buf *b, const char *text)
{
	put(b, text, strlen(text) + 1);
}

static inline void put_option(struct buf *b, uint16_t id, const void *data, size_t len)
{
	put_uint(b, id, 2);
	put_uint(b, len, 4);
	put(b, data, len);
}

static inline void put_text_option(struct buf *b, uint16_t id, const char *text)
{
	put_option(b, id, text, strlen(text) + 1);
}

static inline void page_begin(struct pages *p, uint64_t time)
{
	static const uint8_t zeros[BUILD_PAGE];

	p->b.big = p->form->big;
	p->page = p->b.len;
	put(&p->b, zeros, BUILD_PAGE);
	set_uint(p->b.data + p->page, time, 8, p->form->big);
	p->used = p->page + 8 + p->form->long_size;
}

static inline void page_word(struct pages *p, uint32_t v)
{
	set_uint(p->b.data + p->used, v, 4, p->form->big);
	p->used += 4;
}

/* The header word of a record. */
static inline void page_head(struct pages *p, unsigned type_len, uint32_t delta)
{
	page_word(p, p->form->big ? type_len << 27 | delta : delta << 5 | type_len);
}

static inline void page_bytes(struct pages *p, const void *data, size_t len)
{
	memcpy(p->b.data + p->used, data, len);
	p->used += (len + 3) & ~(size_t)3;
}

static inline void page_record(struct pages *p, uint32_t delta, const void *data, size_t len)
{
	page_head(p, (unsigned)(len + 3) / 4, delta);
	page_bytes(p, data, len);
}

/* @flags: bits 31 and 30 of the commit field; with bit 30 @lost is stored behind the records. */
static inline void page_end_lost(struct pages *p, uint32_t flags, uint64_t lost)
{
	unsigned size = p->form->long_size;
	uint64_t len = p->used - p->page - 8 - size;

	set_uint(p->b.data + p->page + 8, len | flags, size, p->form->big);
	if (flags & 1u << 30)
		set_uint(p->b.data + p->used, lost, size, p->form->big);
}

static inline void page_end(struct pages *p)
{
	page_end_lost(p, 0, 0);
}

/* Payloads: common fields, then the event's own. */
static inline void payload_common(struct buf *b, uint16_t id, int32_t tid)
{
	put_uint(b, id, 2);
	put_uint(b, 0, 2);
	put_uint(b, (uint32_t)tid, 4);
}

#define ID_SOFTIRQ 150
#define ID_SWITCH 316
#define ID_DEMO 400

#define FORMAT_COMMON                                                                              \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

#define FORMAT_SWITCH                                                                              \
	"name: sched_switch\nID: 316\n" FORMAT_COMMON                                              \
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"                            \
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"                                \
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"                                 \
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"                               \
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"                           \
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"                                \
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"                               \
	"print fmt: \"prev_comm=%s\", REC->prev_comm\n"

/* Ends in a number of 4 bytes. */
#define FORMAT_SOFTIRQ                                                                             \
	"name: softirq_entry\nID: 150\n" FORMAT_COMMON                                             \
	"\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n\n"                             \
	"print fmt: \"vec=%u\", REC->vec\n"

/* Every shape a field has. */
#define FORMAT_DEMO                                                                                \
	"name: demo\nID: 400\n" FORMAT_COMMON "\tfield:u8 small;\toffset:8;\tsize:1;\tsigned:0;\n" \
	"\tfield:s16 below;\toffset:10;\tsize:2;\tsigned:1;\n"                                     \
	"\tfield:unsigned char addr[4];\toffset:12;\tsize:4;\tsigned:0;\n"                         \
	"\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:0;\n"                        \
	"\tfield:__rel_loc char[] tail;\toffset:20;\tsize:4;\tsigned:0;\n"                         \
	"\tfield:__data_loc u16[] list;\toffset:24;\tsize:4;\tsigned:0;\n"                         \
	"\tfield:struct odd odd;\toffset:28;\tsize:3;\tsigned:0;\n"                                \
	"\tfield:s32 pair[2];\toffset:32;\tsize:8;\tsigned:1;\n"                                   \
	"\tfield:const char * where;\toffset:40;\tsize:8;\tsigned:0;\n\n"                          \
	"print fmt: \"\"\n"

static inline void payload_switch(struct buf *b, int32_t prev, int32_t next, const char *comm)
{
	char name[16] = {0};

	payload_common(b, ID_SWITCH, prev);
	snprintf(name, sizeof(name), "prev-%d", prev);
	put(b, name, sizeof(name));
	put_uint(b, (uint32_t)prev, 4);
	put_uint(b, 120, 4);
	put_uint(b, 1, 8);
	memset(name, 0, sizeof(name));
	memcpy(name, comm, strlen(comm) < 16 ? strlen(comm) : 16);
	put(b, name, sizeof(name));
	put_uint(b, (uint32_t)next, 4);
	put_uint(b, 120, 4);
}

static inline void page_switch(struct pages *p, uint32_t delta, int32_t prev, int32_t next,
			       const char *comm)
{
	struct buf b = {.big = p->form->big};

	payload_switch(&b, prev, next, comm);
	page_record(p, delta, b.data, b.len);
	free(b.data);
}

static inline void page_softirq(struct pages *p, uint32_t delta, uint32_t vec)
{
	struct buf b = {.big = p->form->big};

	payload_common(&b, ID_SOFTIRQ, 1);
	put_uint(&b, vec, 4);
	page_record(p, delta, b.data, b.len);
	free(b.data);
}

static inline void payload_demo(struct buf *b)
{
	payload_common(b, ID_DEMO, 77);
	put_uint(b, 200, 1);
	put_uint(b, 0, 1);
	put_uint(b, (uint16_t)-2, 2);
	put(b, "\x01\x02\x03\xff", 4);
	put_uint(b, 5u << 16 | 48, 4);	      /* "abcd" */
	put_uint(b, 3u << 16 | (53 - 24), 4); /* "xy" */
	put_uint(b, 4u << 16 | 56, 4);
	put(b, "\x09\x08\x07\x00", 4);
	put_uint(b, (uint32_t)-1, 4);
	put_uint(b, 1, 4);
	put_uint(b, 0xffff888000000000u, 8);
	put(b, "abcd\0xy\0", 8);
	put_uint(b, 65535, 2);
	put_uint(b, 7, 2);
}

static inline void put_sized(struct buf *b, const char *text)
{
	put_uint(b, strlen(text), 8);
	put(b, text, strlen(text));
}

static inline void put_headers(struct buf *b, unsigned long_size)
{
	char page[256];

	snprintf(page, sizeof(page),
		 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		 "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
		 "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		 "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:1;\n",
		 long_size, 8 + long_size, BUILD_PAGE - 8 - long_size);
	put_text(b, "header_page");
	put_sized(b, page);
	put_text(b, "header_event");
	put_sized(b, "# compressed entry header\n");
}

static inline void put_ftrace_formats(struct buf *b)
{
	put_uint(b, 0, 4);
}

static inline void put_some_formats(struct buf *b, const char *const *formats)
{
	unsigned nr = 0;

	while (formats[nr])
		nr++;
	put_uint(b, nr, 4);
	while (*formats)
		put_sized(b, *formats++);
}

static inline void put_kvm_formats(struct buf *b, const char *const *formats)
{
	put_text(b, "kvm");
	put_some_formats(b, formats);
}

static inline void put_event_formats(struct buf *b)
{
	put_uint(b, 3, 4);
	put_text(b, "irq");
	put_uint(b, 1, 4);
	put_sized(b, FORMAT_SOFTIRQ);
	put_text(b, "sched");
	put_uint(b, 1, 4);
	put_sized(b, FORMAT_SWITCH);
	put_text(b, "demo");
	put_uint(b, 1, 4);
	put_sized(b, FORMAT_DEMO);
}

static inline void put_cmdlines(struct buf *b)
{
	put_sized(b, "1 init\n42 worker one\n");
}

static inline void put_common_options(struct buf *b, const struct dat_form *form)
{
	char clock[64];

	snprintf(clock, sizeof(clock), "local global [%s]\n", form->clock ? form->clock : "local");
	put_text_option(b, 4, clock);
	put_text_option(b, 5, "Linux box 6.1.0 x86_64");
	put_text_option(b, 9, "3.1.6 none");
	if (form->more_options)
		form->more_options(b);
}

static inline size_t pack(const char *packing, const void *in, size_t len, uint8_t *out,
			  size_t room)
{
	uLongf n = room;

	if (!strcmp(packing, "zstd"))
		return ZSTD_compress(out, room, in, len, 1);
	compress(out, &n, in, len);
	return n;
}

/* {u32 packed size, u32 size, data} */
static inline void put_packed(struct buf *b, const char *packing, const void *data, size_t len)
{
	size_t room = 2 * len + 1024;
	uint8_t *out = malloc(room);
	size_t n = pack(packing, data, len, out, room);

	put_uint(b, n, 4);
	put_uint(b, len, 4);
	put(b, out, n);
	free(out);
}

/* Returns where it starts. */
static inline size_t put_section(struct buf *b, const struct dat_form *form, uint16_t id,
				 const struct buf *data)
{
	bool packed = strcmp(form->packing, "none") && id;
	struct buf body = {.big = b->big};
	size_t at = b->len;

	if (packed)
		put_packed(&body, form->packing, data->data, data->len);
	else
		put(&body, data->data, data->len);
	put_uint(b, id, 2);
	put_uint(b, packed, 2);
	put_uint(b, 0, 4);
	put_uint(b, body.len, 8);
	put(b, body.data, body.len);
	free(body.data);
	return at;
}

static inline void put_align(struct buf *b, size_t to)
{
	while (b->len % to)
		put_uint(b, 0, 1);
}

static inline size_t stored_len(const struct pages *p)
{
	return p->form->short_last_page ? p->used : p->b.len;
}

static inline void build_v6(const struct dat_form *form, const struct pages *cpus, unsigned nr,
			    struct buf *out)
{
	size_t table;

	put_headers(out, form->long_size);
	if (form->ftrace_formats)
		put_some_formats(out, form->ftrace_formats);
	else
		put_ftrace_formats(out);
	if (form->kvm_formats) {
		put_uint(out, 2, 4);
		put_kvm_formats(out, form->kvm_formats);
		put_text(out, "sched");
		put_uint(out, 1, 4);
		put_sized(out, FORMAT_SWITCH);
	} else {
		put_event_formats(out);
	}
	put_uint(out, 3, 4);
	put(out, "sym", 3);
	put_uint(out, form->printk ? strlen(form->printk) : 0, 4);
	if (form->printk)
		put(out, form->printk, strlen(form->printk));
	put_cmdlines(out);
	put_uint(out, nr, 4);
	put_text(out, "options  ");
	put_common_options(out, form);
	put_uint(out, 0, 2);
	put_text(out, "flyrecord");
	table = out->len;
	for (unsigned i = 0; i < nr; i++) {
		put_uint(out, 0, 8);
		put_uint(out, stored_len(&cpus[i]), 8);
	}
	for (unsigned i = 0; i < nr; i++) {
		put_align(out, BUILD_PAGE);
		set_uint(out->data + table + 16 * i, out->len, 8, form->big);
		put(out, cpus[i].b.data, stored_len(&cpus[i]));
	}
}

/* A CPU's pages; returns the size that the option states, which lacks the count's 4 bytes. */
static inline size_t put_cpu_data(struct buf *b, const struct dat_form *form, const struct pages *p)
{
	size_t step = (form->chunk_pages ? form->chunk_pages : 2) * BUILD_PAGE;
	size_t len = stored_len(p);
	size_t begin = b->len;

	if (!strcmp(form->packing, "none")) {
		put(b, p->b.data, len);
		return len;
	}
	put_uint(b, (len + step - 1) / step, 4);
	for (size_t at = 0; at < len; at += step)
		put_packed(b, form->packing, p->b.data + at, len - at < step ? len - at : step);
	return b->len - begin - 4;
}

static inline void put_offset_option(struct buf *b, uint16_t id, uint64_t offset)
{
	uint8_t bytes[8];

	set_uint(bytes, offset, 8, b->big);
	put_option(b, id, bytes, sizeof(bytes));
}

static inline size_t put_table(struct buf *out, const struct dat_form *form, uint16_t id,
			       void (*fill)(struct buf *b))
{
	struct buf b = {.big = form->big};
	size_t at;

	fill(&b);
	at = put_section(out, form, id, &b);
	free(b.data);
	return at;
}

/* Appends the section with the pages; @option receives what a BUFFER option says of them. */
static inline void put_buffer(struct buf *out, const struct dat_form *form, const char *name,
			      const char *clock, const struct pages *cpus, unsigned nr,
			      struct buf *option)
{
	size_t at = out->len;

	put_uint(out, 3, 2);
	put_uint(out, strcmp(form->packing, "none") != 0, 2);
	put_uint(out, 0, 4);
	put_uint(out, 0, 8);
	put_uint(option, at, 8);
	put_text(option, name);
	put_text(option, clock);
	put_uint(option, BUILD_PAGE, 4);
	put_uint(option, nr, 4);
	for (unsigned i = 0; i < nr; i++) {
		put_align(out, BUILD_PAGE);
		put_uint(option, i, 4);
		put_uint(option, out->len, 8);
		put_uint(option, put_cpu_data(out, form, &cpus[i]), 8);
	}
	set_uint(out->data + at + 8, out->len - at - 16, 8, form->big);
}

static inline void build_v7(const struct dat_form *form, const struct pages *cpus, unsigned nr,
			    struct buf *out)
{
	struct buf headers = {.big = form->big};
	struct buf options = {.big = form->big};
	struct buf buffer = {.big = form->big};
	size_t first, next, at;

	put_text(out, form->packing);
	put_text(out, "1.0");
	first = out->len;
	put_uint(out, 0, 8);
	put_headers(&headers, form->long_size);
	put_offset_option(&options, 16, put_section(out, form, 16, &headers));
	put_offset_option(&options, 17, put_table(out, form, 17, put_ftrace_formats));
	put_offset_option(&options, 18, put_table(out, form, 18, put_event_formats));
	put_offset_option(&options, 21, put_table(out, form, 21, put_cmdlines));
	put_common_options(&options, form);
	put_offset_option(&options, 0, 0);
	next = options.len - 8;
	at = put_section(out, form, 0, &options);
	set_uint(out->data + first, at, 8, form->big);
	next += at + 16;

	put_buffer(out, form, "", form->clock ? form->clock : "local", cpus, nr, &buffer);
	options.len = 0;
	put_option(&options, 3, buffer.data, buffer.len);
	if (form->instance) {
		buffer.len = 0;
		put_buffer(out, form, "foo", form->instance_clock, form->instance, 2, &buffer);
		put_option(&options, 3, buffer.data, buffer.len);
	}
	put_offset_option(&options, 0, 0);
	set_uint(out->data + next, out->len, 8, form->big);
	put_section(out, form, 0, &options);
	free(headers.data);
	free(options.data);
	free(buffer.data);
}

/* A whole file in @out, which the caller frees. */
static inline void dat_build(const struct dat_form *form, const struct pages *cpus, unsigned nr,
			     struct buf *out)
{
	char version[2] = {(char)('0' + form->version), '\0'};

	*out = (struct buf){.big = form->big};
	put(out, "\x17\x08\x44tracing", 10);
	put_text(out, version);
	put_uint(out, form->big, 1);
	put_uint(out, form->long_size, 1);
	put_uint(out, BUILD_PAGE, 4);
	if (form->version == 6)
		build_v6(form, cpus, nr, out);
	else
		build_v7(form, cpus, nr, out);
}

#endif
