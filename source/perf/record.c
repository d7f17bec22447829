/* SPDX-License-Identifier: Apache-2.0 */
#include "source/perf/record.h"

#include <linux/perf_event.h>

/* Places in struct perf_event_attr, which only ever grew. */
enum {
	ATTR_TYPE = 0,
	ATTR_CONFIG = 8,
	ATTR_SAMPLE_TYPE = 24,
	ATTR_READ_FORMAT = 32,
	ATTR_FLAGS = 40,
	ATTR_BYTES_MIN = 64,
	ATTR_CLOCKID = 92,
};
#define FLAG_SAMPLE_ID_ALL (1ull << 18)
#define FLAG_USE_CLOCKID (1ull << 25)
#define FLAG_WRITE_BACKWARD (1ull << 27)

/* A path, and what stands around it: none of the kernel's records takes more, but for those whose
 * size follows from what they carry. */
#define NAMING_BYTES_MAX (4096 + 512)

/* What damage made of a size must not carry the reader over records that are sound. */
static bool size_fits(uint32_t type, uint32_t size)
{
	switch (type) {
	case RECORD_FINISHED_ROUND:
	case RECORD_FINISHED_INIT:
		return size == RECORD_HEAD_BYTES;
	case RECORD_READ:
	case RECORD_SAMPLE:
	case RECORD_TEXT_POKE:
		return true;
	default:
		return type > RECORD_KERNEL_KNOWN || size <= NAMING_BYTES_MAX;
	}
}

bool perf_record_read(const uint8_t *file, uint64_t pos, uint64_t end, struct perf_record *out)
{
	uint64_t more = 0;
	uint32_t size;

	if (pos > end || end - pos < RECORD_HEAD_BYTES)
		return false;
	out->type = load_u32(file + pos);
	out->misc = load_u16(file + pos + 4);
	size = load_u16(file + pos + 6);
	if (!out->type || out->type > RECORD_TYPES_MAX || size < RECORD_HEAD_BYTES ||
	    size > end - pos || !size_fits(out->type, size))
		return false;
	out->data = file + pos + RECORD_HEAD_BYTES;
	out->len_bytes = size - RECORD_HEAD_BYTES;
	/* Two have more behind them than their size says. */
	if (out->type == RECORD_TRACING_DATA && out->len_bytes >= 4)
		more = load_u32(out->data);
	else if (out->type == RECORD_AUXTRACE && out->len_bytes >= 8)
		more = load_u64(out->data);
	if (more > end - pos - size)
		return false;
	out->next = pos + size + more;
	return true;
}

/* In the order in which a sample has them; those after PERIOD vary in size. */
static void place_in_sample(struct perf_attr *a)
{
	static const uint64_t order[] = {
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,	  PERF_SAMPLE_TID,
		PERF_SAMPLE_TIME,	PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
		PERF_SAMPLE_STREAM_ID,	PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD,
	};
	uint16_t at = 0;

	a->id = a->tid = a->time = a->cpu = PERF_NOWHERE;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (!(a->sample_type & order[i]))
			continue;
		if (order[i] == PERF_SAMPLE_IDENTIFIER)
			a->id = at;
		else if (order[i] == PERF_SAMPLE_ID && a->id == PERF_NOWHERE)
			a->id = at;
		else if (order[i] == PERF_SAMPLE_TID)
			a->tid = at;
		else if (order[i] == PERF_SAMPLE_TIME)
			a->time = at;
		else if (order[i] == PERF_SAMPLE_CPU)
			a->cpu = at;
		at += 8;
	}
	a->fixed = at;
}

/* The same for the end of other records, from the last one on. */
static void place_at_end(struct perf_attr *a)
{
	static const uint64_t order[] = {
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_CPU,  PERF_SAMPLE_STREAM_ID,
		PERF_SAMPLE_ID,		PERF_SAMPLE_TIME, PERF_SAMPLE_TID,
	};

	a->id_back = a->time_back = a->cpu_back = PERF_NOWHERE;
	a->trailer = 0;
	for (size_t i = 0; a->sample_id_all && i < ARRAY_SIZE(order); i++) {
		if (!(a->sample_type & order[i]))
			continue;
		a->trailer += 8;
		if (order[i] == PERF_SAMPLE_IDENTIFIER)
			a->id_back = a->trailer;
		else if (order[i] == PERF_SAMPLE_ID && a->id_back == PERF_NOWHERE)
			a->id_back = a->trailer;
		else if (order[i] == PERF_SAMPLE_TIME)
			a->time_back = a->trailer;
		else if (order[i] == PERF_SAMPLE_CPU)
			a->cpu_back = a->trailer;
	}
}

