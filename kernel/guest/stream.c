// SPDX-License-Identifier: GPL-2.0-only
/* The streams of all CPUs: blocks begin and end, grow old, and say who sends.  See stream.h. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/kallsyms.h>
#include <linux/moduleparam.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include <asm/tsc.h>

#include "stream.h"

#define TABLES_EVERY (10 * HZ)
/* A host believes no memory that this kernel has not announced while it looked. */
#define ANNOUNCE_EVERY HZ

static unsigned int age_ms = 100;
module_param(age_ms, uint, 0444);
MODULE_PARM_DESC(age_ms, "how long an event waits for its block to fill, in ms (100)");

static int shift = -1;
module_param(shift, int, 0444);
MODULE_PARM_DESC(shift, "time in units of 2^shift cycles, 0-15; -1: what suits the channel");

DEFINE_PER_CPU(struct stream, sonde_streams);
DECLARE_RWSEM(sonde_rings_lock);

static const struct channel *channel;
static char tried[512]; /* and how it went: streams_tried() */
static u64 age_cycles;
static unsigned long announce_due;
static enum cpuhp_state hotplug_state;

const struct channel *streams_channel(void)
{
	return channel;
}

void stream_drop(void)
{
	this_cpu_inc(sonde_streams.dropped_now);
}

void stream_lost(struct stream *s)
{
	s->events--;
	stream_drop();
}

static bool has_room(const struct stream *s)
{
	return s->ring || s->buffer;
}

static bool stream_begin(struct stream *s)
{
	struct ht_task task = task_named(current);
	u32 dropped;

	if (!has_room(s)) {
		stream_drop();
		return false;
	}
	dropped = this_cpu_xchg(sonde_streams.dropped_now, 0);
	if (dropped) {
		ht_lost(&s->w, dropped);
		s->dropped += dropped;
	}
	channel->begin(s);
	ht_current(&s->w, &task);
	s->begin_events = s->events;
	s->open = true;
	return true;
}

static void stream_end(struct stream *s)
{
	channel->end(s);
	s->open = false;
}

bool stream_renew(struct stream *s)
{
	if (s->open)
		stream_end(s);
	return stream_begin(s);
}

void stream_send(struct stream *s)
{
	channel->send(s);
}

/* Ends the block if it holds events; only a block older than the limit if @aged. */
static void stream_flush(struct stream *s, bool aged)
{
	if (s->events == s->begin_events)
		return;
	if (!aged || s->now - s->w.begin > age_cycles)
		stream_end(s);
}

/* Writes a record that is no event. */
#define STREAM_TELL(s, write)                                                                      \
	do {                                                                                       \
		if (!(write) && stream_renew(s))                                                   \
			(void)(write);                                                             \
	} while (0)

static void tell_tables(struct stream *s)
{
	unsigned int next = 0;

	STREAM_TELL(s, ht_machine(&s->w, init_uts_ns.name.nodename, init_uts_ns.name.release,
				  tsc_khz, num_present_cpus()));
	while (!ht_describe_all(&s->w, &next))
		if (!stream_renew(s))
			return;
	stream_end(s);
}

static bool due(unsigned long *when, unsigned long every)
{
	if (time_before(jiffies, *when))
		return false;
	*when = jiffies + every;
	return true;
}

/* For what is no event: leaves without counting one. */
static void leave_uncounted(struct stream *s, unsigned long flags)
{
	stream_release(s);
	local_irq_restore(flags);
}

/* Ends this CPU's block if there is one that holds events. */
static void flush(bool aged)
{
	unsigned long flags;
	struct stream *s;

	local_irq_save(flags);
	s = this_cpu_ptr(&sonde_streams);
	/* Not stream_enter(): nothing is lost when there is no block, or nobody to end it. */
	if (s->open && !s->busy) {
		WRITE_ONCE(s->busy, true);
		barrier();
		s->now = rdtsc();
		stream_flush(s, aged);
		stream_release(s);
	}
	local_irq_restore(flags);
}

void stream_flush_now(void)
{
	flush(false);
}

static void tell(void)
{
	unsigned long flags;
	struct stream *s = stream_enter(&flags);

	if (!s)
		return;
	tell_tables(s);
	leave_uncounted(s, flags);
}

