/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_PERF_BUILD_H
#define TESTS_UNIT_PERF_BUILD_H

/*
 * Makes small perf.data files for tests, byte for byte as the kernel's
 * tools/perf/Documentation/perf.data-file-format.txt and <linux/perf_event.h> have it.
 *
 *	struct buf records = {0};
 *	perf_switch(&records, 0, 1000, 7, 42, "worker");
 *	perf_build(&form, &records, &file);
 *
 * Three events: sched_switch; softirq_entry, whose samples have a call chain and counters, too; and
 * one that is no tracepoint.  Each has a number per CPU: 10, 20, 30 and the CPU.
 */
#include <linux/perf_event.h>

#include "tests/unit/dat_build.h"

struct perf_form {
	bool pipe;
	bool no_ids; /* samples do not say which event they are of: only switches are recorded */
	bool no_formats;
	bool swapped; /* the other byte order, as far as its magic goes */
	int clockid;  /* -k; -1: the default */
	uint64_t wall_ns, clock_ns;
};

#define PERF_PLAIN                                                                                 \
	{                                                                                          \
		.clockid = -1                                                                      \
	}
#define PERF_EVENTS 3
#define PERF_CPUS 2
#define PERF_COMMON                                                                                \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

static inline uint64_t perf_sample_type(const struct perf_form *form, unsigned event)
{
	uint64_t type = PERF_COMMON | (form->no_ids ? 0 : PERF_SAMPLE_IDENTIFIER);

	if (event < 2)
		type |= PERF_SAMPLE_RAW;
	if (event == 1)
		type |= PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN;
	return type;
}

static inline void put_attr(struct buf *b, const struct perf_form *form, unsigned event)
{
	static const uint64_t configs[PERF_EVENTS] = {ID_SWITCH, ID_SOFTIRQ, PERF_COUNT_SW_DUMMY};
	struct perf_event_attr attr = {
		.type = event == 2 ? PERF_TYPE_SOFTWARE : PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = configs[event],
		.sample_type = perf_sample_type(form, event),
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
		.sample_id_all = 1,
		.use_clockid = form->clockid >= 0,
		.clockid = form->clockid >= 0 ? form->clockid : 0,
	};

	put(b, &attr, sizeof(attr));
}

static inline void put_ids(struct buf *b, unsigned event)
{
	for (unsigned cpu = 0; cpu < PERF_CPUS; cpu++)
		put_uint(b, 10 * (event + 1) + cpu, 8);
}

static inline void perf_record(struct buf *b, uint32_t type, const struct buf *data)
{
	put_uint(b, type, 4);
	put_uint(b, 0, 2);
	put_uint(b, 8 + data->len, 2);
	put(b, data->data, data->len);
}

/* Up to the period. */
static inline void put_sample_head(struct buf *b, unsigned event, unsigned cpu, uint64_t time,
				   int32_t tid, bool with_id)
{
	if (with_id)
		put_uint(b, 10 * (event + 1) + cpu, 8);
	put_uint(b, 0xffffffff81000000, 8);
	put_uint(b, (uint32_t)tid, 4);
	put_uint(b, (uint32_t)tid, 4);
	put_uint(b, time, 8);
	put_uint(b, cpu, 8);
	put_uint(b, 1, 8);
}

static inline void put_raw(struct buf *b, const struct buf *raw)
{
	size_t len = (4 + raw->len + 7) / 8 * 8 - 4;

	put_uint(b, len, 4);
	put(b, raw->data, raw->len);
	put_align(b, 8);
}

static inline void perf_switch_of(struct buf *b, bool with_id, unsigned cpu, uint64_t time,
				  int32_t prev, int32_t next, const char *comm)
{
	struct buf data = {0}, raw = {0};

	put_sample_head(&data, 0, cpu, time, prev, with_id);
	payload_switch(&raw, prev, next, comm);
	put_raw(&data, &raw);
	perf_record(b, PERF_RECORD_SAMPLE, &data);
	free(data.data);
	free(raw.data);
}

static inline void perf_switch(struct buf *b, unsigned cpu, uint64_t time, int32_t prev,
			       int32_t next, const char *comm)
{
	perf_switch_of(b, true, cpu, time, prev, next, comm);
}

