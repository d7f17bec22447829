/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SONDE_GUEST_STREAM_H
#define SONDE_GUEST_STREAM_H

#include <asm/msr.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/timer.h>

#include "channel/writer.h"

/*
 * The stream of events of each CPU, and how a probe writes to it:
 *
 *	struct stream *s = stream_enter(&flags);
 *
 *	if (!s)
 *		return;                         counted as dropped
 *	STREAM_PUT(s, ht_record(&s->w, s->now, HT_..., args, 1, NULL, 0));
 *	stream_leave(s, flags);
 *
 * Interrupts are off in between, so a CPU's stream has one writer at a time; what comes in between
 * nevertheless (an NMI, a fault in a probe) finds it busy and is counted, never waits.  Nothing
 * here takes a lock, allocates or sleeps: probes run below any of the kernel's locks.
 */

struct stream {
	struct ht_writer w;
	u64 now;     /* TSC of the event at hand */
	u64 events;  /* ever written; no tables */
	u32 send_at; /* bytes of the block at which the channel wants to be asked */
	bool busy;
	bool open; /* a block has begun */
	u16 cpu;
	u32 dropped_now; /* not yet told the writer; changed by this_cpu operations */
	u64 dropped;
	u64 begin_events;	  /* when the block began */
	u64 bytes, calls;	  /* that left */
	unsigned long tables_due; /* jiffies */
	struct timer_list timer;
	/* Of channels in memory: others may write to the ring, so nothing is read back from it. */
	struct ht_ring *ring;
	u32 slot, nr_slots;
	u64 written; /* blocks */
	u8 *buffer;  /* of channels that send: a block */
	u32 sent;    /* bytes of it that left */
};

DECLARE_PER_CPU(struct stream, sonde_streams);

/*
 * Rings in a device's memory go when the device is removed, while everything runs.  Held for
 * writing while they go, for reading by who uses rings and is not the CPU whose ring it is.
 */
extern struct rw_semaphore sonde_rings_lock;

/*
 * Where blocks go.  begin, send and end are called with interrupts off and the stream entered; end
 * also for the streams of other CPUs: in panic, when they have stopped, and when the module goes,
 * of those that went before.
 */
struct channel {
	const char *name;
	int default_shift;		  /* of time */
	int (*open)(const char **why);	  /* -errno: not on this machine, and why not */
	void (*close)(void);		  /* no probe runs any more */
	int (*add_cpu)(struct stream *s); /* may sleep; called once for a CPU */
	void (*begin)(struct stream *s);
	void (*send)(struct stream *s); /* w.used has reached send_at; may be NULL */
	void (*end)(struct stream *s);
	void (*announce)(void); /* every second; may be NULL */
	bool readable;		/* by programs in the guest: chardev.h */
};

extern const struct channel hypercall_channel, memory_channel, ivshmem_channel, device_channel;

/* Opens the first of the names in @list ("memory,hypercall") that works here; "auto" stands for
 * all, those first that cost a guest the least. */
int streams_open(const char *list);
/* A line for each channel that was tried: why it did not work, or that it does. */
const char *streams_tried(void);
/* Ends all blocks; no probe runs any more. */
void streams_close(void);
const struct channel *streams_channel(void);
/*
 * Ends all blocks; no CPU has a ring any more, and events are dropped and counted.  With
 * sonde_rings_lock held for writing, and below cpus_read_lock(), lest one that comes gets a ring.
 */
void streams_leave_rings(void);

/* Makes room: ends the block and begins another.  False when there can be none. */
bool stream_renew(struct stream *s);
void stream_send(struct stream *s);
/* The event at hand found no place. */
void stream_lost(struct stream *s);
/* An event found the stream busy. */
void stream_drop(void);
/* In panic, other CPUs stopped: sends what they had not. */
void streams_rescue(void);

/* The stream is whole again: whatever interrupts from here on may write. */
static __always_inline void stream_release(struct stream *s)
{
	barrier();
	WRITE_ONCE(s->busy, false);
}

static __always_inline struct stream *stream_enter_irqs_off(void)
{
	struct stream *s = this_cpu_ptr(&sonde_streams);

	if (unlikely(s->busy)) {
		stream_drop();
		return NULL;
	}
	WRITE_ONCE(s->busy, true);
	barrier();
	s->now = rdtsc();
	if (unlikely(!s->open) && !stream_renew(s)) {
		stream_release(s);
		return NULL;
	}
	return s;
}

static __always_inline void stream_leave_irqs_off(struct stream *s)
{
	s->events++;
	if (unlikely(s->w.used >= s->send_at))
		stream_send(s);
	stream_release(s);
}

static __always_inline struct stream *stream_enter(unsigned long *flags)
{
	struct stream *s;

	local_irq_save(*flags);
	s = stream_enter_irqs_off();
	if (unlikely(!s))
		local_irq_restore(*flags);
	return s;
}

static __always_inline void stream_leave(struct stream *s, unsigned long flags)
{
	stream_leave_irqs_off(s);
	local_irq_restore(flags);
}

/* Writes a record, into a new block when the old one has no room for it. */
#define STREAM_PUT(s, write)                                                                       \
	do {                                                                                       \
		if (unlikely(!(write)) && !(stream_renew(s) && (write)))                           \
			stream_lost(s);                                                            \
	} while (0)

/* A record of numbers, for probes that have no task to name. */
void stream_record(enum ht_record record, const u64 *args, unsigned int nr);
void stream_text(enum ht_record record, const u64 *args, unsigned int nr, const char *text);
/* Sends what this CPU has: after a record that may be the last, in the same preempt-off section. */
void stream_flush_now(void);
/* Tells which function a number in later records stands for. */
void stream_symbol(u32 symbol, unsigned long address);
/* A record whose first argument is @task. */
void stream_task(enum ht_record record, struct task_struct *task, const u64 *args, unsigned int nr);

static inline struct ht_task task_named(struct task_struct *task)
{
	return (struct ht_task){
		.tid = task->pid,
		.process = task->tgid,
		.kthread = task->flags & PF_KTHREAD,
		.name = task->comm,
	};
}

#endif
