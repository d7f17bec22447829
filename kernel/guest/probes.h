/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SONDE_GUEST_PROBES_H
#define SONDE_GUEST_PROBES_H

#include <linux/build_bug.h>
#include <linux/tracepoint.h>

/* Classes of events, as users name them: each is switched on and off as one. */
#define EVENT_CLASSES(X)                                                                           \
	X(SCHED, "sched")                                                                          \
	X(TASK, "task")                                                                            \
	X(SYSCALL, "syscall")                                                                      \
	X(IRQ, "irq")                                                                              \
	X(SOFTIRQ, "softirq")                                                                      \
	X(VECTOR, "vector")                                                                        \
	X(TIMER, "timer")                                                                          \
	X(BLOCK, "block")                                                                          \
	X(NET, "net")

enum event_class {
#define X(id, name) CLASS_##id,
	EVENT_CLASSES(X)
#undef X
		NR_CLASSES,
};

/*
 * A tracepoint, found by its name when the module loads: most are not exported.  Files that fill a
 * table in include the header of each tracepoint's events.
 */
struct probe {
	const char *tracepoint;
	void *function;
	enum event_class class;
	struct tracepoint *at;
	bool on;
};

/* Calls nothing: a probe that takes other arguments than its tracepoint has does not compile. */
#define PROBE_FITS(name, probe_function)                                                           \
	(sizeof((check_trace_callback_type_##name(probe_function), 0)) == sizeof(int))

#define PROBE(class_id, name, probe_function)                                                      \
	{                                                                                          \
		.tracepoint = #name, .function = (void *)(probe_function),                         \
		.class = CLASS_##class_id + BUILD_BUG_ON_ZERO(!PROBE_FITS(name, probe_function))   \
	}

struct probe_table {
	struct probe *probes;
	unsigned int nr;
};

extern const struct probe_table sched_probes, interrupt_probes, io_probes;

/* Finds the tracepoints; those that a kernel lacks are said in its log and left out. */
void probes_find(void);
/*
 * Switches to the classes in the bit mask @classes; when that fails, back to those that were on.
 * Not in parallel with itself.
 */
int probes_set(unsigned long classes);
unsigned long probes_classes(void);
/* After it no probe runs any more. */
void probes_stop(void);

/* "sched,irq", "all" or "" as a bit mask; -EINVAL. */
int classes_parse(const char *list, unsigned long *classes);
int classes_print(unsigned long classes, char *to, size_t size);

#endif