/* What was put at @at, a sample of a switch, was recorded by an interrupt's code: common_flags. */
static inline void perf_in_interrupt(struct buf *b, size_t at)
{
	b->data[at + 8 + 48 + 4 + 2] = 0x08;
}

static inline void perf_in_softirq(struct buf *b, size_t at)
{
	b->data[at + 8 + 48 + 4 + 2] = 0x10;
}

static inline void perf_softirq(struct buf *b, unsigned cpu, uint64_t time, uint32_t vec)
{
	struct buf data = {0}, raw = {0};

	put_sample_head(&data, 1, cpu, time, 1, true);
	put_uint(&data, 1, 8); /* counters of a group: one, with its number */
	put_uint(&data, 77, 8);
	put_uint(&data, 20 + cpu, 8);
	put_uint(&data, 2, 8); /* call chain */
	put_uint(&data, 0xffffffff81000000, 8);
	put_uint(&data, 0xffffffff82000000, 8);
	payload_common(&raw, ID_SOFTIRQ, 1);
	put_uint(&raw, vec, 4);
	put_raw(&data, &raw);
	perf_record(b, PERF_RECORD_SAMPLE, &data);
	free(data.data);
	free(raw.data);
}

/* The end of the kernel's other records. */
static inline void put_sample_id(struct buf *b, unsigned event, unsigned cpu, uint64_t time)
{
	put_uint(b, 0, 8); /* pid, tid */
	put_uint(b, time, 8);
	put_uint(b, cpu, 8);
	put_uint(b, event ? 10 * event + cpu : 0, 8);
}

static inline void perf_lost(struct buf *b, unsigned cpu, uint64_t time, uint64_t nr)
{
	struct buf data = {0};

	put_uint(&data, 10 + cpu, 8);
	put_uint(&data, nr, 8);
	put_sample_id(&data, 1, cpu, time);
	perf_record(b, PERF_RECORD_LOST, &data);
	free(data.data);
}

/* As perf writes them at the end. */
static inline void perf_lost_samples(struct buf *b, uint64_t nr)
{
	struct buf data = {0};

	put_uint(&data, nr, 8);
	put_sample_id(&data, 1, 0, 0);
	perf_record(b, PERF_RECORD_LOST_SAMPLES, &data);
	free(data.data);
}

/* @time 0: as perf writes them before it begins. */
static inline void perf_comm(struct buf *b, unsigned cpu, uint64_t time, int32_t pid, int32_t tid,
			     const char *comm)
{
	struct buf data = {0};

	put_uint(&data, (uint32_t)pid, 4);
	put_uint(&data, (uint32_t)tid, 4);
	put_text(&data, comm);
	put_align(&data, 8);
	put_sample_id(&data, time ? 3 : 0, cpu, time);
	perf_record(b, PERF_RECORD_COMM, &data);
	free(data.data);
}

static inline void perf_finished_round(struct buf *b)
{
	struct buf none = {0};

	perf_record(b, 68, &none);
}

/* A record of 24 bytes with 4096 more behind it. */
static inline void perf_auxtrace(struct buf *b)
{
	struct buf data = {0};

	put_uint(&data, 4096, 8);
	put_uint(&data, 0, 8);
	perf_record(b, 71, &data);
	put_align(b, 8);
	for (unsigned i = 0; i < 512; i++)
		put_uint(b, 0x0030000000000009, 8); /* looks like records */
	free(data.data);
}

/* ---- the file ------------------------------------------------------------------------------- */

static inline void put_feature_text(struct buf *b, const char *text)
{
	size_t begin = b->len;

	put_uint(b, 64, 4);
	put_text(b, text);
	while (b->len < begin + 68)
		put_uint(b, 0, 1);
}

static inline void put_tracing_data(struct buf *b)
{
	put(b, "\x17\x08\x44tracing", 10);
	put_text(b, "0.6");
	put_uint(b, 0, 1);
	put_uint(b, 8, 1);
	put_uint(b, 4096, 4);
	put_headers(b, 8);
	put_ftrace_formats(b);
	put_event_formats(b);
	put_uint(b, 0, 4);
	put_uint(b, 0, 4);
	put_uint(b, 0, 8);
}

static const unsigned perf_features[] = {1, 3, 4, 5, 7, 29};
#define PERF_FEATURES (sizeof(perf_features) / sizeof(*perf_features))

