/* SPDX-License-Identifier: Apache-2.0 */
/* What exports are made of: protobuf's bytes, packets of CTF, the way through a history's time, and
 * what is drawn of the history of small_history.h. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "export/ctf_stream.h"
#include "export/draw.h"
#include "export/proto.h"
#include "tests/unit/small_history_test.h"

/* ---- protobuf ------------------------------------------------------------------------------ */

/* The examples of the format's own description. */
static void proto_bytes(void **state)
{
	static const uint8_t want[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't',  'e',	 's',  't',  'i',
				       'n',  'g',  0x1a, 0x03, 0x08, 0x96, 0x01, 0x20, 0xfe, 0xff,
				       0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x29, 1,
				       2,    0,	   0,	 0,    0,    0,	   0x80};
	struct bytes b = {0};
	size_t inner;

	(void)state;
	proto_uint(&b, 1, 150);
	proto_text(&b, 2, "testing");
	inner = proto_begin(&b, 3);
	proto_uint(&b, 1, 150);
	proto_end(&b, inner);
	proto_int(&b, 4, -2);
	proto_fixed64(&b, 5, 0x8000000000000201);
	assert_false(b.failed);
	assert_int_equal(b.len_bytes, sizeof(want));
	assert_memory_equal(b.data, want, sizeof(want));
	bytes_clear(&b);
	proto_text(&b, 1, "a\xff\xc3\xa9");
	assert_memory_equal(b.data,
			    "\x0a\x04"
			    "a?\xc3\xa9",
			    6);
	bytes_release(&b);
}

/* The length of a message takes as many bytes as it needs, and moves what stands behind it. */
static void proto_lengths(void **state)
{
	static const struct {
		size_t len;
		unsigned length_bytes;
	} cases[] = {{0, 1}, {127, 1}, {128, 2}, {16383, 2}, {16384, 3}, {2097152, 4}};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes b = {0};
		size_t outer = proto_begin(&b, 1), inner = proto_begin(&b, 2);
		struct cursor c;
		uint64_t len;

		for (size_t n = 0; n < cases[i].len; n++)
			bytes_put_u8(&b, (uint8_t)(n % 251));
		proto_end(&b, inner);
		proto_end(&b, outer);
		c = (struct cursor){b.data, b.data + b.len_bytes, false};
		assert_int_equal(cursor_varint(&c), 1 << 3 | 2);
		len = cursor_varint(&c);
		assert_int_equal(len, c.end - c.p);
		assert_int_equal(cursor_varint(&c), 2 << 3 | 2);
		outer = (size_t)(c.p - b.data);
		assert_int_equal(cursor_varint(&c), cases[i].len);
		assert_int_equal((size_t)(c.p - b.data) - outer, cases[i].length_bytes);
		assert_int_equal(c.end - c.p, cases[i].len);
		for (size_t n = 0; n < cases[i].len; n++)
			assert_int_equal(c.p[n], n % 251);
		bytes_release(&b);
	}
}

/* ---- CTF ----------------------------------------------------------------------------------- */

/* Every packet says how long it is, and they follow each other in time. */
static void ctf_packets(void **state)
{
	char dir[] = "/tmp/sonde-export-XXXXXX", path[80];
	struct ctf_stream s = {.name = "x", .class = CTF_CPU, .cpu = 7, .origin = -500};
	uint8_t head[44];
	uint64_t last = 0;
	unsigned packets = 0, events = 0;
	FILE *in;

	(void)state;
	assert_non_null(mkdtemp(dir));
	s.dir = dir;
	for (unsigned i = 0; i < 10000; i++) {
		ctf_event(&s, (ns_t)i - 400, CTF_RUNS);
		ctf_text(&s, "\x1b[31m");
	}
	assert_int_equal(ctf_close(&s, 20000), 0);
	snprintf(path, sizeof(path), "%s/x", dir);
	in = fopen(path, "r");
	assert_non_null(in);
	while (fread(head, sizeof(head), 1, in)) {
		uint64_t begin, end, bits;

		assert_int_equal(le32toh(*(const uint32_t *)head), CTF_MAGIC);
		assert_int_equal(head[4], CTF_CPU);
		assert_int_equal(head[40], 7);
		memcpy(&begin, head + 8, 8);
		memcpy(&end, head + 16, 8);
		memcpy(&bits, head + 24, 8);
		assert_memory_equal(head + 24, head + 32, 8);
		assert_true(begin >= last && end >= begin);
		last = end;
		events += (unsigned)((bits / 8 - sizeof(head)) / (1 + 8 + 6));
		assert_int_equal(fseek(in, (long)(bits / 8 - sizeof(head)), SEEK_CUR), 0);
		packets++;
	}
	fclose(in);
	assert_int_equal(last, 20500);
	assert_int_equal(events, 10000);
	assert_int_equal(packets, 5);
	unlink(path);
	/* A stream that nothing came to, and one whose directory is gone. */
	s = (struct ctf_stream){.dir = dir, .name = "x"};
	assert_int_equal(ctf_close(&s, 1), 0);
	rmdir(dir);
	ctf_event(&s, 1, CTF_LOSS);
	assert_int_equal(ctf_close(&s, 1), -ENOENT);
}

