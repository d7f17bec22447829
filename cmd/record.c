/* SPDX-License-Identifier: Apache-2.0 */
/* sonde record: this machine's kernel, and that of its guests, into a run directory. */
#include "cmd/common/command.h"
#include "base/figure.h"
#include "base/now.h"
#include "cmd/common/duration.h"
#include "cmd/common/limits.h"
#include "cmd/record/record_options.h"
#include "cmd/record/record_rings.h"
#include "cmd/record/record_there.h"
#include "cmd/common/signals.h"
#include "cmd/common/workload.h"
#include "record/tracers/events.h"
#include "record/directory/folder.h"
#include "record/directory/run.h"
#include "record/host/state.h"
#include "report/safe.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 200
#define HOST_NAME "host0"
#define PATH_TRIES 100		 /* for a name of our own */
#define BUFFER_KB_MAX (1u << 30) /* of each CPU: 1 TiB */
#define RATE_MIN_S 0.1		 /* a shorter recording's rates say nothing */
#define SHORT_S 0.2		 /* that a trace may end before its recorder does */

#define FIELD(field) offsetof(struct record_command, field)

static const struct option_row option_rows[] = {
	{0, "for", OPTION_TEXT, FIELD(purpose), "WHAT", "cpu|wait|io|boot|all",
	 "the question: cpu (default), wait, io, boot, all; several with commas", 0},
	{'e', "event", OPTION_LIST, FIELD(events), "SYSTEM:EVENT", NULL,
	 "record this event, too (SYSTEM alone: all of its events)", 0},
	{0, "duration", OPTION_TIME, FIELD(duration), "TIME", NULL,
	 "end after TIME: 10, 10s, 500ms, 2m", 0},
	{0, "tracer", OPTION_CHOICE, FIELD(tracer), "NAME", "ftrace|lttng",
	 "of this machine: ftrace (default) or lttng; agents in guests use ftrace", 0},
	{0, "buffer-size", OPTION_NUMBER, FIELD(buffer_kb), "KB", NULL,
	 "trace buffer of each CPU (default: up to 8192)", 0},
	{0, "clock", OPTION_TEXT, FIELD(clock), "NAME", "x86-tsc|mono|boot|local",
	 "trace clock (default: x86-tsc where it is sound, else mono)", 0},
	{0, "hypercalls", OPTION_CHOICE, FIELD(hypercalls), "HOW", "folded|raw",
	 "guests' hypertrace calls: one record each (folded, default), or three events (raw)", 0},
	{0, "hypercall-rate", OPTION_NUMBER, FIELD(hypercall_rate), "N", NULL,
	 "of one VM, record so many hypertrace calls a second (default: 200000)", 0},
	{0, "cr3", OPTION_CHOICE, FIELD(cr3), "HOW", "on|off",
	 "tell processes of guests without a tracer apart by their CR3 (default: where it can be)",
	 0},
	{0, "check", OPTION_FLAG, FIELD(check), NULL, NULL,
	 "only tell what this machine lacks, and how to mend it", 0},
	{0, "recover", OPTION_TEXT, FIELD(recover), "DIR", NULL,
	 "make good what a killed recorder left in DIR", 0},
	{0, "no-rings", OPTION_FLAG, FIELD(no_rings), NULL, NULL,
	 "do not look for events that guests keep in their memory", 0},
	GUEST_OPTIONS(struct record_command, guests),
};

/* ---- recording ---- */

struct session {
	const struct invocation *inv;
	const struct record_command *opt;
	char path[4096];
	double duration_s; /* 0 = no end */
	unsigned purpose;  /* 0 = the default */
	double start_s;	   /* of everything */
	double begin_s;	   /* of recording */
	bool terminal;
	bool drawn;
	struct run *run;
	struct run_machine *machine;
	struct sink *sink;
	struct recorder *recorder;
	struct guests *guests;
	struct record_rings *rings;
	struct workload workload;
	struct rlimit usual_files;
};