static void stream_tick(struct timer_list *timer)
{
	struct stream *s = from_timer(s, timer, timer);

	flush(true);
	if (due(&s->tables_due, TABLES_EVERY))
		tell();
	if (channel->announce && smp_processor_id() == cpumask_first(cpu_online_mask) &&
	    due(&announce_due, ANNOUNCE_EVERY))
		channel->announce();
	mod_timer(timer, jiffies + max(1UL, msecs_to_jiffies(age_ms)));
}

/* A CPU for which there is no memory comes all the same: its events are dropped, and counted. */
static int cpu_comes(unsigned int cpu)
{
	struct stream *s = per_cpu_ptr(&sonde_streams, cpu);

	if (!has_room(s) && channel->add_cpu(s))
		pr_warn("no memory for the events of CPU %u\n", cpu);
	timer_setup(&s->timer, stream_tick, TIMER_PINNED);
	s->timer.expires = jiffies + 1;
	add_timer_on(&s->timer, cpu);
	return 0;
}

static int cpu_goes(unsigned int cpu)
{
	struct stream *s = per_cpu_ptr(&sonde_streams, cpu);

	del_timer_sync(&s->timer);
	stream_flush_now();
	return 0;
}

static const struct channel *find_channel(const char *name, size_t len)
{
	static const struct channel *const channels[] = {&hypercall_channel, &memory_channel,
							 &ivshmem_channel, &device_channel};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(channels); i++)
		if (strlen(channels[i]->name) == len && !strncmp(channels[i]->name, name, len))
			return channels[i];
	return NULL;
}

const char *streams_tried(void)
{
	return tried;
}

static void note_try(const struct channel *c, const char *how)
{
	size_t used = strlen(tried);

	scnprintf(tried + used, sizeof(tried) - used, "%s: %s\n", c->name, how);
	pr_info("channel %s: %s\n", c->name, how);
}

/* The next name in the list, behind which *@list is set; NULL at its end.  "a,,b" has an empty one.
 */
static const char *next_name(const char **list, size_t *len)
{
	const char *name = *list;

	if (!name)
		return NULL;
	*len = strcspn(name, ",");
	*list = name[*len] ? name + *len + 1 : NULL;
	return name;
}

/* A name that no channel has is an error wherever it stands. */
static int check_names(const char *list)
{
	const char *name;
	size_t len;

	while ((name = next_name(&list, &len))) {
		if (find_channel(name, len))
			continue;
		pr_err("no channel is named \"%.*s\"; there are hypercall, memory, ivshmem, "
		       "device, and auto for all of them\n",
		       (int)len, name);
		return -EINVAL;
	}
	return 0;
}

static int choose_channel(const char *list)
{
	const char *name;
	size_t len;
	int ret;

	if (!strcmp(list, "auto"))
		list = "ivshmem,memory,hypercall,device";
	ret = check_names(list);
	if (ret)
		return ret;
	while ((name = next_name(&list, &len))) {
		const struct channel *candidate = find_channel(name, len);
		const char *why = "it does not work here";

		ret = candidate->open(&why);
		note_try(candidate, ret ? why : "in use");
		if (!ret) {
			channel = candidate;
			return 0;
		}
	}
	return ret;
}

/*
 * Ends the block of a CPU that does not do so itself: it has stopped, or is gone.  By hypercall the
 * block leaves again from its beginning, for it comes from another vCPU than what left before,
 * and says so, lest the host take the one for the other.
 */
static void end_for(struct stream *s)
{
	s->w.flags |= HT_FLAG_PANIC;
	s->w.block[3] |= HT_FLAG_PANIC; /* its header may have been written */
	s->sent = 0;
	stream_end(s);
}

/* A CPU that goes still writes after its last flush, until it is dead. */
static void end_of_the_gone(void)
{
	unsigned int cpu;

	for_each_possible_cpu (cpu) {
		struct stream *s = per_cpu_ptr(&sonde_streams, cpu);
		unsigned long flags;

		if (!s->open || s->events == s->begin_events)
			continue;
		local_irq_save(flags);
		end_for(s);
		local_irq_restore(flags);
	}
}

