/* SPDX-License-Identifier: Apache-2.0 */

/*
 * perf_data TRACE.DAT OUT: writes the KVM entries and exits of a trace.dat (version 6) as a
 * perf.data, so that `perf kvm stat report` computes its table of the very same events.
 *
 * libtracecmd reads the events, so that nothing of Sonde's own is in between.  The file has what
 * that command needs: the tracepoints' formats (which both files keep in the same form), samples
 * with identifier, thread, time, CPU and raw record, in order of time, and the CPU's maker.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace-cmd.h>

/* From tools/perf/Documentation/perf.data-file-format.txt of the kernel. */
#define FEATURE_TRACING_DATA 1
#define FEATURE_CPUID 9

struct section {
	uint64_t offset, size;
};

struct header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

struct file_attr {
	struct perf_event_attr attr;
	struct section ids;
};

static const char *const events[] = {"kvm_entry", "kvm_exit"};
#define NR_EVENTS 2

struct sample {
	uint64_t time;
	uint32_t order; /* as read: equal times stay in order */
	int cpu, event, tid, size;
	void *raw;
};

struct samples {
	struct sample *list;
	uint32_t nr, room;
};

static void die(const char *why)
{
	fprintf(stderr, "perf_data: %s\n", why);
	exit(1);
}

static void add(struct samples *s, const struct sample *sample)
{
	if (s->nr == s->room) {
		s->room = s->room ? s->room * 2 : 4096;
		s->list = realloc(s->list, s->room * sizeof(*s->list));
		if (!s->list)
			die("out of memory");
	}
	s->list[s->nr] = *sample;
	s->list[s->nr].order = s->nr;
	s->nr++;
}

static void read_cpu(struct tracecmd_input *in, struct tep_handle *tep, int cpu, const int *ids,
		     struct samples *out)
{
	struct tep_record *r;

	while ((r = tracecmd_read_data(in, cpu))) {
		int type = tep_data_type(tep, r);

		for (int i = 0; i < NR_EVENTS; i++) {
			struct sample s = {.time = r->ts, .cpu = cpu, .event = i, .size = r->size};

			if (type != ids[i])
				continue;
			s.tid = tep_data_pid(tep, r);
			s.raw = malloc((size_t)r->size);
			if (!s.raw)
				die("out of memory");
			memcpy(s.raw, r->data, (size_t)r->size);
			add(out, &s);
		}
		tracecmd_free_record(r);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- the part that both kinds of file have -------------------------------------------------- */

struct bytes {
	const char *at, *end;
};

static void skip(struct bytes *b, uint64_t n)
{
	if (n > (uint64_t)(b->end - b->at))
		die("the trace ends within its formats");
	b->at += n;
}

static void skip_text(struct bytes *b)
{
	skip(b, strnlen(b->at, (size_t)(b->end - b->at)) + 1);
}

static uint64_t number(struct bytes *b, unsigned len)
{
	const char *at = b->at;
	uint64_t v = 0;

	skip(b, len);
	memcpy(&v, at, len);
	return v;
}

static void skip_list(struct bytes *b)
{
	for (uint64_t nr = number(b, 4); nr; nr--)
		skip(b, number(b, 8));
}

/* Length of a version 6 file's beginning: from its magic to the names of threads. */
static size_t formats_length(const char *file, size_t size)
{
	struct bytes b = {file, file + size};

	skip(&b, 10); /* magic */
	if (strcmp(b.at, "6"))
		die("not a trace.dat of version 6");
	skip_text(&b);
	skip(&b, 2 + 4); /* byte order, size of long, size of page */
	for (int i = 0; i < 2; i++) {
		skip_text(&b); /* header_page, header_event */
		skip(&b, number(&b, 8));
	}
	skip_list(&b); /* ftrace's own events */
	for (uint64_t systems = number(&b, 4); systems; systems--) {
		skip_text(&b);
		skip_list(&b);
	}
	skip(&b, number(&b, 4)); /* addresses */
	skip(&b, number(&b, 4)); /* printk formats */
	skip(&b, number(&b, 8)); /* names of threads */
	return (size_t)(b.at - file);
}

static char *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	char *all;

	if (!f || fseek(f, 0, SEEK_END))
		die("cannot open the trace");
	*size = (size_t)ftell(f);
	rewind(f);
	all = malloc(*size + 1);
	if (!all || fread(all, 1, *size, f) != *size)
		die("cannot read the trace");
	all[*size] = '\0';
	fclose(f);
	return all;
}

/* ---- the perf.data -------------------------------------------------------------------------- */

static void write_sample(FILE *f, const struct sample *s)
{
	uint32_t raw = ((uint32_t)s->size + 4 + 7) / 8 * 8 - 4; /* its length and itself: u64s */
	struct perf_event_header h = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_KERNEL};
	uint64_t id = (uint64_t)s->event + 1, padding = 0;
	uint32_t ids[2] = {(uint32_t)s->tid, (uint32_t)s->tid}, cpu[2] = {(uint32_t)s->cpu, 0};