static void on_notice(const char *text, void *data)
{
	const struct session *s = data;

	if (!s->inv->common.quiet)
		complain(s->inv, EXIT_DONE, "%s", text);
}

static void draw(struct session *s)
{
	char bytes[UNIT_TEXT], lost[UNIT_TEXT], guests[64] = "";
	uint64_t nr_bytes, nr_lost;
	unsigned nr_guests;

	if (!s->terminal || s->inv->common.quiet)
		return;
	guests_progress(s->guests, &nr_guests, &nr_bytes, &nr_lost);
	if (nr_guests)
		snprintf(guests, sizeof(guests), " this machine and %u guest%s", nr_guests,
			 nr_guests == 1 ? "" : "s");
	nr_bytes += recorder_bytes(s->recorder);
	nr_lost += recorder_events_lost(s->recorder);
	fprintf(stderr, "\r\033[Krecording%s into %s: %.0f s, %s, %s events lost", guests, s->path,
		now_s() - s->begin_s, unit_bytes(bytes, nr_bytes),
		nr_lost ? unit_count(lost, (int64_t)nr_lost) : "no");
	fflush(stderr);
	s->drawn = true;
}

static void wipe(struct session *s)
{
	if (s->drawn)
		fprintf(stderr, "\r\033[K");
	s->drawn = false;
}

enum ending { ENDED, ENDED_BY_USER, ENDED_BY_ERROR };

/* Until the command has ended, the time is over, the user has had enough or the sink fails. */
static enum ending wait_for_end(struct session *s)
{
	double drawn_s = 0;

	for (;;) {
		double left_s = s->duration_s ? s->begin_s + s->duration_s - now_s() : 1e9;

		if (left_s <= 0)
			return ENDED;
		/* ^C on a terminal reaches the command as well, and may end it before we look. */
		if (workload_wait(&s->workload,
				  left_s < TICK_MS / 1e3 ? (int)(left_s * 1e3) + 1 : TICK_MS))
			return signals_interrupted() ? ENDED_BY_USER : ENDED;
		if (signals_interrupted())
			return s->workload.pid || s->duration_s ? ENDED_BY_USER : ENDED;
		if (recorder_check(s->recorder, NULL))
			return ENDED_BY_ERROR;
		record_rings_tick(s->rings);
		if (now_s() - drawn_s >= 1) {
			drawn_s = now_s();
			draw(s);
		}
	}
}

/* The command has the limit that it would have had without us. */
static int start_workload(struct session *s, struct error *err)
{
	struct rlimit now;
	int ret;

	if (getrlimit(RLIMIT_NOFILE, &now))
		return workload_start(&s->workload, s->inv->operands, err);
	setrlimit(RLIMIT_NOFILE, &s->usual_files);
	ret = workload_start(&s->workload, s->inv->operands, err);
	setrlimit(RLIMIT_NOFILE, &now);
	return ret;
}

/* --guest none: also where "all" was given before it, in an alias, say. */
static struct guest_options wanted_guests(const struct record_command *opt)
{
	struct guest_options wanted = opt->guests;

	wanted.rings = !opt->no_rings;
	for (unsigned i = 0; i < opt->guests.guests.nr; i++) {
		if (!strcmp(opt->guests.guests.items[i], "none")) {
			wanted.guests.nr = 0;
			wanted.tracer = NULL;
		}
	}
	return wanted;
}

/* The name that we choose ourselves may be taken: by another run of the same second. */
static int create_run(struct session *s, struct error *err)
{
	size_t len = strlen(s->path);
	int ret;

	for (unsigned i = 2;; i++) {
		ret = run_create(&s->run, s->path, s->inv->command_line, sonde_version(), err);
		if ((ret != -EEXIST && ret != -EBUSY) || s->inv->common.output || i > PATH_TRIES)
			return ret;
		snprintf(s->path + len, sizeof(s->path) - len, "-%u", i);
	}
}

