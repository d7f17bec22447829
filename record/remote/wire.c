/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remote/wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/*
 * greeting   0  8  "SONDEcal" from the caller, "SONDEans" from the agent
 *            8  2  version
 *           10  2  flags
 *           12  4  0
 *           16 16  the caller's nonce (the agent gives it back)
 *           32 16  the agent's nonce (only in its answer)
 *
 * header     0  2  0x5e0d
 *            2  1  type
 *            3  1  kind of part
 *            4  2  machine
 *            6  2  0
 *            8  4  number of the part
 *           12  4  bytes of payload
 */
#define MAGIC_BYTES 8
#define HEADER_MAGIC 0x5e0d

static const char call_magic[MAGIC_BYTES] = "SONDEcal";
static const char answer_magic[MAGIC_BYTES] = "SONDEans";

static void put_u16(uint8_t *out, uint16_t value)
{
	value = htole16(value);
	memcpy(out, &value, sizeof(value));
}

static void put_u32(uint8_t *out, uint32_t value)
{
	value = htole32(value);
	memcpy(out, &value, sizeof(value));
}

static uint16_t get_u16(const uint8_t *in)
{
	uint16_t value;

	memcpy(&value, in, sizeof(value));
	return le16toh(value);
}

static uint32_t get_u32(const uint8_t *in)
{
	uint32_t value;

	memcpy(&value, in, sizeof(value));
	return le32toh(value);
}

static void put_greeting(uint8_t *out, const char *magic, const struct wire_greeting *g)
{
	memcpy(out, magic, MAGIC_BYTES);
	put_u16(out + 8, g->version);
	put_u16(out + 10, g->flags);
	put_u32(out + 12, 0);
	memcpy(out + 16, g->caller_nonce, WIRE_NONCE_BYTES);
}

void wire_put_call(uint8_t out[static WIRE_CALL_BYTES], const struct wire_greeting *g)
{
	put_greeting(out, call_magic, g);
}

void wire_put_answer(uint8_t out[static WIRE_ANSWER_BYTES], const struct wire_greeting *g)
{
	put_greeting(out, answer_magic, g);
	memcpy(out + 32, g->agent_nonce, WIRE_NONCE_BYTES);
}

void wire_put_header(uint8_t out[static WIRE_HEADER_BYTES], const struct wire_header *h)
{
	put_u16(out, HEADER_MAGIC);
	out[2] = h->type;
	out[3] = h->kind;
	put_u16(out + 4, h->machine);
	put_u16(out + 6, 0);
	put_u32(out + 8, h->number);
	put_u32(out + 12, h->len_bytes);
}

const char *wire_type_name(unsigned type)
{
	static const char *const names[] = {
		[WIRE_AUTH] = "AUTH",	    [WIRE_START] = "START",	[WIRE_STOP] = "STOP",
		[WIRE_NOTE] = "NOTE",	    [WIRE_PING] = "PING",	[WIRE_HELLO] = "HELLO",
		[WIRE_MACHINE] = "MACHINE", [WIRE_STARTED] = "STARTED", [WIRE_PART] = "PART",
		[WIRE_FILE] = "FILE",	    [WIRE_DONE] = "DONE",	[WIRE_PONG] = "PONG",
		[WIRE_ERROR] = "ERROR",	    [WIRE_NOTICE] = "NOTICE",
	};

	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "unknown";
}

void wire_parser_init(struct wire_parser *p, enum wire_side from, const uint8_t *nonce,
		      const struct wire_handler *handler, void *data)
{
	memset(p, 0, offsetof(struct wire_parser, buf));
	p->from = from;
	p->handler = handler;
	p->data = data;
	if (nonce)
		memcpy(p->nonce, nonce, WIRE_NONCE_BYTES);
}

/* ---- greeting ------------------------------------------------------------------------------ */

static uint32_t greeting_bytes(const struct wire_parser *p)
{
	return p->from == WIRE_FROM_CALLER ? WIRE_CALL_BYTES : WIRE_ANSWER_BYTES;
}

/* Is what is in the buffer the begin of the greeting that is waited for? */
static bool may_be_greeting(const struct wire_parser *p)
{
	const char *magic = p->from == WIRE_FROM_CALLER ? call_magic : answer_magic;
	uint32_t nonce_have = p->have > 16 ? p->have - 16 : 0;

	if (memcmp(p->buf, magic, p->have < MAGIC_BYTES ? p->have : MAGIC_BYTES))
		return false;
	if (p->from == WIRE_FROM_CALLER)
		return true;
	return !memcmp(p->buf + 16, p->nonce,
		       nonce_have < WIRE_NONCE_BYTES ? nonce_have : WIRE_NONCE_BYTES);
}

static int take_greeting(struct wire_parser *p, struct error *err)
{
	struct wire_greeting g = {
		.version = get_u16(p->buf + 8),
		.flags = get_u16(p->buf + 10),
	};

	memcpy(g.caller_nonce, p->buf + 16, WIRE_NONCE_BYTES);
	if (p->from == WIRE_FROM_AGENT)
		memcpy(g.agent_nonce, p->buf + 32, WIRE_NONCE_BYTES);
	p->have = 0;
	p->greeted = true;
	return p->handler->greeting(p->data, &g, err);
}

static int skip(struct wire_parser *p, size_t len_bytes, struct error *err)
{
	p->skipped_bytes += len_bytes;
	if (p->skipped_bytes > WIRE_STALE_MAX)
		return fail(err, -EPROTO, "what answers is not a sonde agent");
	return 0;
}

