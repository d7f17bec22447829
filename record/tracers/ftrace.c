/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ftrace as a tracer: an instance of our own, drained into the sink, between the head and the tail
 * of a trace.dat.
 */
#include "record/tracers/datfile.h"
#include "record/tracers/drain.h"
#include "record/tracers/hypercalls.h"
#include "record/tracers/hypercalls_bpf.h"
#include "record/tracers/throttle.h"
#include "record/tracers/tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define BUFFER_KB_MOST 8192u
#define BUFFER_KB_LEAST 512u
#define MEMORY_SHARE 32u /* all buffers together: so much of what is available */
#define WRITER "sonde"

struct ftrace {
	struct tracer tracer;
	struct instance instance;
	struct drain *drain;
	struct hypercalls *calls; /* NULL: hypertrace calls are events like others */
	struct event_list events;
	struct tsc_rate rate;
	bool rate_known;
	uint64_t trace_id;
	unsigned tails; /* written */
	int tracing_dir;
	uint64_t lost; /* when tracing went off */
	uint64_t bytes;
};

static struct ftrace *ftrace_of(struct tracer *t)
{
	return (struct ftrace *)t;
}

static void say_gaps(const struct record_options *opt, const struct event_gaps *gaps)
{
	if (gaps->no_kvm)
		tracer_notice(opt, "this kernel has no KVM events (is the module kvm loaded?): "
				   "VMs started here will not be seen");
	if (gaps->nr_missing)
		tracer_notice(opt, "this kernel does not have %u of the events: %s",
			      gaps->nr_missing, gaps->missing);
}

