/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzz target: a CTF trace of one stream, alone and together with a part that has the begin of the
 * same stream.  The input is
 *
 *	offset size
 *	     0    4 length of the metadata, M, little-endian
 *	     4    4 length of LTTng's packet index, I
 *	     8    M metadata, then I bytes of index, then the stream file
 *
 * All events are decoded, whole and packet by packet, with plans and with the interpreter alone,
 * which must agree, printed, and looked at by field.
 */
#include "source/ctf/reader.h"
#include "tests/fuzz/fake_mapfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVENTS_MAX 5000
#define PRINTED_MAX 300

static struct fake_file metadata, packet_index, stream;

/* The reader lists directories; what their files hold comes from above. */
static char dir[64], part[80];

static struct fake_file fake_file_at(const char *path)
{
	if (strstr(path, "/metadata"))
		return metadata;
	if (!strncmp(path, part, strlen(part)))
		return strstr(path, ".idx") ? (struct fake_file){stream.data, 0}
					    : (struct fake_file){stream.data, stream.len / 3 * 2};
	return strstr(path, ".idx") ? packet_index : stream;
}

static void remove_dir(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command))
		fprintf(stderr, "cannot remove %s\n", dir);
}

static void touch(const char *name)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		abort();
	fclose(f);
}

static void make_dir(void)
{
	char path[100];

	strcpy(dir, "/tmp/sonde-fuzz-ctf-XXXXXX");
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/index", dir);
	if (mkdir(path, 0700))
		abort();
	snprintf(part, sizeof(part), "%s/part", dir);
	if (mkdir(part, 0700))
		abort();
	touch("metadata");
	touch("stream_0");
	touch("part/metadata");
	touch("part/stream_0");
	touch("index/stream_0.idx");
	atexit(remove_dir);
}

static volatile uint64_t sink;

static void look(const struct stream *s, const struct event *e)
{
	struct field_value v;
	char text[300];

	trace_event_print(s, e, text, sizeof(text));
	sink += strlen(text);
	if (!trace_event_field(s, e, "next_comm", &v) && v.cls == FIELD_STRING && v.len)
		sink += (uint64_t)v.text[v.len - 1];
	if (e->kind == EV_SCHED_SWITCH && e->arg[3])
		sink += strnlen(event_str(e, 3), 16);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x9e3779b97f4a7c15ull;
}

/* A loss has the thread of the record before it, also where that is in the packet before. */
static int32_t own_tid(const struct event *e, bool alone)
{
	return alone && e->kind == EV_LOST ? -1 : e->tid;
}

/* Decodes packets [first, first + nr), at most EVENTS_MAX events; a hash of what they say @alone is
 * added to *h. */
static unsigned walk(struct stream *s, uint32_t first, uint32_t nr, unsigned room, bool print,
		     bool alone, uint64_t *h)
{
	struct event events[64];
	struct cursor c;
	unsigned total = 0, n;
	uint64_t last = 0;

	if (cursor_init(&c, s, first, nr, 0, NULL))
		abort();
	while (total < EVENTS_MAX && (n = cursor_next(&c, events, room))) {
		for (unsigned i = 0; i < n; i++) {
			const struct event *e = &events[i];

			if (e->time.v < last || e->kind >= EV_NR_KINDS ||
			    e->type >= s->trace->nr_types)
				abort();
			last = e->time.v;
			*h = mix(*h, e->time.v);
			*h = mix(*h, e->kind | (uint64_t)e->type << 16 |
					     (uint64_t)own_tid(e, alone) << 32);
			for (unsigned k = 0; k < EVENT_ARGS; k++)
				*h = mix(*h, (uint64_t)e->arg[k]);
			if (print && total + i < PRINTED_MAX)
				look(s, e);
		}
		total += n;
	}
	cursor_release(&c);
	return total;
}

static void read_stream(struct stream *s)
{
	struct ctf_stream_plan *plan = (void *)((struct ctf_stream *)s->reader)->plan;
	uint64_t whole = 0, together = 0, pieces = 0, interpreted = 0;
	unsigned nr = walk(s, 0, s->nr_packets, 64, true, false, &whole);

	if (nr >= EVENTS_MAX || s->nr_packets > 64)
		return;
	for (uint32_t p = 0; p < s->nr_packets; p++)
		walk(s, p, 1, 3, false, true, &pieces);
	walk(s, 0, s->nr_packets, 64, false, true, &together);
	ctf_plan_use_walk(plan);
	walk(s, 0, s->nr_packets, 64, false, false, &interpreted);
	if (pieces != together || interpreted != whole)
		abort();
}

static void read_trace(const char *const *paths, unsigned nr)
{
	struct trace *t = calloc(1, sizeof(*t));
	struct error err = {0};

	if (!t || trace_set_paths(t, paths, nr))
		abort();
	t->ops = &ctf_trace_ops;
	if (t->ops->open(t, &err) && !err.text[0])
		abort();
	for (unsigned i = 0; !err.code && i < t->nr_streams; i++)
		read_stream(&t->streams[i]);
	if (!err.code && !t->ops->covers(t, t))
		abort();
	trace_release(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	uint32_t len[2];

	if (!dir[0])
		make_dir();
	if (len_bytes < sizeof(len))
		return 0;
	memcpy(len, data, sizeof(len));
	data += sizeof(len);
	len_bytes -= sizeof(len);
	if (len[0] > len_bytes || len[1] > len_bytes - len[0])
		return 0;
	metadata = (struct fake_file){data, len[0]};
	packet_index = (struct fake_file){data + len[0], len[1]};
	stream = (struct fake_file){data + len[0] + len[1], len_bytes - len[0] - len[1]};

	read_trace((const char *[]){dir}, 1);
	read_trace((const char *[]){dir, part}, 2);
	return 0;
}