/* ---- rows ---------------------------------------------------------------------------------- */

#define MANY 400000 /* changes: more than a piece of a file holds */

struct counted {
	struct rows *rows;
	attr_t attr;
	unsigned pieces, nr;
	ns_t end; /* of what was seen */
	struct stop *stop;
};

static bool count_interval(const struct sonde_interval *i, void *data)
{
	struct counted *c = data;

	assert_int_equal(i->begin, c->end);
	assert_true(i->end > i->begin);
	assert_int_equal(i->value, i->begin / 10 % 7 + 1);
	c->end = i->end;
	c->nr++;
	return true;
}

static int count_piece(const struct piece *p, void *data)
{
	struct counted *c = data;

	assert_int_equal(p->first, c->pieces == 0);
	c->pieces++;
	return rows_walk(c->rows, p, c->attr, count_interval, c);
}

/* Whatever the pieces, each interval is seen once, and the first and the last are cut to the
 * window. */
static void pieces_of_time(void **state)
{
	static const int64_t windows[][2] = {
		{0, MANY * 10}, {12345, 12346}, {5, 2222222}, {1999999, 2000001}};
	const struct history_writer_options options = {.ticks_are_ns = true};
	char many[] = "/tmp/sonde-export-XXXXXX";
	struct history_writer *w;
	struct sonde_history *big;
	attr_t attr;

	(void)state;
	close(mkstemp(many));
	assert_int_equal(history_writer_open(&w, many, &options, NULL), 0);
	attr = history_writer_attr(w, ATTR_ROOT, "x", ATTR_NUMBER, 0);
	for (int64_t i = 0; i < MANY; i++)
		history_writer_set(w, attr, i * 10, (uint32_t)(i % 7 + 1));
	assert_int_equal(history_writer_close(w, MANY * 10, NULL), 0);
	assert_int_equal(sonde_history_open(&big, many, NULL), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(windows); i++) {
		struct export_options o = {.begin = windows[i][0], .end = windows[i][1]};
		struct rows rows;
		struct counted c = {.rows = &rows, .attr = attr, .end = o.begin};

		assert_int_equal(rows_init(&rows, big, &o), 0);
		assert_int_equal(rows_pieces(&rows, count_piece, &c), 0);
		assert_int_equal(c.end, o.end);
		assert_int_equal(c.nr, (o.end + 9) / 10 - o.begin / 10);
		assert_true(i || c.pieces > 2);
		rows_release(&rows);
	}
	sonde_history_close(big);
	unlink(many);
}

static bool never(double done, void *data)
{
	(void)done;
	(void)data;
	return false;
}

static void stopped(void **state)
{
	struct export_options o = {.begin = SMALL_BEGIN, .end = SMALL_END, .rows = EXPORT_ALL};
	FILE *out = fopen("/dev/null", "w");
	struct error err = {0};
	struct stop stop;

	(void)state;
	o.stop = &stop;
	stop_init(&stop, never, NULL);
	assert_int_equal(export_perfetto(out, history, &o, &err), -EINTR);
	assert_string_equal(err.text, "interrupted");
	assert_int_equal(export_chrome(out, history, &o, &err), -EINTR);
	assert_int_equal(export_csv(out, history, &o, &err), -EINTR);
	fclose(out);
}