static int choose_events(struct ftrace *f, const struct record_options *opt, struct error *err)
{
	int dir = openat(f->tracing_dir, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned purpose = event_purpose(opt->purpose, !strcmp(f->tracer.clock, "mono"));
	struct event_gaps gaps;
	int ret;

	if (dir < 0)
		return fail(err, -errno, "cannot open tracefs' events: %s", strerror(errno));
	ret = select_events(dir, purpose, opt->events, opt->nr_events, &f->events, &gaps, err);
	close(dir);
	if (!ret)
		say_gaps(opt, &gaps);
	return ret;
}

/* An event that is not to be had in full is better left out than a flood. */
static bool set_filter(struct ftrace *f, const struct event_name *e,
		       const struct record_options *opt)
{
	struct error err = {0};
	char file[384];

	snprintf(file, sizeof(file), "events/%.64s/%.256s/filter", e->system, e->name);
	if (!e->filter || !instance_set(&f->instance, file, e->filter, &err))
		return true;
	tracer_notice(opt, "%s:%s is not recorded, which may cost exactness: %s", e->system,
		      e->name, err.text);
	return false;
}

static int enable_events(struct ftrace *f, const struct record_options *opt, struct error *err)
{
	bool no_probes = false;

	for (unsigned i = 0; i < f->events.nr; i++) {
		const struct event_name *e = &f->events.items[i];
		bool is_probe = !strcmp(e->system, "sonde");
		char file[384];
		int ret;

		if ((is_probe && no_probes) || !set_filter(f, e, opt))
			continue;
		snprintf(file, sizeof(file), "events/%.64s/%.256s/enable", e->system, e->name);
		ret = instance_set(&f->instance, file, "1", err);
		if (ret && !is_probe)
			return ret;
		/* Another recorder that ends may have taken the probes with it. */
		no_probes |= ret;
	}
	return 0;
}

/* Memory that can be had without pushing anything out, in KB. */
static uint64_t available_kb(void)
{
	char text[2048];
	const char *p;

	read_small(AT_FDCWD, "/proc/meminfo", text, sizeof(text));
	p = strstr(text, "\nMemAvailable:");
	return p ? strtoull(p + strlen("\nMemAvailable:"), NULL, 10) : 0;
}

static unsigned choose_buffer_kb(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t kb = available_kb() / MEMORY_SHARE / (uint64_t)(cpus > 0 ? cpus : 1);

	if (kb > BUFFER_KB_MOST)
		return BUFFER_KB_MOST;
	return kb < BUFFER_KB_LEAST ? BUFFER_KB_LEAST : (unsigned)kb;
}

static int set_buffer(struct ftrace *f, const struct record_options *opt, struct error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%u", opt->buffer_kb ? opt->buffer_kb : choose_buffer_kb());
	return instance_set(&f->instance, "buffer_size_kb", text, err);
}

static int set_clock(struct ftrace *f, const struct record_options *opt, struct error *err)
{
	struct clock_choice choice;
	char available[512];
	int ret;

	read_small(f->instance.dir, "trace_clock", available, sizeof(available));
	ret = clock_choose(available, opt->clock, &choice, err);
	if (ret)
		return ret;
	snprintf(f->tracer.clock, sizeof(f->tracer.clock), "%s", choice.name);
	snprintf(f->tracer.clock_reason, sizeof(f->tracer.clock_reason), "%s", choice.reason);
	f->rate_known = tsc_rate(&f->rate);
	f->tracer.tsc_khz = f->rate.khz;
	return instance_set(&f->instance, "trace_clock", choice.name, err);
}

static int write_head(struct ftrace *f, struct error *err)
{
	struct sink *sink = f->tracer.sink;
	struct buffer head = {0};
	int ret = datfile_head(&head, f->tracing_dir, &f->events, err);

	if (!ret)
		ret = sink->ops->write(sink, SINK_HEAD, 0, head.data, head.len_bytes, err);
	if (!ret)
		f->bytes += head.len_bytes;
	buffer_release(&head);
	return ret;
}

static int write_tail(struct ftrace *f, struct error *err)
{
	bool is_tsc = !strcmp(f->tracer.clock, "x86-tsc");
	struct sink *sink = f->tracer.sink;
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct buffer comms = {0}, text = {0};
	struct dat_tail tail = {
		.comms = &comms,
		.instance_dir = f->instance.dir,
		.nr_cpus = nr_cpus > 0 ? (unsigned)nr_cpus : 1,
		.rate = is_tsc && f->rate_known ? &f->rate : NULL,
		.trace_id = f->trace_id,
		.writer = WRITER,
	};
	int ret;

	comms_print(&f->tracer.comms, &comms);
	ret = comms.error ? fail(err, comms.error, "out of memory for the names of threads")
			  : datfile_tail(&text, &tail, err);
	if (!ret)
		ret = sink->ops->write(sink, SINK_TAIL, f->tails++, text.data, text.len_bytes, err);
	if (!ret)
		f->bytes += text.len_bytes;
	buffer_release(&comms);
	buffer_release(&text);
	return ret;
}

static bool has_event(const struct event_list *list, const char *system, const char *name)
{
	for (unsigned i = 0; i < list->nr; i++) {
		if (!strcmp(list->items[i].system, system) && !strcmp(list->items[i].name, name))
			return true;
	}
	return false;
}

/* What the BPF program beside the trace can do for these events. */
static unsigned program_tasks(const struct ftrace *f, const struct record_options *opt)
{
	unsigned tasks = 0;

	if (!has_event(&f->events, "kvm", "kvm_exit") || !has_event(&f->events, "kvm", "kvm_entry"))
		return 0;
	if (opt->fold_calls && has_event(&f->events, "kvm", "kvm_hypercall"))
		tasks |= HYPERCALLS_FOLD;
	if (opt->tell_spaces && !hypercalls_bpf_no_spaces())
		tasks |= HYPERCALLS_SPACES;
	return tasks;
}

static void start_program(struct ftrace *f, const struct record_options *opt)
{
	unsigned tasks = program_tasks(f, opt);
	struct error why = {0};
	int ret = 0;

	if (tasks)
		ret = hypercalls_start(&f->calls, &f->instance, f->tracer.sink, tasks,
				       opt->calls_per_s, &why);
	/* What reads guests' registers is the part that a kernel may refuse. */
	if (ret && tasks == (HYPERCALLS_FOLD | HYPERCALLS_SPACES)) {
		tasks = HYPERCALLS_FOLD;
		ret = hypercalls_start(&f->calls, &f->instance, f->tracer.sink, tasks,
				       opt->calls_per_s, NULL);
	}
	if (ret && tasks & HYPERCALLS_FOLD)
		tracer_notice(opt,
			      "each hypertrace call of a guest is recorded as three events: %s",
			      why.text);
	if (ret)
		tasks = 0;
	if (opt->want_spaces && !(tasks & HYPERCALLS_SPACES))
		tracer_notice(opt, "processes of guests without a tracer are not told apart: %s",
			      *why.text			   ? why.text
			      : hypercalls_bpf_no_spaces() ? hypercalls_bpf_no_spaces()
							   : "no VM's exits are recorded");
}

static int ftrace_on(struct tracer *t, struct error *err)
{
	struct ftrace *f = ftrace_of(t);
	int ret = drain_start(&f->drain, &f->instance, t->sink, err);

	return ret ? ret : instance_switch(&f->instance, true, err);
}

/* The first tail, which stands for the last one when the recorder is killed. */
static int ftrace_named(struct tracer *t, struct error *err)
{
	struct ftrace *f = ftrace_of(t);

	return f->tails ? 0 : write_tail(f, err);
}

static int ftrace_off(struct tracer *t, struct error *err)
{
	struct ftrace *f = ftrace_of(t);
	struct error calls_err = {0}, tail_err = {0};
	int ret, calls_ret, tail_ret;

	instance_switch(&f->instance, false, NULL);
	f->lost = instance_lost(&f->instance);
	ret = drain_stop(f->drain, &t->cpu_ns, &f->bytes, err);
	f->drain = NULL;
	calls_ret = hypercalls_stop(f->calls, t, &f->bytes, &f->lost, &calls_err);
	f->calls = NULL;
	comms_read_saved(&t->comms, f->tracing_dir);
	tail_ret = write_tail(f, &tail_err);
	if (!ret && (calls_ret || tail_ret) && err)
		*err = calls_ret ? calls_err : tail_err;
	return ret ? ret : calls_ret ? calls_ret : tail_ret;
}

static int ftrace_check(struct tracer *t, struct error *err)
{
	struct ftrace *f = ftrace_of(t);

	return f->drain ? drain_check(f->drain, err) : 0;
}

static uint64_t ftrace_bytes(struct tracer *t)
{
	struct ftrace *f = ftrace_of(t);

	return f->bytes + (f->drain ? drain_bytes(f->drain) : 0) +
	       (f->calls ? hypercalls_bytes(f->calls) : 0);
}

static uint64_t ftrace_lost(struct tracer *t)
{
	struct ftrace *f = ftrace_of(t);

	return (f->drain ? instance_lost(&f->instance) : f->lost) +
	       (f->calls ? hypercalls_lost(f->calls) : 0);
}

static int ftrace_close(struct tracer *t, struct error *err)
{
	struct ftrace *f = ftrace_of(t);
	int ret;

	drain_stop(f->drain, NULL, NULL, NULL);
	hypercalls_stop(f->calls, t, &f->bytes, &f->lost, NULL);
	ret = instance_close(&f->instance, err);
	if (f->tracing_dir >= 0)
		throttle_probes_remove(f->tracing_dir);
	event_list_release(&f->events);
	comms_release(&t->comms);
	if (f->tracing_dir >= 0)
		close(f->tracing_dir);
	free(f);
	return ret;
}

static const struct tracer_ops ftrace_ops = {
	.on = ftrace_on,
	.named = ftrace_named,
	.off = ftrace_off,
	.check = ftrace_check,
	.bytes = ftrace_bytes,
	.lost = ftrace_lost,
	.close = ftrace_close,
};

/* What is written into the machine's own trace_marker, too, not only into this instance's, whose
 * name nobody knows; Linux 6.16 can, and older ones record without. */
static void take_marks(struct ftrace *f)
{
	instance_set(&f->instance, "options/copy_trace_marker", "1", NULL);
}

/* Each step needs what those before it have made. */
static int prepare(struct ftrace *f, const struct record_options *opt, struct error *err)
{
	char dir[256];
	unsigned dead;
	int ret;

	ret = tracefs_usable(dir, sizeof(dir), err);
	if (ret)
		return ret;
	f->tracing_dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->tracing_dir < 0)
		return fail(err, -errno, "cannot open %s: %s", dir, strerror(errno));
	dead = instance_clean();
	if (dead)
		tracer_notice(opt, "removed what %u killed recorder%s left in tracefs", dead,
			      dead == 1 ? "" : "s");
	/* Where there are none, an idle CPU tells of a quota, later and not always. */
	throttle_probes_add(f->tracing_dir, NULL);
	ret = instance_open(&f->instance, err);
	if (!ret)
		ret = set_clock(f, opt, err);
	if (!ret)
		ret = choose_events(f, opt, err);
	if (!ret)
		ret = set_buffer(f, opt, err);
	if (!ret)
		ret = write_head(f, err);
	if (!ret)
		ret = enable_events(f, opt, err);
	if (!ret) {
		take_marks(f);
		start_program(f, opt);
		f->tracer.marker = f->instance.marker;
	}
	return ret;
}

int ftrace_open(struct tracer **out, const struct record_options *options, struct sink *sink,
		struct error *err)
{
	struct ftrace *f = calloc(1, sizeof(*f));
	int ret;

	*out = NULL;
	if (!f)
		return fail(err, -ENOMEM, "out of memory");
	f->tracer.ops = &ftrace_ops;
	f->tracer.sink = sink;
	f->tracer.marker = -1;
	f->tracing_dir = -1;
	if (getrandom(&f->trace_id, sizeof(f->trace_id), GRND_NONBLOCK) < 0)
		f->trace_id = (uint64_t)getpid();
	ret = prepare(f, options, err);
	if (ret) {
		ftrace_close(&f->tracer, NULL);
		return ret;
	}
	*out = &f->tracer;
	return 0;
}
