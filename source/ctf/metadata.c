/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a metadata file to text: CTF's metadata may come in packets, each with a header:
 *
 *	offset size
 *	     0    4 magic 0x75d11d57, in the byte order of the trace
 *	     4   16 uuid of the trace
 *	    20    4 checksum (0: none)
 *	    24    4 content size in bits, header included
 *	    28    4 packet size in bits
 *	    32    1 compression scheme (0: none)
 *	    33    1 encryption scheme (0: none)
 *	    34    1 checksum scheme (0: none)
 *	    35    1 major version
 *	    36    1 minor version
 *	    37      text
 */
#include "source/ctf/class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_MAGIC 0x75d11d57u
#define PACKET_HEADER_BYTES 37

static uint32_t load32(const uint8_t *p, bool big)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return big ? __builtin_bswap32(v) : v;
}

static bool is_packetized(const uint8_t *data, size_t len, bool *big)
{
	if (len < PACKET_HEADER_BYTES)
		return false;
	*big = load32(data, true) == PACKET_MAGIC;
	return *big || load32(data, false) == PACKET_MAGIC;
}

/* Checks one packet's header; returns the number of bytes of its text, or -errno. */
static ssize_t packet_text_len(const uint8_t *p, size_t left, bool big, uint64_t offset,
			       struct error *err)
{
	uint32_t content = load32(p + 24, big) / 8;
	uint32_t size = load32(p + 28, big) / 8;

	if (load32(p, big) != PACKET_MAGIC)
		return fail(err, -EINVAL, "no metadata packet begins at offset %llu",
			    (unsigned long long)offset);
	if (p[32] || p[33])
		return fail(err, -ENOTSUP, "metadata packet at offset %llu is %s",
			    (unsigned long long)offset, p[32] ? "compressed" : "encrypted");
	if (content >= PACKET_HEADER_BYTES && content <= size && size > left)
		return fail(err, -EINVAL,
			    "metadata ends within its packet at offset %llu (%zu of %u bytes)",
			    (unsigned long long)offset, left, size);
	if (content < PACKET_HEADER_BYTES || content > size)
		return fail(err, -EINVAL,
			    "metadata packet at offset %llu has impossible sizes (%u of %u bytes)",
			    (unsigned long long)offset, content, size);
	return (ssize_t)(content - PACKET_HEADER_BYTES);
}

static int unpack(struct ctf_metadata *m, const uint8_t *data, size_t len, bool big, char *text,
		  size_t *text_len, struct problems *problems, struct error *err)
{
	size_t at = 0;

	memcpy(m->uuid, data + 4, sizeof(m->uuid));
	m->has_uuid = true;
	m->order = big ? CTF_ORDER_BE : CTF_ORDER_LE;
	while (len - at >= PACKET_HEADER_BYTES) {
		ssize_t n = packet_text_len(data + at, len - at, big, at, err);

		if (n < 0 && !*text_len)
			return (int)n;
		if (n < 0) {
			problems_add(problems, "%s; the metadata after it is not used", err->text);
			return 0;
		}
		memcpy(text + *text_len, data + at + PACKET_HEADER_BYTES, (size_t)n);
		*text_len += (size_t)n;
		at += load32(data + at + 28, big) / 8;
	}
	return 0;
}

static bool is_json(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && strchr(" \t\r\n\x1e", text[i]))
		i++;
	return i < len && text[i] == '{';
}

int ctf_metadata_parse(struct ctf_metadata *m, const uint8_t *data, size_t len_bytes,
		       struct problems *problems, struct error *err)
{
	size_t text_len = 0;
	char *text;
	int ret = 0;
	bool big;

	if (!len_bytes)
		return fail(err, -EINVAL, "the metadata is empty");
	if (len_bytes > CTF_METADATA_LIMIT)
		return fail(err, -EFBIG, "the metadata is larger than %u bytes",
			    CTF_METADATA_LIMIT);
	text = malloc(len_bytes + 1);
	if (!text)
		return fail(err, -ENOMEM, "out of memory reading the metadata");
	m->arena.limit_bytes = CTF_ARENA_BYTES(len_bytes);
	if (is_packetized(data, len_bytes, &big)) {
		ret = unpack(m, data, len_bytes, big, text, &text_len, problems, err);
	} else {
		memcpy(text, data, len_bytes);
		text_len = len_bytes;
	}
	text[text_len] = '\0';
	if (!ret && is_json(text, text_len))
		ret = ctf_json_parse(m, text, text_len, problems, err);
	else if (!ret)
		ret = ctf_tsdl_parse(m, text, text_len, problems, err);
	if (!ret)
		ret = ctf_metadata_finish(m, problems, err);
	free(text);
	return ret;
}