/* A disk that is full is told, whatever the format. */
static void full_disk(void **state)
{
	struct export_options o = {.begin = SMALL_BEGIN, .end = SMALL_END, .rows = EXPORT_ALL};
	FILE *out = fopen("/dev/full", "w");
	struct error err = {0};

	(void)state;
	setvbuf(out, NULL, _IOFBF, 256);
	assert_int_equal(export_perfetto(out, history, &o, &err), -ENOSPC);
	assert_string_equal(err.text, strerror(ENOSPC));
	assert_int_equal(export_chrome(out, history, &o, &err), -ENOSPC);
	assert_int_equal(export_csv(out, history, &o, &err), -ENOSPC);
	fclose(out);
}

/* ---- Chrome -------------------------------------------------------------------------------- */

/* A trace of events at @begin and each of the 500 ns before @end, as its readers see it; @origin:
 * what it says times are less by. */
static json_t *chrome_trace(int64_t begin, int64_t end, int64_t *origin)
{
	const struct history_writer_options options = {.ticks_are_ns = true};
	const struct track track = {.id = 7, .type = TRACK_SLICES, .name = "x"};
	const struct sign sign = {.name = "moment", .category = "x"};
	char file[] = "/tmp/sonde-export-XXXXXX", *text = NULL;
	struct history_writer *w;
	struct sonde_history *late;
	struct canvas *c;
	json_t *trace;
	size_t len;
	FILE *out;

	close(mkstemp(file));
	assert_int_equal(history_writer_open(&w, file, &options, NULL), 0);
	history_writer_set(w, history_writer_attr(w, ATTR_ROOT, "x", ATTR_NUMBER, 0), begin, 1);
	assert_int_equal(history_writer_close(w, end, NULL), 0);
	assert_int_equal(sonde_history_open(&late, file, NULL), 0);
	out = open_memstream(&text, &len);
	c = chrome_open(out, late);
	c->ops->track(c, &track);
	c->ops->moment(c, 7, begin, &sign);
	for (int64_t t = end - 500; t <= end; t++)
		c->ops->moment(c, 7, t, &sign);
	assert_int_equal(canvas_close(c), 0);
	fclose(out);
	trace = json_loadb(text, len, 0, NULL);
	assert_non_null(trace);
	*origin = json_integer_value(
		json_object_get(json_object_get(trace, "otherData"), "origin_ns"));
	free(text);
	sonde_history_close(late);
	unlink(file);
	return trace;
}

/* Every ns can be told from the next, up to where readers' doubles can hold them; behind that, and
 * before 0, times are less the begin. */
static void chrome_times(void **state)
{
	static const int64_t last = (INT64_C(1) << 42) * 1000; /* 50 days */
	static const struct {
		int64_t begin, end, origin;
	} runs[] = {{0, 1000, 0},
		    {1000, last, 0},
		    {1000, last + 1, 1000},
		    {last * 4, last * 4 + 1000, last * 4},
		    {-2000, 1000, -2000}};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(runs); i++) {
		int64_t origin, want = runs[i].begin;
		json_t *trace = chrome_trace(runs[i].begin, runs[i].end, &origin), *event;
		size_t at, nr = 0;

		assert_int_equal(origin, runs[i].origin);
		json_array_foreach(json_object_get(trace, "traceEvents"), at, event)
		{
			json_t *ts = json_object_get(event, "ts");

			if (!ts)
				continue;
			assert_int_equal(llround(json_number_value(ts) * 1000) + origin, want);
			want = nr++ ? want + 1 : runs[i].end - 500;
		}
		assert_int_equal(nr, 502);
		json_decref(trace);
	}
}

/* ---- what is drawn ------------------------------------------------------------------------- */

/* A canvas that writes down what comes, of tracks whose names are looked for. */
struct recorder {
	struct canvas canvas;
	FILE *text;
	uint64_t ids[64];
	char names[64][40];
	unsigned nr;
};

static const char *name_of(const struct canvas *c, uint64_t track)
{
	const struct recorder *r = (const struct recorder *)c;

	for (unsigned i = 0; i < r->nr; i++) {
		if (r->ids[i] == track)
			return r->names[i];
	}
	assert_true(false);
	return "";
}

