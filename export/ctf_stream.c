/* SPDX-License-Identifier: Apache-2.0 */
#include "export/ctf_stream.h"
#include "report/safe.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#define PACKET_FULL (32 * 1024)
#define TEXT_MAX 400

/* packet.header: magic, stream_id; packet.context: timestamp_begin, timestamp_end, content_size,
 * packet_size, cpu_id. */
#define AT_BEGIN 8
#define AT_END 16
#define AT_CONTENT 24
#define AT_SIZE 32

static void put_at(struct bytes *b, size_t at, uint64_t value)
{
	value = htole64(value);
	memcpy(b->data + at, &value, sizeof(value));
}

static void begin_packet(struct ctf_stream *s, uint64_t t)
{
	struct bytes *b = &s->packet;

	bytes_clear(b);
	bytes_put_u32(b, CTF_MAGIC);
	bytes_put_u32(b, s->class);
	for (unsigned i = 0; i < 4; i++)
		bytes_put_u64(b, 0);
	if (s->class == CTF_CPU || s->class == CTF_VCPU)
		bytes_put_u32(b, s->cpu);
	s->begin = s->last = t;
}

static int append(const struct ctf_stream *s)
{
	char path[PATH_MAX];
	FILE *out;
	int ret = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", s->dir, s->name) >= sizeof(path))
		return -ENAMETOOLONG;
	out = fopen(path, s->there ? "ae" : "we");
	if (!out)
		return -errno;
	if (fwrite(s->packet.data, 1, s->packet.len_bytes, out) != s->packet.len_bytes)
		ret = errno ? -errno : -EIO;
	if (fclose(out) && !ret)
		ret = -errno;
	return ret;
}

static void end_packet(struct ctf_stream *s, uint64_t end)
{
	struct bytes *b = &s->packet;

	if (b->failed && !s->ret)
		s->ret = -ENOMEM;
	if (s->ret)
		return;
	put_at(b, AT_BEGIN, s->begin);
	put_at(b, AT_END, end);
	put_at(b, AT_CONTENT, b->len_bytes * 8);
	put_at(b, AT_SIZE, b->len_bytes * 8);
	s->ret = append(s);
	s->there = true;
	b->len_bytes = 0;
}

void ctf_event(struct ctf_stream *s, ns_t t, enum ctf_event id)
{
	uint64_t past = (uint64_t)(t - s->origin);

	if (s->packet.len_bytes > PACKET_FULL)
		end_packet(s, s->last);
	if (!s->packet.len_bytes)
		begin_packet(s, past);
	s->last = past;
	ctf_u8(s, (uint8_t)id);
	bytes_put_u64(&s->packet, past);
}

void ctf_u8(struct ctf_stream *s, uint8_t value)
{
	bytes_put_u8(&s->packet, value);
}

void ctf_i32(struct ctf_stream *s, int32_t value)
{
	bytes_put_u32(&s->packet, (uint32_t)value);
}

void ctf_i64(struct ctf_stream *s, int64_t value)
{
	bytes_put_u64(&s->packet, (uint64_t)value);
}

void ctf_text(struct ctf_stream *s, const char *text)
{
	char safe[TEXT_MAX];

	safe_text(safe, sizeof(safe), text);
	bytes_put(&s->packet, safe, strlen(safe) + 1);
}

int ctf_close(struct ctf_stream *s, ns_t end)
{
	if (s->packet.len_bytes)
		end_packet(s, (uint64_t)(end - s->origin));
	bytes_release(&s->packet);
	return s->ret;
}
