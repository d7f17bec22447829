/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_EVENTS_H
#define SONDE_EVENTS_H

#include <sonde/analyze.h>
#include <sonde/history.h>

SONDE_BEGIN

/*
 * The events of all traces of a history as one sequence in L0 time.  Traces that cannot be placed
 * beside the others are in it, too, by the best guess there is: sonde_events_clock_get() says so.
 *
 *	struct sonde_events *e;
 *	struct sonde_event event;
 *	if (sonde_events_open(&e, &inputs, NULL, &err))
 *		...
 *	while ((ret = sonde_events_next(e, &event)) > 0)
 *		printf("%s\n", event.name);
 *	sonde_events_close(e);
 */
struct sonde_events;

/** struct sonde_event - one event; its strings live until the next sonde_events_next()
 * @name: the tracer's own name
 * @kind: what Sonde takes it for, "other" when it has no meaning to it
 * @ticks: the tracer's own time stamp
 * @cpu: CPU of @machine, -1 unknown
 * @tid: thread of @machine that was running, -1 when the record does not say
 */
struct sonde_event {
	int64_t t_ns;
	uint64_t ticks;
	int64_t machine;
	const char *machine_name;
	int cpu;
	int64_t tid;
	const char *name;
	const char *kind;
};

SONDE_API int sonde_events_open_sized(struct sonde_events **out, const struct sonde_inputs *in,
				      size_t in_bytes, const struct sonde_watcher *watcher,
				      size_t watcher_bytes, struct sonde_error *err);

/** sonde_events_open - opens the traces and aligns their clocks; @watcher may be NULL */
static inline int sonde_events_open(struct sonde_events **out, const struct sonde_inputs *in,
				    const struct sonde_watcher *watcher, struct sonde_error *err)
{
	return sonde_events_open_sized(out, in, sizeof(*in), watcher, sizeof(*watcher), err);
}

/** sonde_history_events - the events that a history was made of, from its traces where they were
 * Machines and clocks are the history's: nothing is aligned, this takes no longer than opening the
 * files.  A machine's row in the history and its index here may differ: names tell.  -ENOENT when a
 * trace is not there any more.
 */
SONDE_API int sonde_history_events(struct sonde_events **out, const struct sonde_history *history,
				   struct sonde_error *err);

/** sonde_events_close - closes the traces; NULL is nothing */
SONDE_API void sonde_events_close(struct sonde_events *e);

/** sonde_events_ticks_are_ns - as sonde_history_ticks_are_ns() */
SONDE_API bool sonde_events_ticks_are_ns(const struct sonde_events *e);

/** sonde_events_nr_machines - machines that have a trace in it; they are numbered from 0 */
SONDE_API int64_t sonde_events_nr_machines(const struct sonde_events *e);

/** sonde_events_left_out - how many traces are not in it: they could not be read, or are copies;
 * the watcher heard why */
SONDE_API unsigned sonde_events_left_out(const struct sonde_events *e);

/** sonde_events_machine_name - "" when there is no such machine */
SONDE_API const char *sonde_events_machine_name(const struct sonde_events *e, int64_t machine);

/** struct sonde_events_clock - how a machine's times were found
 * @method: as in the history's table of clocks; "none": nothing relates its clock to the others'
 * @bound_ns: its times are at most this wrong, anywhere; -1: nothing limits it
 * @evidence: how its place and its clock are known, in words
 */
struct sonde_events_clock {
	const char *method;
	int64_t bound_ns;
	const char *evidence;
};

SONDE_API int sonde_events_clock_get_sized(const struct sonde_events *e, int64_t machine,
					   struct sonde_events_clock *out, size_t out_bytes);

/** sonde_events_clock_get - -ENOENT when there is no such machine */
static inline int sonde_events_clock_get(const struct sonde_events *e, int64_t machine,
					 struct sonde_events_clock *out)
{
	return sonde_events_clock_get_sized(e, machine, out, sizeof(*out));
}

SONDE_API void sonde_events_watch_sized(struct sonde_events *e, const struct sonde_watcher *watcher,
					size_t watcher_bytes);

/** sonde_events_watch - who is asked whether sonde_events_next() goes on looking
 * A filter may let little of very much through.  @watcher->progress() is called after every so many
 * thousand events that were read, with the share of all that has been read.  Once it returns false,
 * sonde_events_next() gives -EINTR; called again, it goes on.  @watcher is copied; NULL: nobody is
 * asked, as at first.  The watcher of sonde_events_open() is for opening alone.
 */
static inline void sonde_events_watch(struct sonde_events *e, const struct sonde_watcher *watcher)
{
	sonde_events_watch_sized(e, watcher, sizeof(*watcher));
}

/* Filters, before the first sonde_events_next(); several of one kind: any of them. */
/** sonde_events_only_name - by event name, a shell pattern ("kvm_*"); tracer's or Sonde's name
 * Places where events were lost ("lost") are always shown: what is wanted may be among those.
 */
SONDE_API int sonde_events_only_name(struct sonde_events *e, const char *pattern);
/** sonde_events_only_machine - -ENOENT when there is no such machine */
SONDE_API int sonde_events_only_machine(struct sonde_events *e, const char *name);
/** sonde_events_only_cpu - -ENOENT when no machine has a trace of such a CPU */
SONDE_API int sonde_events_only_cpu(struct sonde_events *e, int cpu);
/** sonde_events_only_time - [begin, end) in L0 time, see sonde/time.h for text
 * May be called again at any time: the next event is then the first of that window.  Nothing is
 * opened or aligned anew.
 */
SONDE_API void sonde_events_only_time(struct sonde_events *e, int64_t begin, int64_t end);

SONDE_API int sonde_events_next_sized(struct sonde_events *e, struct sonde_event *out,
				      size_t out_bytes);

/** sonde_events_next - the next event: 1, 0 at the end, or -errno */
static inline int sonde_events_next(struct sonde_events *e, struct sonde_event *out)
{
	return sonde_events_next_sized(e, out, sizeof(*out));
}

/** sonde_event_print - all fields of the current event, "name=value name=value ..."
 * Returns the length it wanted, as snprintf() does.
 */
SONDE_API size_t sonde_event_print(const struct sonde_events *e, char *buf, size_t room);

/** sonde_event_int - an integer field of the current event
 * -ENOENT when it has none such; -ENODATA when its value is unknown: "events" of a "lost" event.
 */
SONDE_API int sonde_event_int(const struct sonde_events *e, const char *field, int64_t *out);

SONDE_END

#endif