static void leave_ring(void *unused)
{
	struct stream *s = this_cpu_ptr(&sonde_streams);

	/* Whatever interrupts even here finds it busy; nothing else is writing. */
	WRITE_ONCE(s->busy, true);
	barrier();
	if (s->open && s->events != s->begin_events)
		stream_end(s);
	s->open = false;
	s->ring = NULL;
	stream_release(s);
}

void streams_leave_rings(void)
{
	unsigned int cpu;

	on_each_cpu(leave_ring, NULL, 1);
	for_each_possible_cpu (cpu) {
		struct stream *s = per_cpu_ptr(&sonde_streams, cpu);

		if (cpu_online(cpu))
			continue;
		s->open = false;
		s->ring = NULL;
	}
}

void streams_close(void)
{
	cpuhp_remove_state(hotplug_state);
	down_read(&sonde_rings_lock);
	end_of_the_gone();
	up_read(&sonde_rings_lock);
	channel->close();
}

/* No CPU comes or goes meanwhile: one that is online has had its turn in cpu_comes(). */
static bool all_have_room(void)
{
	unsigned int cpu;
	bool all = true;

	cpus_read_lock();
	for_each_online_cpu (cpu)
		all &= has_room(per_cpu_ptr(&sonde_streams, cpu));
	cpus_read_unlock();
	return all;
}

int streams_open(const char *list)
{
	unsigned int cpu;
	int ret;

	if (shift < -1 || shift > HT_SHIFT_MASK) {
		pr_err("shift=%d is not from 0 to %d\n", shift, HT_SHIFT_MASK);
		return -EINVAL;
	}
	ret = choose_channel(list);
	if (ret)
		return ret;
	age_cycles = (u64)tsc_khz * age_ms;
	announce_due = jiffies;
	for_each_possible_cpu (cpu) {
		struct stream *s = per_cpu_ptr(&sonde_streams, cpu);

		ht_writer_init(&s->w, cpu, shift < 0 ? channel->default_shift : shift);
		s->cpu = cpu;
		s->tables_due = jiffies;
		s->send_at = U32_MAX;
	}
	down_read(&sonde_rings_lock);
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "sonde_guest:online", cpu_comes, cpu_goes);
	up_read(&sonde_rings_lock);
	if (ret < 0) {
		channel->close();
		return ret;
	}
	hotplug_state = ret;
	if (!all_have_room()) {
		streams_close();
		return -ENOMEM;
	}
	return 0;
}

/*
 * Of all possible CPUs, for those that panic() has stopped are no longer online.  One that had no
 * memory has no open block.  One that did not stop after all finds its stream busy from now on.
 */
void streams_rescue(void)
{
	unsigned int cpu;

	for_each_possible_cpu (cpu) {
		struct stream *s = per_cpu_ptr(&sonde_streams, cpu);

		if (cpu == raw_smp_processor_id())
			continue;
		WRITE_ONCE(s->busy, true);
		if (s->open)
			end_for(s);
	}
}

void stream_symbol(u32 symbol, unsigned long address)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned long flags;
	struct stream *s;

	sprint_symbol_no_offset(name, address);
	s = stream_enter(&flags);
	if (!s)
		return;
	STREAM_TELL(s, ht_symbol(&s->w, symbol, address, name));
	leave_uncounted(s, flags);
}

void stream_record(enum ht_record record, const u64 *args, unsigned int nr)
{
	stream_text(record, args, nr, NULL);
}

void stream_text(enum ht_record record, const u64 *args, unsigned int nr, const char *text)
{
	u32 len = text ? strnlen(text, HT_TEXT_MAX) : 0;
	unsigned long flags;
	struct stream *s = stream_enter(&flags);

	if (!s)
		return;
	STREAM_PUT(s, ht_record(&s->w, s->now, record, args, nr, text, len));
	stream_leave(s, flags);
}

void stream_task(enum ht_record record, struct task_struct *p, const u64 *args, unsigned int nr)
{
	unsigned long flags;
	struct stream *s = stream_enter(&flags);
	int slot;

	if (!s)
		return;
	slot = ht_slot(&s->w, p->pid);
	if (unlikely(slot < 0) ||
	    unlikely(!ht_slot_record(&s->w, s->now, record, slot, args, nr))) {
		struct ht_task task = task_named(p);

		STREAM_PUT(s, ht_task_record(&s->w, s->now, record, &task, args, nr));
	}
	stream_leave(s, flags);
}
