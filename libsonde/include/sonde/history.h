/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_HISTORY_H
#define SONDE_HISTORY_H

#include <sonde/types.h>

SONDE_BEGIN

/*
 * A history: the fused history of one physical machine and everything inside it, as sonde_analyze()
 * wrote it into a .sonde file.
 *
 *	struct sonde_history *history;
 *	if (sonde_history_open(&history, "run.sonde", &err))
 *		...
 *	sonde_stack_at(history, 0, t, &stack);
 *	sonde_history_close(history);
 *
 * Strings handed out belong to the history and live until sonde_history_close().
 */
struct sonde_history;

/** sonde_history_open - open a history; cost does not depend on its length
 * Returns 0, -EINVAL when the file is no history, or another negative errno.
 */
SONDE_API int sonde_history_open(struct sonde_history **out, const char *path,
				 struct sonde_error *err);

/** sonde_history_close - release it, and all that was handed out; NULL is nothing
 * Rows and events that were made from it are closed before.
 */
SONDE_API void sonde_history_close(struct sonde_history *history);

/** sonde_history_again - the same history once more, for another thread
 * A history is used by one thread at a time.  What does not change (names, rows) is shared, so this
 * costs little memory and no time; each is closed for itself, in any order.  @of may be in use
 * meanwhile.
 */
SONDE_API int sonde_history_again(struct sonde_history **out, const struct sonde_history *of,
				  struct sonde_error *err);

SONDE_API void sonde_history_watch_sized(struct sonde_history *history,
					 const struct sonde_watcher *watcher, size_t watcher_bytes);

/** sonde_history_watch - who is asked whether long calls on this history go on
 * These are sonde_rows_get(), sonde_critical_path(), sonde_compare() and sonde_vms().  They call
 * @watcher->progress() some thousand times a second, with a table's name and -1 for the share: what
 * is left is not known.  Once it returns false the call gives -EINTR, soon and without rows.
 * @watcher is copied; NULL: nobody is asked, as at first.  Its progress() must not use the history.
 */
static inline void sonde_history_watch(struct sonde_history *history,
				       const struct sonde_watcher *watcher)
{
	sonde_history_watch_sized(history, watcher, sizeof(*watcher));
}

/** sonde_history_path - the path it was opened by */
SONDE_API const char *sonde_history_path(const struct sonde_history *history);

/** sonde_history_file_id - which file it is, as text, which differs for every other file and once
 * it is changed For who keeps what was computed from a history.  Returns what snprintf() returns;
 * 128 bytes are enough.
 */
SONDE_API int sonde_history_file_id(const struct sonde_history *history, char *buf, size_t room);

/** sonde_history_begin, sonde_history_end - time of the first event of all traces, and behind the
 * last one
 */
SONDE_API int64_t sonde_history_begin(const struct sonde_history *history);
SONDE_API int64_t sonde_history_end(const struct sonde_history *history);

/** sonde_history_traced - from the first to the last event of the physical machine's trace
 * Traces of guests may begin earlier or end later: there nothing is known of the physical CPUs.
 * Commands tell of this window unless they are asked for another.  It is never empty unless the
 * history is: where a history does not tell it is the whole history.  One that is not complete does
 * not tell the end: it is until when something is known of a CPU of that machine.
 */
SONDE_API void sonde_history_traced(const struct sonde_history *history, int64_t *begin,
				    int64_t *end);

/** sonde_history_complete - false when the writer was killed or the file cut off: the history then
 * ends there */
SONDE_API bool sonde_history_complete(const struct sonde_history *history);

/** sonde_history_ticks_are_ns - false when times are cycles of a counter of unknown rate */
SONDE_API bool sonde_history_ticks_are_ns(const struct sonde_history *history);

/** sonde_history_wall_offset - what to add to a time of the history for Unix time in ns
 * Returns false when the traces do not tell.
 */
SONDE_API bool sonde_history_wall_offset(const struct sonde_history *history, int64_t *offset_ns);

/* ---- what there is ------------------------------------------------------------------------ */

/** struct sonde_machine - a kernel: the physical machine (row 0) or a VM
 * @parent: row of the machine it runs in, -1 for the physical one
 * @level: 0 physical, 1 VM, 2 nested VM ...
 * @traced: it has a trace of its own; else all is known from its parent's
 * @vm_pid: process of the parent that is this VM, -1 unknown
 * @pid_known: false = the parent's trace does not tell processes: the VM goes by the thread that
 *             made its vCPUs' threads, or each vCPU stands as a VM of its own
 * @evidence: how its role was found, in words
 * @begin, @end: its trace's first and last event; both -1: not known, or it has none
 */