static inline void put_feature(struct buf *b, const struct perf_form *form, unsigned feature)
{
	switch (feature) {
	case 1:
		put_tracing_data(b);
		break;
	case 3:
		put_feature_text(b, "box");
		break;
	case 4:
		put_feature_text(b, "6.1.0");
		break;
	case 5:
		put_feature_text(b, "6.1.192");
		break;
	case 7:
		put_uint(b, 4, 4);
		put_uint(b, PERF_CPUS, 4);
		break;
	case 29:
		put_uint(b, 1, 4);
		put_uint(b, (uint32_t)form->clockid, 4);
		put_uint(b, form->wall_ns, 8);
		put_uint(b, form->clock_ns, 8);
		break;
	}
}

static inline unsigned nr_events(const struct perf_form *form)
{
	return form->no_ids ? 1 : PERF_EVENTS;
}

static inline bool has_feature(const struct perf_form *form, unsigned i)
{
	return (i || !form->no_formats) && (perf_features[i] != 29 || form->clock_ns);
}

static inline void build_pipe(const struct perf_form *form, const struct buf *records,
			      struct buf *out)
{
	put_uint(out, 16, 8);
	for (unsigned i = 0; i < nr_events(form); i++) {
		struct buf data = {0};

		put_attr(&data, form, i);
		put_ids(&data, i);
		perf_record(out, 64, &data);
		free(data.data);
	}
	for (unsigned i = 0; i < PERF_FEATURES; i++) {
		struct buf data = {0}, all = {0};

		if (!has_feature(form, i))
			continue;
		put_uint(&data, perf_features[i], 8);
		put_feature(&data, form, perf_features[i]);
		put_align(&data, 8);
		if (perf_features[i] != 1) {
			perf_record(out, 80, &data);
		} else { /* a record of its own, with all of it behind */
			put_uint(&all, data.len - 8, 4);
			perf_record(out, 66, &all);
			put(out, data.data + 8, data.len - 8);
		}
		free(data.data);
		free(all.data);
	}
	put(out, records->data, records->len);
}

static inline void build_file(const struct perf_form *form, const struct buf *records,
			      struct buf *out)
{
	unsigned events = nr_events(form);
	size_t ids = 104, attrs = ids + 8 * PERF_CPUS * (size_t)events, table;
	size_t each = sizeof(struct perf_event_attr) + 16;
	uint64_t bits = 0;

	for (unsigned i = 0; i < PERF_FEATURES; i++)
		bits |= has_feature(form, i) ? 1ull << perf_features[i] : 0;
	put_uint(out, 104, 8);
	put_uint(out, each, 8);
	put_uint(out, attrs, 8);
	put_uint(out, events * each, 8);
	put_uint(out, attrs + events * each, 8);
	put_uint(out, records->len, 8);
	put_uint(out, 0, 8);
	put_uint(out, 0, 8);
	put_uint(out, bits, 8);
	for (unsigned i = 0; i < 3; i++)
		put_uint(out, 0, 8);
	for (unsigned i = 0; i < events; i++)
		put_ids(out, i);
	for (unsigned i = 0; i < events; i++) {
		put_attr(out, form, i);
		put_uint(out, ids + 8 * PERF_CPUS * (size_t)i, 8);
		put_uint(out, 8 * PERF_CPUS, 8);
	}
	put(out, records->data, records->len);
	table = out->len;
	for (unsigned i = 0; i < PERF_FEATURES; i++) {
		for (unsigned k = 0; has_feature(form, i) && k < 16; k++)
			put_uint(out, 0, 1);
	}
	for (unsigned i = 0; i < PERF_FEATURES; i++) {
		size_t begin = out->len;

		if (!has_feature(form, i))
			continue;
		put_feature(out, form, perf_features[i]);
		set_uint(out->data + table, begin, 8, false);
		set_uint(out->data + table + 8, out->len - begin, 8, false);
		table += 16;
	}
}

static inline void perf_build(const struct perf_form *form, const struct buf *records,
			      struct buf *out)
{
	*out = (struct buf){0};
	put(out, form->swapped ? "2ELIFREP" : "PERFILE2", 8);
	if (form->pipe)
		build_pipe(form, records, out);
	else
		build_file(form, records, out);
}

#endif