bool perf_attr_read(const uint8_t *data, uint64_t len_bytes, struct perf_attr *out)
{
	uint64_t flags;

	if (len_bytes < ATTR_BYTES_MIN)
		return false;
	flags = load_u64(data + ATTR_FLAGS);
	*out = (struct perf_attr){
		.type = load_u32(data + ATTR_TYPE),
		.config = load_u64(data + ATTR_CONFIG),
		.sample_type = load_u64(data + ATTR_SAMPLE_TYPE),
		.read_format = load_u64(data + ATTR_READ_FORMAT),
		.sample_id_all = flags & FLAG_SAMPLE_ID_ALL,
		.backward = flags & FLAG_WRITE_BACKWARD,
		.clockid = -1,
	};
	if ((flags & FLAG_USE_CLOCKID) && len_bytes >= ATTR_CLOCKID + 4)
		out->clockid = (int32_t)load_u32(data + ATTR_CLOCKID);
	place_in_sample(out);
	place_at_end(out);
	return true;
}

bool perf_attrs_sound(const struct perf_attrs *a)
{
	for (uint32_t i = 1; i < a->nr; i++) {
		const struct perf_attr *one = &a->list[i];

		/* Its number is needed to know what is where, so that has to stand at one place. */
		if (one->id != a->list[0].id || one->id_back != a->list[0].id_back)
			return false;
		/* Without a number, only the kernel's record in it tells what it is. */
		if (one->id == PERF_NOWHERE &&
		    (one->sample_type != a->list[0].sample_type || one->type != a->list[0].type))
			return false;
	}
	return a->nr > 0;
}

static const struct perf_id *find_id(const struct perf_attrs *a, uint64_t id)
{
	const uint32_t *index = map_get(&a->by_id, id);

	return index ? &a->ids[*index] : NULL;
}

static const struct perf_attr *attr_of_id(const struct perf_attrs *a, uint64_t id)
{
	const struct perf_id *found = find_id(a, id);

	return found ? &a->list[found->attr] : NULL;
}

const struct perf_attr *perf_sample_attr(const struct perf_attrs *a, const struct perf_record *r)
{
	const struct perf_attr *attr = &a->list[0];

	if (a->nr > 1 && attr->id != PERF_NOWHERE) {
		if (r->len_bytes < attr->id + 8u)
			return NULL;
		attr = attr_of_id(a, load_u64(r->data + attr->id));
	}
	return attr && r->len_bytes >= attr->fixed ? attr : NULL;
}

/* Moves *at behind @nr numbers of eight bytes, if there are so many. */
static bool skip_numbers(const struct perf_record *r, uint32_t *at, uint64_t nr)
{
	if (nr > (r->len_bytes - *at) / 8)
		return false;
	*at += (uint32_t)nr * 8;
	return true;
}

/* The count of a list, at *at; false when so many cannot be there. */
static bool read_count(const struct perf_record *r, uint32_t *at, uint64_t *nr)
{
	if (r->len_bytes - *at < 8)
		return false;
	*nr = load_u64(r->data + *at);
	*at += 8;
	return *nr <= r->len_bytes;
}

static bool skip_callchain(const struct perf_record *r, uint32_t *at)
{
	uint64_t nr;

	return read_count(r, at, &nr) && skip_numbers(r, at, nr);
}

static bool skip_values(const struct perf_attr *a, const struct perf_record *r, uint32_t *at)
{
	uint64_t f = a->read_format;
	uint64_t times = (f & PERF_FORMAT_TOTAL_TIME_ENABLED ? 1 : 0) +
			 (f & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1 : 0);
	uint64_t each = 1 + (f & PERF_FORMAT_ID ? 1 : 0) + (f & 1u << 4 /* LOST */ ? 1 : 0);
	uint64_t nr;

	if (!(f & PERF_FORMAT_GROUP))
		return skip_numbers(r, at, each + times);
	return read_count(r, at, &nr) && skip_numbers(r, at, nr * each + times);
}