static uint32_t calls_per_s(const struct record_command *opt)
{
	if (!opt->hypercall_rate)
		return RECORD_CALLS_PER_S;
	return opt->hypercall_rate < INT32_MAX ? (uint32_t)opt->hypercall_rate : INT32_MAX;
}

static int begin(struct session *s, struct error *err)
{
	struct record_options options = {
		.tracer = s->opt->tracer && !strcmp(s->opt->tracer, "lttng") ? RECORD_LTTNG
									     : RECORD_FTRACE,
		.purpose = s->purpose,
		.events = s->opt->events.items,
		.nr_events = s->opt->events.nr,
		.buffer_kb = (unsigned)s->opt->buffer_kb,
		.clock = s->opt->clock,
		.fold_calls = !s->opt->hypercalls || !strcmp(s->opt->hypercalls, "folded"),
		.calls_per_s = calls_per_s(s->opt),
		.tell_spaces = !s->opt->cr3 || !strcmp(s->opt->cr3, "on"),
		.want_spaces = s->opt->cr3 && !strcmp(s->opt->cr3, "on"),
		.notice = on_notice,
		.notice_data = s,
	};
	struct guest_options guests = wanted_guests(s->opt);
	int ret;

	ret = create_run(s, err);
	if (ret)
		return ret;
	s->machine = run_add_machine(s->run, HOST_NAME, NULL, err);
	if (!s->machine)
		return -ENOMEM;
	snprintf(s->machine->tracer, sizeof(s->machine->tracer), "%s",
		 record_tracer_name(options.tracer));
	product_uuid(s->machine->product_uuid, sizeof(s->machine->product_uuid));
	ret = run_save(s->run, err);
	if (!ret)
		ret = folder_open(&s->sink, s->machine->folder, NULL, err);
	if (!ret)
		ret = guests_connect(&s->guests, s->inv, &guests, s->run, s->machine, &options,
				     err);
	if (!ret && !signals_interrupted())
		ret = recorder_start(&s->recorder, &options, s->sink, err);
	if (!ret && !signals_interrupted() && !s->opt->no_rings)
		ret = record_rings_start(&s->rings, s->inv, &guests, s->guests, s->run, s->machine,
					 err);
	if (!ret && !signals_interrupted())
		guests_start(s->guests);
	if (signals_interrupted())
		ret = fail(err, -EINTR, "interrupted before recording began: nothing is kept");
	if (!ret)
		ret = start_workload(s, err);
	return ret;
}

/* Nothing has been recorded that is worth keeping. */
static void give_up(struct session *s)
{
	struct record_cost cost;

	record_rings_close(s->rings);
	guests_close(s->guests);
	if (s->recorder)
		recorder_stop(s->recorder, &cost, NULL);
	folder_close(s->sink);
	run_abandon(s->run);
}

static void print_json(const struct session *s, const struct run_machine *m, double seconds)
{
	struct json j = {.out = s->inv->screen.out};
	ns_t there = record_there_ns(m->folder);

	json_begin_object(&j, NULL);
	json_str(&j, "output", s->path);
	json_bool(&j, "complete", m->complete);
	json_str(&j, "why", m->why);
	json_int(&j, "elapsed_ns", figure_round(seconds * 1e9));
	if (there >= 0)
		json_int(&j, "trace_ns", there);
	json_uint(&j, "bytes", m->cost.bytes);
	json_uint(&j, "events_lost", m->cost.events_lost);
	json_uint(&j, "cpu_ns", m->cost.cpu_ns);
	json_uint(&j, "state_ns", m->cost.state_ns);
	json_str(&j, "clock", m->cost.clock);
	json_str(&j, "clock_reason", m->cost.clock_reason);
	guests_json(s->guests, &j);
	record_rings_json(s->rings, &j);
	json_end(&j);
}