static void record_track(struct canvas *c, const struct track *t)
{
	struct recorder *r = (struct recorder *)c;

	assert_true(r->nr < ARRAY_SIZE(r->ids));
	if (t->parent)
		name_of(c, t->parent);
	r->ids[r->nr] = t->id;
	snprintf(r->names[r->nr++], sizeof(r->names[0]), "%s", t->name);
}

static void record(struct canvas *c, char what, uint64_t track, ns_t t, const struct sign *s)
{
	struct recorder *r = (struct recorder *)c;

	fprintf(r->text, "%s %c%lld %s", name_of(c, track), what, (long long)t / 1000,
		s ? s->name : "");
	if (s && s->flow)
		fprintf(r->text, " %s%llu", s->flow_ends ? ">" : "", (unsigned long long)s->flow);
	fputs("\n", r->text);
}

static void record_begin(struct canvas *c, uint64_t track, ns_t t, const struct sign *s)
{
	record(c, '+', track, t, s);
}

static void record_end(struct canvas *c, uint64_t track, ns_t t)
{
	record(c, '-', track, t, NULL);
}

static void record_moment(struct canvas *c, uint64_t track, ns_t t, const struct sign *s)
{
	record(c, '!', track, t, s);
}

static void record_value(struct canvas *c, uint64_t track, ns_t t, double value)
{
	struct recorder *r = (struct recorder *)c;

	fprintf(r->text, "%s =%lld %.2f\n", name_of(c, track), (long long)t / 1000, value);
}

static int record_close(struct canvas *c)
{
	(void)c;
	return 0;
}

static const struct canvas_ops recorder_ops = {record_track,  record_begin, record_end,
					       record_moment, record_value, record_close};

/* Lines that begin with @track, without it, are @want. */
static void assert_drawn(const char *text, const char *track, const char *want)
{
	char found[4000] = "";

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		size_t len = strlen(track);

		if (!strncmp(line, track, len) && line[len] == ' ' && strchr("+-!=", line[len + 1]))
			snprintf(found + strlen(found), sizeof(found) - strlen(found), "%.*s\n",
				 (int)strcspn(line + len + 1, "\n"), line + len + 1);
	}
	assert_string_equal(found, want);
}

static char *draw(const struct export_options *o)
{
	struct recorder r = {.canvas = {.ops = &recorder_ops}};
	struct error err = {0};
	char *text = NULL;
	size_t len;

	r.text = open_memstream(&text, &len);
	r.canvas.out = r.text;
	assert_int_equal(draw_run(&r.canvas, history, o, &err), 0);
	fclose(r.text);
	return text;
}

