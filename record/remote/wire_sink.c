/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remote/wire_sink.h"

#include <errno.h>
#include <stdio.h>

/* Frames no larger than this: what other threads have to say comes between them. */
#define PIECE_BYTES (256u << 10)

static struct wire_sink *of(struct sink *s)
{
	return (struct wire_sink *)((char *)s - offsetof(struct wire_sink, sink));
}

static int sink_write(struct sink *base, enum sink_part kind, unsigned number, const void *data,
		      size_t len_bytes, struct error *err)
{
	struct wire_sink *s = of(base);
	const char *at = data;

	while (len_bytes) {
		size_t piece = len_bytes < PIECE_BYTES ? len_bytes : PIECE_BYTES;
		struct wire_header h = {
			.type = WIRE_PART,
			.kind = (uint8_t)kind,
			.machine = s->machine,
			.number = number,
			.len_bytes = (uint32_t)piece,
		};
		int ret = wire_send(s->sender, &h, at, err);

		if (ret)
			return ret;
		at += piece;
		len_bytes -= piece;
	}
	return 0;
}

static int sink_file(struct sink *base, unsigned number, const char *name, struct error *err)
{
	struct wire_sink *s = of(base);
	uint8_t payload[WIRE_CONTROL_MAX];
	struct wire_header h = {.type = WIRE_FILE, .machine = s->machine, .number = number};
	struct wire_text text;

	if (snprintf(text.text, sizeof(text.text), "%s", name) >= (int)sizeof(text.text))
		return fail(err, -ENAMETOOLONG, "the name of %s is too long for the link", name);
	h.len_bytes = (uint32_t)wire_pack(WIRE_TEXT, &text, payload, sizeof(payload));
	return wire_send(s->sender, &h, payload, err);
}

void wire_sink_init(struct wire_sink *s, struct wire_sender *sender, uint16_t machine)
{
	static const struct sink_ops ops = {.write = sink_write, .file = sink_file};

	*s = (struct wire_sink){.sink.ops = &ops, .sender = sender, .machine = machine};
}