struct sonde_machine {
	const char *name;
	int64_t parent;
	unsigned level;
	bool traced;
	const char *hostname;
	const char *release;
	const char *tracer;
	const char *trace_path;
	const char *evidence;
	int64_t vm_pid;
	bool pid_known;
	int64_t begin, end;
};

/** struct sonde_cpu - a physical CPU, or a vCPU of a VM
 * @number: as its own machine counts; -1 = stands for all vCPUs of its machine, which cannot be
 * told apart
 * @host_tid, @host_thread: number and row of the parent's thread that runs it, -1 unknown or none
 * @nested_id: address of the control block that names a nested vCPU, 0 else
 */
struct sonde_cpu {
	int64_t machine;
	int number;
	int64_t host_tid;
	int64_t host_thread;
	uint64_t nested_id;
};

/** struct sonde_thread - a thread from its begin to its end
 * @pid: its process (thread group), -1 unknown
 * @pid_ns: row of its innermost PID namespace, -1 unknown
 * @vcpu: row of the CPU it runs when it is a vCPU's thread, else -1
 * @cgroup: row, -1 unknown
 */
struct sonde_thread {
	int64_t machine;
	int64_t tid, pid, ppid;
	const char *comm;
	int64_t pid_ns;
	int64_t begin, end;
	int64_t vcpu;
	int64_t cgroup;
};

/** struct sonde_pid_ns - a PID namespace; those below the machine's first are containers
 * @parent: row, -1 for the machine's first
 * @name: what its engine calls the container ("docker-0123456789ab"), "" when nothing tells
 */
struct sonde_pid_ns {
	int64_t machine;
	uint64_t inum;
	int64_t parent;
	unsigned level;
	const char *name;
};

/** struct sonde_cgroup - a control group; @id is the number of its directory's inode */
struct sonde_cgroup {
	int64_t machine;
	uint64_t id;
	const char *path;
};

/** struct sonde_identity - something known about a machine as a whole
 * @key: "boot_id", "product_uuid", "vm_name" ...: docs/formats/schema.md has them all
 */
struct sonde_identity {
	int64_t machine;
	const char *key;
	const char *value;
};

/** struct sonde_cpu_times - a CPU's line of /proc/stat, as the recorder read it
 * @cause: of the reading: "start", "vm", "end"
 * @hz: how many of the units make a second; times are since boot; -1 unknown
 */
struct sonde_cpu_times {
	int64_t machine;
	int64_t t;
	const char *cause;
	int cpu;
	int64_t hz;
	int64_t user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice;
};

enum sonde_mode {
	SONDE_MODE_UNKNOWN, /* nothing known yet, or events were lost */
	SONDE_MODE_IDLE,
	SONDE_MODE_USER,
	SONDE_MODE_SYSCALL,
	SONDE_MODE_IRQ,
	SONDE_MODE_SOFTIRQ,
	SONDE_MODE_HYPERVISOR, /* KVM and VMM between VM exit and entry */
	SONDE_MODE_GUEST,      /* in a guest, of which no more is known but maybe the process */
	SONDE_MODE_KERNEL,
	SONDE_MODE_TASK, /* a thread; user or kernel is not known */
};

/** struct sonde_context - what a CPU can be doing: its innermost known layer
 * @cpu: CPU number in @machine
 * @thread: row, -1 unknown
 * @detail: irq, vector, softirq number or exit reason; -1 none
 * @detail_text: the same in words ("openat", "TIMER", "HLT"), "" when there is none
 * @serves: hypervisor: row of the vCPU it works for, -1 a guest of the thread's vCPU, not known which;
 *	else -1
 * @vmm: hypervisor: reason for which KVM has left the exit to the VMM's user space; else -1
 */
struct sonde_context {
	int64_t machine;
	int cpu;
	int64_t thread;
	enum sonde_mode mode;
	int64_t detail;
	const char *detail_text;
	int64_t serves;
	int vmm;
};