/* What was recorded, and what is there of it. */
static void print_losses(FILE *out, const struct run_machine *m, double seconds)
{
	char count[UNIT_TEXT], length[UNIT_TEXT];
	ns_t there = record_there_ns(m->folder);
	bool is_short = there >= 0 && seconds - (double)there / 1e9 > SHORT_S;

	if (!m->complete)
		fprintf(out, "not complete: %s\n", m->why);
	if (is_short)
		fprintf(out, "the trace ends after %s; what came later is lost\n",
			unit_length(length, there, true));
	if (m->cost.events_lost)
		fprintf(out,
			"%s events were lost: their times are marked; a larger --buffer-size "
			"loses fewer\n",
			unit_count(count, (int64_t)m->cost.events_lost));
	else if (m->complete && !is_short)
		fprintf(out, "no event was lost\n");
}

static void print_text(const struct session *s, const struct run_machine *m, double seconds)
{
	FILE *out = s->inv->screen.out;
	char bytes[UNIT_TEXT], rate[UNIT_TEXT], elapsed[UNIT_TEXT];
	bool rates = seconds >= RATE_MIN_S;
	double all_s = now_s() - s->start_s;

	if (s->inv->common.quiet)
		return;
	unit_bytes(rate, rates ? (uint64_t)figure_round((double)m->cost.bytes / seconds) : 0);
	fprintf(out, "%s: %s of this machine, %s%s%s%s, clock %s%s%s%s\n", s->path,
		unit_length(elapsed, figure_round(seconds * 1e9), true),
		unit_bytes(bytes, m->cost.bytes), rates ? " (" : "", rates ? rate : "",
		rates ? "/s)" : "", m->cost.clock, *m->cost.clock_reason ? " (" : "",
		m->cost.clock_reason, *m->cost.clock_reason ? ")" : "");
	print_losses(out, m, seconds);
	fprintf(out, "cost: %.1f ms of CPU time in %s with start and end, %.2f %% of one CPU\n",
		(double)m->cost.cpu_ns / 1e6, unit_length(elapsed, figure_round(all_s * 1e9), true),
		(double)m->cost.cpu_ns / 1e7 / all_s);
	guests_print(s->guests, out);
	record_rings_print(s->rings, out);
	fprintf(out, "next: sonde analyze %s\n", s->path);
}

/* Stops, joins, reports; how it all went. */
static enum exit_code end(struct session *s, enum ending ending)
{
	struct error err = {0}, end_err = {0};
	struct run_machine machine;
	double seconds = now_s() - s->begin_s;
	int ret, joined, saved;

	workload_stop(&s->workload);
	guests_stop(s->guests);
	record_rings_stop(s->rings);
	ret = recorder_stop(s->recorder, &s->machine->cost, &err);
	folder_close(s->sink);
	s->machine->complete = !ret && !*s->machine->cost.missing;
	snprintf(s->machine->why, sizeof(s->machine->why), "%.250s",
		 ret ? err.text : s->machine->cost.missing);
	wipe(s);
	joined = run_join(s->run, &end_err);
	guests_joined(s->guests);
	machine = *s->machine;
	saved = run_end(s->run, joined ? NULL : &end_err);
	if (is_json(s->inv))
		print_json(s, &machine, seconds);
	else
		print_text(s, &machine, seconds);
	record_rings_close(s->rings);
	guests_close(s->guests);
	if (ret)
		complain(s->inv, EXIT_FAILED, "%s; what was recorded until then is in %s", err.text,
			 s->path);
	if (joined || saved)
		complain(s->inv, EXIT_FAILED, "%s", end_err.text);
	if (ret || joined || saved)
		return EXIT_FAILED;
	if (ending == ENDED_BY_USER)
		return complain(s->inv, EXIT_INTERRUPTED, "interrupted: %s ends there", s->path);
	if (s->workload.pid && s->workload.status && !s->inv->common.quiet)
		fprintf(stderr, "sonde record: the command ended with %s %d\n",
			WIFSIGNALED(s->workload.status) ? "signal" : "exit status",
			WIFSIGNALED(s->workload.status) ? WTERMSIG(s->workload.status)
							: WEXITSTATUS(s->workload.status));
	return EXIT_DONE;
}

