/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_ANALYZE_H
#define SONDE_ANALYZE_H

#include <sonde/types.h>

SONDE_BEGIN

/*
 * From traces to a history: opens the traces, finds out which machine is which and how their
 * clocks relate, merges all events into one sequence, fuses them and writes the .sonde file.
 */

/** struct sonde_inputs - the traces of one history, and what the user knows about them
 * @paths: trace.dat and perf.data files, CTF directories, or directories that are searched for
 * traces
 * @guests: "NAME=PATH": the trace at (or under) PATH is the machine NAME; several there are refused
 * @parents: "CHILD=PARENT": machine CHILD runs in PARENT; PARENT "-" makes it the physical one
 * @tsc_offsets: "NAME=CYCLES": NAME's TSC is its parent's plus CYCLES
 * @tsc_khz: rate of the physical TSC, 0 = find out
 * @threads: workers, 0 = as many as there are CPUs
 * @command_line: kept in the history as where it came from; may be NULL
 */
struct sonde_inputs {
	const char *const *paths;
	unsigned nr_paths;
	const char *const *guests;
	unsigned nr_guests;
	const char *const *parents;
	unsigned nr_parents;
	const char *const *tsc_offsets;
	unsigned nr_tsc_offsets;
	uint64_t tsc_khz;
	unsigned threads;
	const char *command_line;
};

/** struct sonde_analyze_result - what was done
 * @machines: that have a trace; those inside them that have none are in the history, too
 * @events: those that say what a CPU does; others are passed over
 * @ticks_are_ns: false when @begin and @end are cycles, see sonde_history_ticks_are_ns()
 * @left_out: traces that are not in the history: see struct sonde_left_out
 * @user_events: of @events those of user space's traces, which say where a thread was, but not what
 *               a CPU does
 * @interrupted: progress() asked to stop: the history ends at @end
 */
struct sonde_analyze_result {
	unsigned traces;
	unsigned machines;
	uint64_t events;
	uint64_t input_bytes;
	uint64_t output_bytes;
	uint64_t problems;
	int64_t begin, end;
	bool interrupted;
	bool ticks_are_ns;
	unsigned left_out;
	uint64_t user_events;
	uint64_t notes;
};

SONDE_API int sonde_analyze_sized(const struct sonde_inputs *in, size_t in_bytes,
				  const char *output, const struct sonde_watcher *watcher,
				  size_t watcher_bytes, struct sonde_analyze_result *result,
				  size_t result_bytes, struct sonde_error *err);

/** sonde_analyze - traces in, one history out
 * An existing file is only overwritten when it is a history.  @watcher and @result may be NULL.
 */
static inline int sonde_analyze(const struct sonde_inputs *in, const char *output,
				const struct sonde_watcher *watcher,
				struct sonde_analyze_result *result, struct sonde_error *err)
{
	return sonde_analyze_sized(in, sizeof(*in), output, watcher, sizeof(*watcher), result,
				   sizeof(*result), err);
}

/** sonde_find_traces - paths of all traces at or under @path, sorted
 * *out is one malloc()ed block: an array of strings followed by their text.  Returns how many
 * there are, or a negative errno.
 */
SONDE_API int sonde_find_traces(const char *path, char ***out, struct sonde_error *err);

SONDE_END

#endif
