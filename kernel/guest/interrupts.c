// SPDX-License-Identifier: GPL-2.0-only
/* Events of interrupts, softirqs, CPU-local vectors and high-resolution timers. */
#include <linux/hrtimer.h>
#include <linux/interrupt.h>

#include <asm/trace/irq_vectors.h>
#include <trace/events/irq.h>
#include <trace/events/timer.h>

#include "probes.h"
#include "stream.h"

static void number_record(enum ht_record record, u64 number)
{
	stream_record(record, &number, 1);
}

static void on_irq_entry(void *data, int irq, struct irqaction *action)
{
	number_record(HT_IRQ_ENTRY, irq);
}

static void on_irq_exit(void *data, int irq, struct irqaction *action, int ret)
{
	number_record(HT_IRQ_EXIT, irq);
}

static void on_softirq_raise(void *data, unsigned int vector)
{
	number_record(HT_SOFTIRQ_RAISE, vector);
}

static void on_softirq_entry(void *data, unsigned int vector)
{
	number_record(HT_SOFTIRQ_ENTRY, vector);
}

static void on_softirq_exit(void *data, unsigned int vector)
{
	number_record(HT_SOFTIRQ_EXIT, vector);
}

static void on_vector_entry(void *data, int vector)
{
	number_record(HT_VECTOR_ENTRY, vector);
}

static void on_vector_exit(void *data, int vector)
{
	number_record(HT_VECTOR_EXIT, vector);
}

static void on_hrtimer_start(void *data, struct hrtimer *timer, enum hrtimer_mode mode)
{
	ktime_t left = ktime_sub(hrtimer_get_expires(timer), timer->base->get_time());
	const u64 args[] = {(unsigned long)timer, ht_signed(ktime_to_ns(left))};

	stream_record(HT_HRTIMER_START, args, 2);
}

/* Some kernels tell as well whether the timer was running; 6.1.192 and 6.12.95 do. */
static void on_hrtimer_start_again(void *data, struct hrtimer *timer, enum hrtimer_mode mode,
				   bool was_armed)
{
	on_hrtimer_start(data, timer, mode);
}

#define PROBE_OF_HRTIMER_START                                                                     \
	__builtin_choose_expr(__same_type(check_trace_callback_type_hrtimer_start,                 \
					  void(typeof(&on_hrtimer_start_again))),                  \
			      on_hrtimer_start_again, on_hrtimer_start)

static void on_hrtimer_cancel(void *data, struct hrtimer *timer)
{
	number_record(HT_HRTIMER_CANCEL, (unsigned long)timer);
}

static void on_hrtimer_expire_entry(void *data, struct hrtimer *timer, ktime_t *now)
{
	number_record(HT_HRTIMER_EXPIRE_ENTRY, (unsigned long)timer);
}

static void on_hrtimer_expire_exit(void *data, struct hrtimer *timer)
{
	number_record(HT_HRTIMER_EXPIRE_EXIT, (unsigned long)timer);
}

#define VECTOR(name)                                                                               \
	PROBE(VECTOR, name##_entry, on_vector_entry), PROBE(VECTOR, name##_exit, on_vector_exit)

static struct probe probes[] = {
	PROBE(IRQ, irq_handler_entry, on_irq_entry),
	PROBE(IRQ, irq_handler_exit, on_irq_exit),
	PROBE(SOFTIRQ, softirq_raise, on_softirq_raise),
	PROBE(SOFTIRQ, softirq_entry, on_softirq_entry),
	PROBE(SOFTIRQ, softirq_exit, on_softirq_exit),
	VECTOR(local_timer),
	VECTOR(reschedule),
	VECTOR(call_function),
	VECTOR(call_function_single),
	VECTOR(irq_work),
	PROBE(TIMER, hrtimer_start, PROBE_OF_HRTIMER_START),
	PROBE(TIMER, hrtimer_cancel, on_hrtimer_cancel),
	PROBE(TIMER, hrtimer_expire_entry, on_hrtimer_expire_entry),
	PROBE(TIMER, hrtimer_expire_exit, on_hrtimer_expire_exit),
};

const struct probe_table interrupt_probes = {probes, ARRAY_SIZE(probes)};
