/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remote/wire_fields.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#define FIELD_HEAD_BYTES 4

struct field {
	uint16_t tag;
	uint16_t offset;
	uint16_t text_bytes; /* of a text's buffer; 0: a number */
};

#define NUMBER(tag, type, member)                                                                  \
	{                                                                                          \
		tag, offsetof(struct type, member), 0                                              \
	}
#define TEXT(tag, type, member)                                                                    \
	{                                                                                          \
		tag, offsetof(struct type, member), sizeof(((struct type *)NULL)->member)          \
	}

static const struct field identity_fields[] = {
	TEXT(1, wire_identity, hostname), TEXT(2, wire_identity, product_uuid),
	TEXT(3, wire_identity, boot_id),  TEXT(4, wire_identity, release),
	TEXT(5, wire_identity, sonde),	  NUMBER(6, wire_identity, cpus),
	TEXT(7, wire_identity, name),	  NUMBER(8, wire_identity, parent),
	NUMBER(9, wire_identity, vm_pid), TEXT(10, wire_identity, no_agent),
	TEXT(12, wire_identity, tracer),  NUMBER(13, wire_identity, content),
};

static const struct field request_fields[] = {
	NUMBER(1, wire_request, tracer),      NUMBER(2, wire_request, purpose),
	NUMBER(3, wire_request, buffer_kb),   TEXT(4, wire_request, clock),
	TEXT(5, wire_request, events),	      NUMBER(6, wire_request, depth),
	NUMBER(7, wire_request, limit_bytes), NUMBER(8, wire_request, timeout_ms),
	NUMBER(9, wire_request, rings),
};

static const struct field cost_fields[] = {
	NUMBER(1, wire_cost, cost.cpu_ns),	NUMBER(2, wire_cost, cost.bytes),
	NUMBER(3, wire_cost, cost.events_lost), NUMBER(4, wire_cost, cost.state_ns),
	TEXT(5, wire_cost, cost.clock),		TEXT(6, wire_cost, cost.clock_reason),
	NUMBER(7, wire_cost, complete),		TEXT(8, wire_cost, why),
};

static const struct field text_fields[] = {TEXT(1, wire_text, text)};
static const struct field limit_fields[] = {NUMBER(1, wire_limit, stop_ms)};
static const struct field life_fields[] = {
	NUMBER(1, wire_life, number),
	NUMBER(2, wire_life, events_lost),
	NUMBER(3, wire_life, bytes),
};

#define MESSAGE(fields, type)                                                                      \
	{                                                                                          \
		fields, ARRAY_SIZE(fields), sizeof(struct type)                                    \
	}

static const struct message {
	const struct field *fields;
	unsigned nr;
	size_t struct_bytes;
} messages[WIRE_MESSAGES] = {
	[WIRE_IDENTITY] = MESSAGE(identity_fields, wire_identity),
	[WIRE_REQUEST] = MESSAGE(request_fields, wire_request),
	[WIRE_COST] = MESSAGE(cost_fields, wire_cost),
	[WIRE_TEXT] = MESSAGE(text_fields, wire_text),
	[WIRE_LIMIT] = MESSAGE(limit_fields, wire_limit),
	[WIRE_LIFE] = MESSAGE(life_fields, wire_life),
};

static void put_u16(uint8_t *out, size_t value)
{
	uint16_t little = htole16((uint16_t)value);

	memcpy(out, &little, sizeof(little));
}

static unsigned get_u16(const uint8_t *in)
{
	uint16_t value;

	memcpy(&value, in, sizeof(value));
	return le16toh(value);
}

/* The value of a field as it stands on the wire; @number holds it when it is a number. */
static const void *wire_value(const struct field *f, const void *value, uint64_t *number,
			      size_t *len_bytes)
{
	const char *at = (const char *)value + f->offset;

	if (f->text_bytes) {
		*len_bytes = strnlen(at, f->text_bytes - 1u);
		return at;
	}
	memcpy(number, at, sizeof(*number));
	*len_bytes = *number ? sizeof(*number) : 0;
	*number = htole64(*number);
	return number;
}

size_t wire_pack(enum wire_message m, const void *value, uint8_t *out, size_t room)
{
	const struct message *message = &messages[m];
	size_t used = 0;

	for (unsigned i = 0; i < message->nr; i++) {
		const struct field *f = &message->fields[i];
		uint64_t number;
		size_t len;
		const void *bytes = wire_value(f, value, &number, &len);

		if (!len)
			continue;
		assert(used + FIELD_HEAD_BYTES + len <= room);
		put_u16(out + used, f->tag);
		put_u16(out + used + 2, len);
		memcpy(out + used + FIELD_HEAD_BYTES, bytes, len);
		used += FIELD_HEAD_BYTES + len;
	}
	return used;
}

static const struct field *find_field(const struct message *message, unsigned tag)
{
	for (unsigned i = 0; i < message->nr; i++) {
		if (message->fields[i].tag == tag)
			return &message->fields[i];
	}
	return NULL;
}

static int take_field(const struct field *f, const uint8_t *bytes, size_t len, char *at,
		      struct error *err)
{
	uint64_t number;

	if (f->text_bytes) {
		size_t most = f->text_bytes - 1u;

		len = strnlen((const char *)bytes, len < most ? len : most);
		memset(at, 0, f->text_bytes);
		memcpy(at, bytes, len);
		return 0;
	}
	if (len != sizeof(number))
		return fail(err, -EPROTO, "it sent a number of %zu bytes (tag %u)", len, f->tag);
	memcpy(&number, bytes, sizeof(number));
	number = le64toh(number);
	memcpy(at, &number, sizeof(number));
	return 0;
}

int wire_unpack(enum wire_message m, const uint8_t *payload, size_t len_bytes, void *value,
		struct error *err)
{
	const struct message *message = &messages[m];

	memset(value, 0, message->struct_bytes);
	while (len_bytes) {
		const struct field *f;
		unsigned len;
		int ret;

		if (len_bytes < FIELD_HEAD_BYTES)
			return fail(err, -EPROTO, "it sent a message that ends inside a field");
		len = get_u16(payload + 2);
		if (len > len_bytes - FIELD_HEAD_BYTES)
			return fail(err, -EPROTO, "it sent a field of %u bytes where %zu are left",
				    len, len_bytes - FIELD_HEAD_BYTES);
		f = find_field(message, get_u16(payload));
		ret = f ? take_field(f, payload + FIELD_HEAD_BYTES, len, (char *)value + f->offset,
				     err)
			: 0;
		if (ret)
			return ret;
		payload += FIELD_HEAD_BYTES + len;
		len_bytes -= FIELD_HEAD_BYTES + len;
	}
	return 0;
}
