/* SPDX-License-Identifier: Apache-2.0 */
#include "export/ctf.h"
#include "query/counts.h"
#include "export/ctf_stream.h"
#include "export/rows.h"
#include "model/context.h"
#include "report/safe.h"
#include "sonde/tables.h"
#include "sonde/sonde.h"

#include <inttypes.h>

/* ---- text ---------------------------------------------------------------------------------- */

/* A string in quotes. */
static void put_text(FILE *out, const char *text)
{
	char safe[1024];

	fputc('"', out);
	for (const char *c = safe_text(safe, sizeof(safe), text); *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		fputc(*c, out);
	}
	fputc('"', out);
}

static void put_env(FILE *out, const char *key, const char *text)
{
	fprintf(out, "\t%s = ", key);
	put_text(out, text);
	fputs(";\n", out);
}

/* ---- what the trace is --------------------------------------------------------------------- */

/* How well each machine's times are known. */
static void put_clock_bounds(FILE *out, struct sonde_history *history, ns_t begin, ns_t end)
{
	struct sonde_rows *f;

	if (sonde_rows_get(&f, history, "clock", begin, end, NULL))
		return;
	for (size_t row = 0; row < sonde_rows_nr(f); row++) {
		int64_t machine =
			sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "machine")).i;
		struct sonde_machine m;
		char key[60];

		sonde_machine_get(history, machine, &m);
		snprintf(key, sizeof(key), "machine_%" PRId64 "_clock_method", machine);
		put_env(out, key,
			sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "method")).s);
		fprintf(out, "\tmachine_%" PRId64 "_clock_bound_ns = %" PRId64 ";\n", machine,
			sonde_rows_cell(f, row, (unsigned)sonde_rows_column(f, "bound")).i);
	}
	sonde_rows_free(f);
}

static void put_environment(FILE *out, struct sonde_history *history, ns_t begin, ns_t end)
{
	char key[60];

	fputs("env {\n", out);
	put_env(out, "domain", "sonde");
	put_env(out, "tracer_name", "sonde export");
	put_env(out, "sonde_version", sonde_version());
	put_env(out, "run", sonde_history_path(history));
	put_env(out, "run_is_whole", sonde_history_complete(history) ? "yes" : "no");
	for (int64_t row = 0; row < sonde_nr_machines(history); row++) {
		struct sonde_machine m;

		sonde_machine_get(history, row, &m);
		snprintf(key, sizeof(key), "machine_%" PRId64, row);
		put_env(out, key, m.name);
		fprintf(out, "\tmachine_%" PRId64 "_parent = %" PRId64 ";\n", row, m.parent);
	}
	put_clock_bounds(out, history, begin, end);
	fputs("};\n\n", out);
}

static void put_clock(FILE *out, struct sonde_history *history, ns_t origin)
{
	int64_t wall = 0;

	sonde_history_wall_offset(history, &wall);
	fputs("clock {\n\tname = \"l0\";\n", out);
	fprintf(out, "\tdescription = \"%s\";\n",
		sonde_history_ticks_are_ns(history)
			? "clock of the physical machine"
			: "cycles of the physical machine's counter, whose rate is not known");
	fprintf(out, "\tfreq = 1000000000;\n\toffset = %" PRId64 ";\n};\n\n", wall + origin);
}

/* ---- types --------------------------------------------------------------------------------- */

static void put_enum(FILE *out, const char *name, const char *(*label)(unsigned), unsigned nr)
{
	fprintf(out, "enum %s : uint8_t {\n", name);
	for (unsigned i = 0; i < nr; i++)
		fprintf(out, "\t\"%s\" = %u,\n", label(i), i);
	fputs("};\n\n", out);
}

static const char *mode_label(unsigned i)
{
	return sonde_mode_name((enum sonde_mode)i);
}

/* What has no name: it is not there, or it is gone. */
static const char *vcpu_label(unsigned i)
{
	const char *name = vcpu_state_name(i);

	return name ? name : i == VCPU_GONE ? "gone" : "none";
}

static const char *thread_label(unsigned i)
{
	const char *name = thread_state_name(i);

	return name ? name : i == THREAD_DEAD ? "dead" : "none";
}

static const char trace_text[] =
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n\n"
	"trace {\n"
	"\tmajor = 1;\n"
	"\tminor = 8;\n"
	"\tbyte_order = le;\n"
	"\tpacket.header := struct { uint32_t magic; uint32_t stream_id; };\n"
	"};\n\n";

static const char time_text[] =
	"typealias integer { size = 64; align = 8; signed = false; map = clock.l0.value; }\n"
	"\t:= l0_time_t;\n\n";

static void put_stream(FILE *out, enum ctf_class class)
{
	bool has_cpu = class == CTF_CPU || class == CTF_VCPU;

	fprintf(out,
		"stream {\n"
		"\tid = %u;\n"
		"\tpacket.context := struct {\n"
		"\t\tl0_time_t timestamp_begin;\n"
		"\t\tl0_time_t timestamp_end;\n"
		"\t\tuint64_t content_size;\n"
		"\t\tuint64_t packet_size;\n"
		"%s"
		"\t};\n"
		"\tevent.header := struct { uint8_t id; l0_time_t timestamp; };\n"
		"};\n\n",
		class, has_cpu ? "\t\tuint32_t cpu_id;\n" : "");
}

/* Events in the order of enum ctf_event, their fields as export/ctf.c writes them. */
static const struct {
	const char *name;
	enum ctf_class class;
	const char *fields;
} events[] = {
	[CTF_RUNS] = {"runs", CTF_CPU,
		      "string machine; int32_t cpu; string thread; int64_t tid; "
		      "enum mode mode; string detail; string container;"},
	[CTF_VCPU_STATE] = {"vcpu_state", CTF_VCPU,
			    "string machine; int32_t vcpu; enum vcpu_state state;"},
	[CTF_THREAD_STATE] = {"thread_state", CTF_THREADS,
			      "string machine; string thread; int64_t pid; int64_t tid; "
			      "enum thread_state state;"},
	[CTF_LOSS] = {"lost_events", CTF_LOST,
		      "string machine; int32_t cpu; int64_t length; int64_t events;"},
};

void ctf_metadata(FILE *out, struct sonde_history *history, ns_t begin, ns_t end, ns_t origin)
{
	fputs("/* CTF 1.8 */\n\n", out);
	fputs(trace_text, out);
	put_environment(out, history, begin, end);
	put_clock(out, history, origin);
	fputs(time_text, out);
	put_enum(out, "mode", mode_label, QUERY_NR_MODES);
	put_enum(out, "vcpu_state", vcpu_label, VCPU_GONE + 1);
	put_enum(out, "thread_state", thread_label, THREAD_DEAD + 1);
	for (unsigned c = 0; c < CTF_NR_CLASSES; c++)
		put_stream(out, (enum ctf_class)c);
	for (unsigned e = 0; e < ARRAY_SIZE(events); e++)
		fprintf(out,
			"event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = %u;\n"
			"\tfields := struct { %s };\n};\n\n",
			events[e].name, e, events[e].class, events[e].fields);
}