/* How many bytes cannot be the begin of a greeting. */
static size_t count_strange(const struct wire_parser *p, const uint8_t *bytes, size_t len)
{
	const uint8_t *first = p->have ? bytes : memchr(bytes, call_magic[0], len);

	return first ? (size_t)(first - bytes) : len;
}

/* Takes bytes until the greeting is whole; returns how many it took, or a negative errno. */
static ssize_t feed_greeting(struct wire_parser *p, const uint8_t *bytes, size_t len,
			     struct error *err)
{
	size_t used = count_strange(p, bytes, len);
	int ret = used ? skip(p, used, err) : 0;

	if (ret || used == len)
		return ret ? ret : (ssize_t)used;
	p->buf[p->have++] = bytes[used++];
	while (p->have && !may_be_greeting(p)) {
		memmove(p->buf, p->buf + 1, --p->have);
		ret = skip(p, 1, err);
		if (ret)
			return ret;
	}
	if (p->have == greeting_bytes(p))
		ret = take_greeting(p, err);
	return ret ? ret : (ssize_t)used;
}

/* ---- frames -------------------------------------------------------------------------------- */

static bool right_type(enum wire_side from, unsigned type)
{
	if (from == WIRE_FROM_CALLER)
		return type >= WIRE_AUTH && type <= WIRE_PING;
	return type >= WIRE_HELLO && type <= WIRE_NOTICE;
}

static int check_header(const struct wire_parser *p, const struct wire_header *h, struct error *err)
{
	bool is_part = h->type == WIRE_PART;
	uint32_t most = is_part ? WIRE_PART_MAX : WIRE_CONTROL_MAX;

	if (!right_type(p->from, h->type))
		return fail(err, -EPROTO, "it sent a frame of type %u, which there is not",
			    h->type);
	if (h->len_bytes > most)
		return fail(err, -EPROTO, "it sent a %s frame of %u bytes; %u are the most",
			    wire_type_name(h->type), h->len_bytes, most);
	if (h->machine >= WIRE_MACHINES_MAX || h->number > WIRE_NUMBER_MAX ||
	    (is_part && h->kind >= SINK_KINDS))
		return fail(err, -EPROTO, "it sent a %s frame for machine %u, part %u of kind %u",
			    wire_type_name(h->type), h->machine, h->number, h->kind);
	return 0;
}

static int take_header(struct wire_parser *p, struct error *err)
{
	struct wire_header *h = &p->header;

	/* A caller that had no answer yet calls again; and a virtio port does not tell when
	 * another caller has taken the place of one that died. */
	if (p->from == WIRE_FROM_CALLER && !memcmp(p->buf, call_magic, MAGIC_BYTES)) {
		p->greeted = false;
		return 0;
	}
	if (get_u16(p->buf) != HEADER_MAGIC)
		return fail(err, -EPROTO, "it sent bytes that are no frame");
	*h = (struct wire_header){
		.type = p->buf[2],
		.kind = p->buf[3],
		.machine = get_u16(p->buf + 4),
		.number = get_u32(p->buf + 8),
		.len_bytes = get_u32(p->buf + 12),
	};
	p->have = 0;
	p->have_header = true;
	p->part_left = h->type == WIRE_PART ? h->len_bytes : 0;
	return check_header(p, h, err);
}

static size_t fill(struct wire_parser *p, uint32_t wanted, const uint8_t *bytes, size_t len)
{
	size_t take = wanted - p->have < len ? wanted - p->have : len;

	memcpy(p->buf + p->have, bytes, take);
	p->have += (uint32_t)take;
	return take;
}

static ssize_t feed_part(struct wire_parser *p, const uint8_t *bytes, size_t len, struct error *err)
{
	size_t take = p->part_left < len ? p->part_left : len;
	int ret = take ? p->handler->part(p->data, &p->header, bytes, take, err) : 0;

	p->part_left -= (uint32_t)take;
	p->have_header = p->part_left > 0;
	return ret ? ret : (ssize_t)take;
}

static ssize_t feed_frame(struct wire_parser *p, const uint8_t *bytes, size_t len,
			  struct error *err)
{
	size_t used = 0;
	int ret = 0;

	if (!p->have_header) {
		used = fill(p, WIRE_HEADER_BYTES, bytes, len);
		if (p->have == WIRE_HEADER_BYTES)
			ret = take_header(p, err);
		if (ret || !p->have_header)
			return ret ? ret : (ssize_t)used;
	}
	if (p->header.type == WIRE_PART) {
		ssize_t part = feed_part(p, bytes + used, len - used, err);

		return part < 0 ? part : (ssize_t)used + part;
	}
	used += fill(p, p->header.len_bytes, bytes + used, len - used);
	if (p->have == p->header.len_bytes) {
		p->have = 0;
		p->have_header = false;
		ret = p->handler->frame(p->data, &p->header, p->buf, err);
	}
	return ret ? ret : (ssize_t)used;
}

int wire_parse(struct wire_parser *p, const uint8_t *bytes, size_t len_bytes, struct error *err)
{
	while (len_bytes) {
		ssize_t used = p->greeted ? feed_frame(p, bytes, len_bytes, err)
					  : feed_greeting(p, bytes, len_bytes, err);

		if (used < 0)
			return (int)used;
		bytes += used;
		len_bytes -= (size_t)used;
	}
	return 0;
}