	h.size = (uint16_t)(sizeof(h) + 8 + 8 + 8 + 8 + 4 + raw);
	fwrite(&h, sizeof(h), 1, f);
	fwrite(&id, 8, 1, f);
	fwrite(ids, 8, 1, f);
	fwrite(&s->time, 8, 1, f);
	fwrite(cpu, 8, 1, f);
	fwrite(&raw, 4, 1, f);
	fwrite(s->raw, (size_t)s->size, 1, f);
	fwrite(&padding, raw - (uint32_t)s->size, 1, f);
}

static void write_data(FILE *f, const struct samples *s, const int *ids, const char *formats,
		       size_t formats_size)
{
	struct header h = {
		.magic = "PERFILE2", .size = sizeof(h), .attr_size = sizeof(struct file_attr)};
	struct section features[2];
	char maker[64] = "AuthenticAMD,25,1,1";
	uint32_t len = sizeof(maker);
	uint64_t at = sizeof(h);

	h.features[0] = 1u << FEATURE_TRACING_DATA | 1u << FEATURE_CPUID;
	fseek(f, (long)at, SEEK_SET);
	for (uint64_t i = 1; i <= NR_EVENTS; i++)
		fwrite(&i, 8, 1, f);
	h.attrs = (struct section){at + 8 * NR_EVENTS, NR_EVENTS * sizeof(struct file_attr)};
	for (int i = 0; i < NR_EVENTS; i++) {
		struct file_attr a = {
			.attr = {.type = PERF_TYPE_TRACEPOINT,
				 .size = sizeof(a.attr),
				 .config = (uint64_t)ids[i],
				 .sample_period = 1,
				 .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
						PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
						PERF_SAMPLE_RAW},
			.ids = {at + 8 * (uint64_t)i, 8},
		};

		fwrite(&a, sizeof(a), 1, f);
	}
	h.data.offset = h.attrs.offset + h.attrs.size;
	for (uint32_t i = 0; i < s->nr; i++)
		write_sample(f, &s->list[i]);
	h.data.size = (uint64_t)ftell(f) - h.data.offset;
	features[0] =
		(struct section){h.data.offset + h.data.size + sizeof(features), formats_size};
	features[1] = (struct section){features[0].offset + formats_size, 4 + sizeof(maker)};
	fwrite(features, sizeof(features), 1, f);
	fwrite(formats, formats_size, 1, f);
	fwrite(&len, 4, 1, f);
	fwrite(maker, sizeof(maker), 1, f);
	rewind(f);
	fwrite(&h, sizeof(h), 1, f);
}

int main(int argc, char **argv)
{
	struct samples samples = {0};
	struct tracecmd_input *in;
	struct tep_handle *tep;
	int ids[NR_EVENTS];
	char *file;
	size_t size;
	FILE *out;

	if (argc != 3)
		die("usage: perf_data TRACE.DAT OUT");
	in = tracecmd_open(argv[1], 0);
	out = fopen(argv[2], "w");
	if (!in || !out)
		die("cannot open the files");
	tep = tracecmd_get_tep(in);
	for (int i = 0; i < NR_EVENTS; i++) {
		struct tep_event *event = tep_find_event_by_name(tep, "kvm", events[i]);

		if (!event)
			die("the trace has no KVM events");
		ids[i] = event->id;
	}
	for (int cpu = 0; cpu < tep_get_cpus(tep); cpu++)
		read_cpu(in, tep, cpu, ids, &samples);
	qsort(samples.list, samples.nr, sizeof(*samples.list), by_time);
	file = read_file(argv[1], &size);
	write_data(out, &samples, ids, file, formats_length(file, size));
	if (fflush(out) || ferror(out))
		die("cannot write the file");
	fclose(out);
	free(file);
	for (uint32_t i = 0; i < samples.nr; i++)
		free(samples.list[i].raw);
	free(samples.list);
	tracecmd_close(in);
	return 0;
}