/** struct sonde_clock - a piece of a machine's clock model
 * @bound_ns: mapped times are at most this wrong, -1 = nothing limits it
 * @pairs, @readings, @contained, @timers: the evidence that the whole model was made from, by kind:
 *	hypercalls that both sides recorded, limits by readings of both clocks, limits by when the
 *	vCPUs' threads ran, timers that the guest programmed
 * @rate_ppb: how much faster the machine's clock runs than L0's, parts per 10^9
 */
struct sonde_clock {
	int64_t machine;
	int64_t from, to;
	int64_t bound_ns;
	const char *method;
	int64_t pairs;
	int64_t violations;
	int64_t worst_violation_ns;
	int64_t rate_ppb;
	int64_t readings;
	int64_t contained;
	int64_t timers;
};

/** struct sonde_loss - a place where events were lost; @events -1: nobody counted */
struct sonde_loss {
	int64_t machine;
	int cpu;
	int64_t begin, end;
	int64_t events;
};

/**
 * struct sonde_mark - what a guest marked (<sonde/mark.h>): @kind 0 a point, 1 a begin, 2 an end;
 * @id joins begin and end, 0 none; @thread: row, -1 unknown; @by_host: its host saw the hypercall
 */
struct sonde_mark {
	int64_t t;
	int64_t machine;
	int cpu;
	int64_t thread;
	int kind;
	int64_t id;
	const char *text;
	bool by_host;
};

/**
 * struct sonde_problem - what was wrong with the input, and what was done about it; @note: good to
 * know, and no fault (histories of before 2026-11-24 do not tell them apart)
 */
struct sonde_problem {
	int64_t machine;
	const char *text;
	int64_t count;
	bool note;
};

/** struct sonde_left_out - a trace that was given, and is not in the history
 * @name: of its machine, "" when it could not be opened
 * @path: as it was given
 * @reason: in words
 */
struct sonde_left_out {
	const char *name;
	const char *path;
	const char *reason;
};

enum sonde_cause {
	SONDE_CAUSE_UNKNOWN,
	SONDE_CAUSE_TIMER,
	SONDE_CAUSE_DISK,
	SONDE_CAUSE_NETWORK,
	SONDE_CAUSE_IPI,    /* another vCPU of the VM */
	SONDE_CAUSE_DEVICE, /* another device, or it is not known which */
	SONDE_CAUSE_VMM,    /* woken without an interrupt */
	SONDE_CAUSE_HOST,   /* had not halted: waited inside the host */
	SONDE_CAUSE_NONE,   /* did not wait: the interrupt was there before it halted */
};

enum sonde_off {
	SONDE_OFF_NONE,
	SONDE_OFF_UNKNOWN,
	SONDE_OFF_SLICE,  /* its time was up */
	SONDE_OFF_WAKEUP, /* a thread was woken that is due before it */
	SONDE_OFF_CLASS,  /* a thread of a real-time or deadline class had to run */
	SONDE_OFF_MOVED,  /* to be moved to another CPU */
	SONDE_OFF_QUOTA,  /* its cgroup's quota was used up */
	SONDE_OFF_READY, /* it has been woken, or its quota is there again: it waits for its turn */
	SONDE_OFF_THROTTLED, /* of an attribute's value: SONDE_OFF_QUOTA, as the kernel itself said
			      */
};

/** struct sonde_wake - a way in which a vCPU's wait was ended
 * @vcpu: row of the CPU
 * @cause: all that is known in the end, what was learned of the vector included
 * @vector: of the interrupt that ended it, -1 none or unknown
 * @from: row of the vCPU that sent it, -1 none or unknown
 * @by: row of the parent's thread that delivered it, -1 an interrupt handler, or unknown
 * @irq: what the guest calls the interrupt, "" unknown
 * @evidence: how the cause was found, in words
 */
struct sonde_wake {
	int64_t vcpu;
	enum sonde_cause cause;
	int64_t vector;
	int64_t from;
	int64_t by;
	const char *irq;
	const char *evidence;
};

/** struct sonde_vector - what an interrupt vector of a vCPU means
 * @times: deliveries that told something; @agree: those that told @cause
 */
struct sonde_vector {
	int64_t vcpu;
	int64_t number;
	enum sonde_cause cause;
	const char *irq;
	int64_t times, agree;
	const char *evidence;
};

/** struct sonde_meta - provenance: version, time of creation, command line ... */
struct sonde_meta {
	const char *key;
	const char *value;
};