static bool check_events(const struct invocation *inv, const struct text_list *events)
{
	for (unsigned i = 0; i < events->nr; i++) {
		if (event_is_named(events->items[i]))
			continue;
		complain(inv, EXIT_USAGE, "--event: \"%s\" is not like SYSTEM:EVENT",
			 events->items[i]);
		return false;
	}
	return true;
}

/* False: the user's is too long. */
static bool choose_path(const struct invocation *inv, char *out, size_t room)
{
	time_t now = time(NULL);
	struct tm tm;

	if (inv->common.output)
		return (size_t)snprintf(out, room, "%s", inv->common.output) < room;
	localtime_r(&now, &tm);
	return strftime(out, room, "sonde-%Y%m%d-%H%M%S", &tm);
}

static enum exit_code record(const struct invocation *inv, const struct record_command *opt)
{
	struct session s = {
		.inv = inv,
		.opt = opt,
		.start_s = now_s(),
		.terminal = isatty(STDERR_FILENO),
		.workload.pidfd = -1,
	};
	struct error err = {0};
	char length[UNIT_TEXT];
	int ret;

	if (opt->duration)
		parse_duration(opt->duration, &s.duration_s);
	if (guests_check(inv, &opt->guests) || !check_events(inv, &opt->events))
		return EXIT_USAGE;
	if (opt->purpose && purpose_parse(opt->purpose, &s.purpose, &err))
		return complain(inv, EXIT_USAGE, "--for: %s", err.text);
	if (opt->buffer_kb > BUFFER_KB_MAX)
		return complain(inv, EXIT_USAGE,
				"--buffer-size: %" PRIu64
				" KB for each CPU is more than %u, the most "
				"that there is",
				opt->buffer_kb, BUFFER_KB_MAX);
	if (!choose_path(inv, s.path, sizeof(s.path)))
		return complain(inv, EXIT_USAGE, "-o: the path is too long");
	allow_many_files(&s.usual_files);
	signals_catch_interrupt();
	ret = begin(&s, &err);
	if (ret) {
		give_up(&s);
		return complain(inv, signals_interrupted() ? EXIT_INTERRUPTED : EXIT_FAILED, "%s",
				err.text);
	}
	s.begin_s = now_s();
	if (!inv->common.quiet && !s.workload.pid)
		fprintf(stderr, "sonde record: recording into %s%s%s; ^C ends it\n", s.path,
			s.duration_s ? " for " : "",
			s.duration_s ? unit_length(length, figure_round(s.duration_s * 1e9), true)
				     : "");
	return end(&s, wait_for_end(&s));
}

static enum exit_code recover(const struct invocation *inv, const char *path)
{
	struct error err = {0};
	unsigned done;
	int ret = run_recover(path, &done, &err);

	if (ret)
		return complain(inv, EXIT_FAILED, "%s", err.text);
	if (!inv->common.quiet)
		fprintf(inv->screen.out,
			done ? "%s: %u machine%s recovered\n"
			     : "%s: there was nothing to recover\n",
			path, done, done == 1 ? "" : "s");
	return EXIT_DONE;
}

static enum exit_code run(const struct invocation *inv)
{
	const struct record_command *opt = inv->values;

	if (opt->check)
		return record_check(inv);
	if (opt->recover)
		return recover(inv, opt->recover);
	return record(inv, opt);
}

const struct command record_command = {
	.name = "record",
	.summary = "record this machine's kernel, for sonde analyze",
	.operands = "[-- COMMAND...]",
	.about = "Records until COMMAND ends, the --duration is over, or ^C.  The result is a\n"
		 "directory (-o, default sonde-DATE-TIME) that sonde analyze takes as it is.\n"
		 "Needs root.  No other tracer is disturbed.\n",
	.common = COMMON_OUTPUT | COMMON_FORMAT,
	.output_is_dir = true,
	.options = option_rows,
	.nr_options = ARRAY_SIZE(option_rows),
	.values_bytes = sizeof(struct record_command),
	.run = run,
};