bool perf_sample_raw(const struct perf_attr *a, const struct perf_record *r, const uint8_t **raw,
		     uint32_t *len_bytes)
{
	uint32_t at = a->fixed;

	if (!(a->sample_type & PERF_SAMPLE_RAW))
		return false;
	if ((a->sample_type & PERF_SAMPLE_READ) && !skip_values(a, r, &at))
		return false;
	if ((a->sample_type & PERF_SAMPLE_CALLCHAIN) && !skip_callchain(r, &at))
		return false;
	if (r->len_bytes - at < 4)
		return false;
	*len_bytes = load_u32(r->data + at);
	*raw = r->data + at + 4;
	return *len_bytes <= r->len_bytes - at - 4;
}

/* What may stand behind a tracepoint's own record: all later parts but the number, which is in
 * front. */
#define PARTS_BEHIND_RAW (~(uint64_t)(PERF_SAMPLE_RAW * 2 - 1) & ~(uint64_t)PERF_SAMPLE_IDENTIFIER)

/* A tracepoint's number stands in its record, too, and with that the sample ends. */
static bool has_own_record(const struct perf_attr *attr, const struct perf_record *r)
{
	const uint8_t *raw;
	uint32_t len;

	if (!perf_sample_raw(attr, r, &raw, &len) || len < 2 || load_u16(raw) != attr->config)
		return false;
	return (attr->sample_type & PARTS_BEHIND_RAW) || raw + len == r->data + r->len_bytes;
}

static bool can_be_its_own(const struct perf_attrs *a, const struct perf_attr *attr,
			   const struct perf_record *r)
{
	return attr->type != PERF_TYPE_TRACEPOINT || (a->nr > 1 && attr->id == PERF_NOWHERE) ||
	       has_own_record(attr, r);
}

bool perf_record_was_sample(const struct perf_attrs *a, const struct perf_record *r)
{
	const struct perf_attr *attr = perf_sample_attr(a, r);

	return attr && r->type != RECORD_SAMPLE && attr->type == PERF_TYPE_TRACEPOINT &&
	       has_own_record(attr, r);
}

const struct perf_id *perf_sample_id(const struct perf_attrs *a, const struct perf_record *r,
				     uint32_t *cpu)
{
	const struct perf_attr *attr = perf_sample_attr(a, r);

	if (!attr || attr->type != PERF_TYPE_TRACEPOINT || attr->id == PERF_NOWHERE ||
	    attr->cpu == PERF_NOWHERE)
		return NULL;
	*cpu = load_u32(r->data + attr->cpu);
	return find_id(a, load_u64(r->data + attr->id));
}

/* Its number is another CPU's: one of both is damaged. */
static bool is_of_other_cpu(const struct perf_attrs *a, const struct perf_record *r)
{
	uint32_t cpu;
	const struct perf_id *id = a->nr_columns ? perf_sample_id(a, r, &cpu) : NULL;
	const struct perf_column *c;

	if (!id || id->column >= a->nr_columns)
		return false;
	c = &a->columns[id->column];
	return c->cpu != cpu && perf_column_is_sure(c);
}

enum perf_sample_state perf_sample_place(const struct perf_attrs *a, const struct perf_record *r,
					 struct perf_place *out)
{
	const struct perf_attr *attr = perf_sample_attr(a, r);

	if (!attr)
		return PERF_SAMPLE_DAMAGED;
	if (attr->time == PERF_NOWHERE || attr->cpu == PERF_NOWHERE)
		return PERF_SAMPLE_UNPLACED;
	out->time = load_u64(r->data + attr->time);
	out->cpu = load_u32(r->data + attr->cpu);
	return out->time && can_be_its_own(a, attr, r) && !is_of_other_cpu(a, r)
		       ? PERF_SAMPLE_SOUND
		       : PERF_SAMPLE_DAMAGED;
}

bool perf_record_place(const struct perf_attrs *a, const struct perf_record *r,
		       struct perf_place *out, uint32_t *trailer)
{
	const struct perf_attr *attr = &a->list[0];
	const uint8_t *end = r->data + r->len_bytes;

	/* perf's own have no number: they are made as those of the first event. */
	if (attr->id_back != PERF_NOWHERE && r->len_bytes >= attr->id_back) {
		const struct perf_attr *found = attr_of_id(a, load_u64(end - attr->id_back));

		attr = found ? found : attr;
	}
	*trailer = attr->trailer;
	if (r->len_bytes < attr->trailer || attr->time_back == PERF_NOWHERE ||
	    attr->cpu_back == PERF_NOWHERE)
		return false;
	out->time = load_u64(end - attr->time_back);
	out->cpu = load_u32(end - attr->cpu_back);
	return true;
}