/**
 * sonde_nr_machines, sonde_nr_cpus, sonde_nr_threads, sonde_nr_pid_ns, sonde_nr_contexts,
 * sonde_nr_clocks, sonde_nr_losses, sonde_nr_problems, sonde_nr_left_outs, sonde_nr_wakes,
 * sonde_nr_vectors, sonde_nr_meta, sonde_nr_cgroups, sonde_nr_identities, sonde_nr_cpu_times,
 * sonde_nr_marks - how many rows there are of each; rows are the numbers below it
 */
SONDE_API int64_t sonde_nr_machines(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_cpus(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_threads(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_pid_ns(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_contexts(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_clocks(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_losses(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_problems(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_left_outs(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_wakes(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_vectors(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_meta(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_cgroups(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_identities(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_cpu_times(const struct sonde_history *history);
SONDE_API int64_t sonde_nr_marks(const struct sonde_history *history);

/*
 * Rows by number: sonde_machine_get(history, row, &machine) and so on; O(1).  A row that does not
 * exist gives -ENOENT and leaves *out zeroed.  Text in *out belongs to the history.  Each is an
 * inline call of a function that is told the size of the caller's struct, see sonde/types.h.
 */
#define SONDE_ROW(name)                                                                            \
	static inline int sonde_##name##_get(const struct sonde_history *history, int64_t row,     \
					     struct sonde_##name *out)                             \
	{                                                                                          \
		return sonde_##name##_get_sized(history, row, out, sizeof(*out));                  \
	}

SONDE_API int sonde_machine_get_sized(const struct sonde_history *history, int64_t row,
				      struct sonde_machine *out, size_t out_bytes);
SONDE_API int sonde_cpu_get_sized(const struct sonde_history *history, int64_t row,
				  struct sonde_cpu *out, size_t out_bytes);
SONDE_API int sonde_thread_get_sized(const struct sonde_history *history, int64_t row,
				     struct sonde_thread *out, size_t out_bytes);
SONDE_API int sonde_pid_ns_get_sized(const struct sonde_history *history, int64_t row,
				     struct sonde_pid_ns *out, size_t out_bytes);
SONDE_API int sonde_context_get_sized(const struct sonde_history *history, int64_t row,
				      struct sonde_context *out, size_t out_bytes);
SONDE_API int sonde_clock_get_sized(const struct sonde_history *history, int64_t row,
				    struct sonde_clock *out, size_t out_bytes);
SONDE_API int sonde_loss_get_sized(const struct sonde_history *history, int64_t row,
				   struct sonde_loss *out, size_t out_bytes);
SONDE_API int sonde_problem_get_sized(const struct sonde_history *history, int64_t row,
				      struct sonde_problem *out, size_t out_bytes);
SONDE_API int sonde_left_out_get_sized(const struct sonde_history *history, int64_t row,
				       struct sonde_left_out *out, size_t out_bytes);
SONDE_API int sonde_wake_get_sized(const struct sonde_history *history, int64_t row,
				   struct sonde_wake *out, size_t out_bytes);
SONDE_API int sonde_vector_get_sized(const struct sonde_history *history, int64_t row,
				     struct sonde_vector *out, size_t out_bytes);
SONDE_API int sonde_meta_get_sized(const struct sonde_history *history, int64_t row,
				   struct sonde_meta *out, size_t out_bytes);
SONDE_API int sonde_cgroup_get_sized(const struct sonde_history *history, int64_t row,
				     struct sonde_cgroup *out, size_t out_bytes);
SONDE_API int sonde_identity_get_sized(const struct sonde_history *history, int64_t row,
				       struct sonde_identity *out, size_t out_bytes);
SONDE_API int sonde_cpu_times_get_sized(const struct sonde_history *history, int64_t row,
					struct sonde_cpu_times *out, size_t out_bytes);
SONDE_API int sonde_mark_get_sized(const struct sonde_history *history, int64_t row,
				   struct sonde_mark *out, size_t out_bytes);

SONDE_ROW(machine)
SONDE_ROW(cpu)
SONDE_ROW(thread)
SONDE_ROW(pid_ns)
SONDE_ROW(context)
SONDE_ROW(clock)
SONDE_ROW(loss)
SONDE_ROW(problem)
SONDE_ROW(left_out)
SONDE_ROW(wake)
SONDE_ROW(vector)
SONDE_ROW(meta)
SONDE_ROW(cgroup)
SONDE_ROW(identity)
SONDE_ROW(cpu_times)
SONDE_ROW(mark)
#undef SONDE_ROW

/** sonde_identity_of - what is known of a machine under that key, "" when nothing is
 * The text belongs to the history.  O(identities).
 */
SONDE_API const char *sonde_identity_of(const struct sonde_history *history, int64_t machine,
					const char *key);

/** sonde_find_machine - row of the machine with that name, -1 when there is none; O(machines) */
SONDE_API int64_t sonde_find_machine(const struct sonde_history *history, const char *name);

/** sonde_find_cpu - row of a machine's CPU, -1 when there is none */
SONDE_API int64_t sonde_find_cpu(const struct sonde_history *history, int64_t machine, int number);

/** sonde_next_cpu - the machine's CPU with the next number after @number, -1 when there is none
 * From @number INT_MIN on this walks a machine's CPUs in their own order.  O(CPUs of the history).
 */
SONDE_API int64_t sonde_next_cpu(const struct sonde_history *history, int64_t machine, int number);

/** sonde_find_thread - row of the thread that had @tid at time @t, -1 when there is none
 * -ENOMEM is no row, either.  The first call sorts all threads; later ones take O(log threads).
 */
SONDE_API int64_t sonde_find_thread(struct sonde_history *history, int64_t machine, int64_t tid,
				    int64_t t);

/** sonde_mode_name, sonde_cause_name, sonde_off_name - the word that tables and JSON have for it
 * "unknown" for a number that is none.  The text is the library's own and is never freed.
 */
SONDE_API const char *sonde_mode_name(enum sonde_mode mode);
SONDE_API const char *sonde_cause_name(enum sonde_cause cause);
SONDE_API const char *sonde_off_name(enum sonde_off off);

/* ---- names for people: what snprintf() would return ---------------------------------------- */

/** sonde_thread_label - "comm[tid]", and "=vm/1" behind it when it is a vCPU's; "-" for row -1
 * As all labels: returns what snprintf() would, and writes at most @room bytes.  Names are the
 * traces': for a terminal, control characters are the caller's to replace.
 */
SONDE_API int sonde_thread_label(const struct sonde_history *history, int64_t row, char *buf,
				 size_t room);
/** sonde_cpu_label - "machine/number" */
SONDE_API int sonde_cpu_label(const struct sonde_history *history, int64_t row, char *buf,
			      size_t room);
/** sonde_pid_ns_label - what the container's engine calls it, else its number */
SONDE_API int sonde_pid_ns_label(const struct sonde_history *history, int64_t row, char *buf,
				 size_t room);
/** sonde_context_label - "machine thread syscall openat", all that a context says */
SONDE_API int sonde_context_label(const struct sonde_history *history, int64_t row, char *buf,
				  size_t room);

/* ---- what was when ------------------------------------------------------------------------- */

/* An attribute: something that has one value at every moment.  docs/formats/schema.md lists them
 * by path. */
#define SONDE_NO_ATTR UINT32_MAX

/** sonde_attr_find - attribute with that path ("host0/cpu0/runs"), SONDE_NO_ATTR when there is none
 * O(length of the path).
 */
SONDE_API uint32_t sonde_attr_find(const struct sonde_history *history, const char *path);

/** sonde_attr_of_cpu - attribute @name ("runs", "state", "on", "task", "exit", "woken", "why_off")
 * of a CPU given by row; SONDE_NO_ATTR when it has none such */
SONDE_API uint32_t sonde_attr_of_cpu(const struct sonde_history *history, int64_t cpu,
				     const char *name);

/** sonde_attr_of_thread - attribute @name ("state", "cpu") of a thread given by row; SONDE_NO_ATTR
 * when it has none such */
SONDE_API uint32_t sonde_attr_of_thread(const struct sonde_history *history, int64_t thread,
					const char *name);

/** sonde_nr_attrs - attributes are the numbers below this */
SONDE_API uint32_t sonde_nr_attrs(const struct sonde_history *history);

/** struct sonde_interval - [@begin, @end) with one value; 0 = none, rows are stored as row + 1 */
struct sonde_interval {
	int64_t begin, end;
	uint32_t value;
};

/** sonde_interval_at - the interval of @attr that holds @t; O(log n)
 * -ENOENT: no such attribute; -ERANGE: @t is not in the history; others: the file is damaged there.
 */
SONDE_API int sonde_interval_at(struct sonde_history *history, uint32_t attr, int64_t t,
				struct sonde_interval *out);

/** sonde_interval_walk - calls @each for the intervals of @attr that touch [begin, end), in order
 * First and last may stick out.  @each returns false to stop.  Returns 0, -ENOENT: no such
 * attribute, -EIO: the file is damaged there; what comes before has been handed over.
 * O(log n + intervals).
 */
SONDE_API int sonde_interval_walk(struct sonde_history *history, uint32_t attr, int64_t begin,
				  int64_t end,
				  bool (*each)(const struct sonde_interval *i, void *data),
				  void *data);

/** sonde_attr_next_change - when the value of @attr changes next after @t, SONDE_TIME_MAX: never
 * Returns 0, -ENOENT: no such attribute, -EIO: the file is damaged there.  O(log n).
 */
SONDE_API int sonde_attr_next_change(struct sonde_history *history, uint32_t attr, int64_t t,
				     int64_t *out);

/** sonde_attr_prev_change - when it last changed, at or before @t; SONDE_TIME_MIN: never
 * Errors and cost are those of sonde_attr_next_change().
 */
SONDE_API int sonde_attr_prev_change(struct sonde_history *history, uint32_t attr, int64_t t,
				     int64_t *out);

/** struct sonde_pixels - at most one value per pixel
 * @first, @nr: pixels
 * @share: lower bound of the time the value held in them, 255 = all of it
 * @exact: false = taken from summaries
 */
struct sonde_pixels {
	uint32_t first, nr;
	uint32_t value;
	uint8_t share;
	bool exact;
};

/** sonde_pixels_walk - a window as a picture: for each of @nr attributes, in order, what its pixels
 * show
 * @pixels: into how many the window is divided
 * @each: called once for each attribute, @row counts them; its array is gone when it returns
 * Returns 0 or a negative errno: -EIO where the file is damaged.  O(@nr * @pixels), however long
 * the window is: it is read from summaries.
 */
SONDE_API int sonde_pixels_walk(struct sonde_history *history, const uint32_t *attrs, unsigned nr,
				int64_t begin, int64_t end, unsigned pixels,
				void (*each)(unsigned row, const struct sonde_pixels *pixels,
					     unsigned nr, void *data),
				void *data);

/** struct sonde_time_share - how long an attribute had a value */
struct sonde_time_share {
	uint32_t value;
	int64_t time_ns;
};

/** sonde_interval_sum - exact time per value in [begin, end), longest first
 * *out is allocated with malloc(), freed with free().  Returns 0, -ENOENT: no such attribute, -EIO:
 * the file is damaged there.  O(log n) and the values: all but the window's ends is summed already.
 */
SONDE_API int sonde_interval_sum(struct sonde_history *history, uint32_t attr, int64_t begin,
				 int64_t end, struct sonde_time_share **out, unsigned *nr);

#define SONDE_LAYERS_MAX 8

/** struct sonde_frame - one layer of a physical CPU: that machine's CPU and thread, -1 unknown */
struct sonde_frame {
	int64_t machine;
	int cpu;
	int64_t thread;
};

/** struct sonde_stack - everything a physical CPU was doing at one moment
 * @begin, @end: as long as this lasted
 * @context: row, -1 when nothing is known
 * @mode, @detail_text: of the innermost layer
 * @bound_ns: what is said of this moment may hold for one up to this far away: the error bound of
 *            the layers' clocks; -1 = no limit known
 * @nr: layers; frames[0] is the physical machine's, frames[nr - 1] the innermost
 */
struct sonde_stack {
	int64_t begin, end;
	int64_t context;
	enum sonde_mode mode;
	const char *detail_text;
	int64_t serves;
	int64_t bound_ns;
	unsigned nr;
	struct sonde_frame frames[SONDE_LAYERS_MAX];
};

SONDE_API int sonde_stack_at_sized(struct sonde_history *history, int cpu, int64_t t,
				   struct sonde_stack *out, size_t out_bytes);

/** sonde_stack_at - what physical CPU @cpu (number) was doing at @t, all layers; O(log n)
 * Returns 0, -ENOENT: there is no such CPU, -ERANGE: @t is outside of the history, -EIO: the file
 * is damaged there.  @out->detail_text belongs to the history.
 */
static inline int sonde_stack_at(struct sonde_history *history, int cpu, int64_t t,
				 struct sonde_stack *out)
{
	return sonde_stack_at_sized(history, cpu, t, out, sizeof(*out));
}

SONDE_END

#endif