static void drawn_rows(void **state)
{
	const struct export_options o = {.begin = SMALL_BEGIN,
					 .end = SMALL_END,
					 .rows = EXPORT_CPUS | EXPORT_VCPUS | EXPORT_THREADS};
	char *text = draw(&o);

	(void)state;
	/* L0's vCPU thread goes on while guest and hypervisor take turns in it. */
	assert_drawn(
		text, "CPU 0",
		"+1000 idle\n-1100 \n+1100 CPU 0/KVM[100]=vm-a/0\n+1100 hypervisor HLT\n-1150 \n"
		"+1150 vm-a: app[60]\n+1150 user\n-1300 \n-1300 \n-1300 \n"
		"+1300 burn[300]\n+1300 user\n-1400 \n-1400 \n"
		"+1400 CPU 0/KVM[100]=vm-a/0\n+1400 hypervisor INTR\n-1450 \n"
		"+1450 vm-a: CPU 0/KVM[50]=vm-a-n/0\n+1450 hypervisor VMRUN\n-1500 \n"
		"+1500 vm-a-n: \033[31mtask<&>[7]\n+1500 user\n-1700 \n-1700 \n-1700 \n"
		"+1700 irq local_timer\n-1720 \n-1720 \n+1720 burn[300]\n+1720 syscall openat\n"
		/* Preempted vCPUs, and burn, which an interrupt woke. */
		"!1300 vm-a/0 1\n!1720 vm-a/0 2\n!1150 vm-a-n/0 3\n!1250 burn[300] 5\n"
		"-2000 \n-2000 \n");
	assert_drawn(text, "CPU 1",
		     "+1000 CPU 0/KVM[200]=vm-b/0\n+1000 guest\n-1500 \n-1500 \n"
		     "+1500 unknown\n-2000 \n");
	assert_drawn(text, "vm-a/0",
		     "+1000 waiting\n-1100 \n+1100 on_cpu\n-1300 \n+1300 preempted\n-1400 \n"
		     "+1400 on_cpu\n-1720 \n+1720 preempted\n-1900 \n+1900 waiting\n-2000 \n"
		     "!1150 vm-a: app[60] 6\n"); /* what woke app was an interrupt in it */
	/* A nested vCPU is preempted by what keeps its vCPU off, too; only the first is an arrow.
	 */
	assert_drawn(text, "vm-a-n/0 is preempted by",
		     "+1150 vm-a vCPU 0 (app[60]) >3\n-1300 \n"
		     "+1300 burn[300] in container burn:[4026532324] of host0\n-1400 \n"
		     "+1400 host0's hypervisor, for vm-a vCPU 0\n-1450 \n");
	assert_drawn(text, "CPU 0/KVM[100]=vm-a/0",
		     "+1000 sleeping\n-1100 \n+1100 running >4\n-2000 \n");
	assert_drawn(text, "burn[300] in burn:[4026532324]",
		     "!1100 CPU 0/KVM[100]=vm-a/0 4\n+1000 sleeping\n-1250 \n+1250 runnable >5\n"
		     "-1300 \n+1300 running\n-1400 \n+1400 runnable\n-1720 \n+1720 running\n"
		     "-2000 \n");
	assert_drawn(text, "lost events of CPU 0", "+1600 events lost, not counted\n-1650 \n");
	free(text);
}

/* A window cuts what sticks out of it, and a wake-up before it is none; other machines' rows and
 * other kinds are not there, nor arrows from them. */
static void drawn_window(void **state)
{
	const bool machines[SMALL_MACHINES] = {[HOST] = true};
	const struct export_options o = {
		.begin = 1260000, .end = 1410000, .rows = EXPORT_THREADS, .machines = machines};
	char *text = draw(&o);

	(void)state;
	assert_drawn(text, "burn[300] in burn:[4026532324]",
		     "+1260 runnable\n-1300 \n+1300 running\n-1400 \n+1400 runnable\n-1410 \n");
	assert_drawn(text, "CPU 0", "");
	assert_drawn(text, "app[60]", "");
	assert_null(strstr(text, "lost"));
	free(text);
}

/* Values come per thousandth of the window: 1 us here. */
static void drawn_values(void **state)
{
	const bool machines[SMALL_MACHINES] = {[VM_A] = true};
	const struct export_options o = {.begin = SMALL_BEGIN,
					 .end = SMALL_END,
					 .rows = EXPORT_VALUES,
					 .machines = machines};
	char *text = draw(&o);

	(void)state;
	assert_non_null(strstr(text, "CPU use =1149 0.00\nexits =1149 0.00\n"
				     "CPU use =1150 100.00\n"));
	assert_non_null(strstr(text, "CPU use =1299 100.00\nexits =1299 0.00\n"
				     "CPU use =1300 0.00\nexits =1300 1000000.00\n"));
	/* The exit that the VMM finished is one; the one that was there at the begin is none. */
	assert_non_null(strstr(text, "exits =1550 1000000.00\n"));
	assert_non_null(strstr(text, "exits =1560 0.00\n"));
	assert_non_null(strstr(text, "exits =1000 0.00\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proto_bytes),	cmocka_unit_test(proto_lengths),
		cmocka_unit_test(ctf_packets),	cmocka_unit_test(pieces_of_time),
		cmocka_unit_test(stopped),	cmocka_unit_test(full_disk),
		cmocka_unit_test(drawn_rows),	cmocka_unit_test(drawn_window),
		cmocka_unit_test(drawn_values), cmocka_unit_test(chrome_times),
	};

	return cmocka_run_group_tests(tests, small_history_setup, small_history_teardown);
}
