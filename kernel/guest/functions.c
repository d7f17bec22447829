// SPDX-License-Identifier: GPL-2.0-only
/*
 * See functions.h.  Kretprobes do the work: they are the one way to see a function return that
 * modules may use on all kernels that matter here, and that the kernel's own unwinder knows of.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/rethook.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <asm/tsc.h>

#include "functions.h"
#include "stream.h"

#define FUNCTIONS_MAX 4096
/* Symbols below are those of shutdown.c. */
#define FIRST_SYMBOL 1024
#define LOOK_EVERY (HZ)
#define TELL_EVERY 10 /* looks */
/* Calls of one function at a time; those that sleep may be many. */
#define ACTIVE_MAX 64
#define REMOVED_AT_ONCE 64

static unsigned int function_depth = 16;
module_param(function_depth, uint, 0644);
MODULE_PARM_DESC(function_depth, "calls within calls of watched functions that are sent (16)");

static unsigned int function_threshold_ns;
module_param(function_threshold_ns, uint, 0644);
MODULE_PARM_DESC(function_threshold_ns, "calls that take less time are not sent (0)");

static unsigned int function_rate = 20000;
module_param(function_rate, uint, 0644);
MODULE_PARM_DESC(function_rate,
		 "calls per second from which on a function is switched off; 0: none is (20000)");

struct function {
	struct list_head list;
	struct kretprobe probe;
	u64 __percpu *calls;
	u64 symbol, calls_before;
	bool hot;
	char name[KSYM_NAME_LEN];
};

struct call {
	u64 begin;
	u64 depth;
};

static LIST_HEAD(functions);
static unsigned int nr_functions;
static u64 next_symbol = FIRST_SYMBOL;
static DEFINE_MUTEX(hot_lock); /* of the list, between its owner and the background */

/* Calls of watched functions that the task is in.  What others hook on returns counts as well. */
static unsigned int depth_here(unsigned int limit)
{
	struct llist_node *node;
	unsigned int depth = 0;

	for (node = current->rethooks.first; node && depth < limit; node = node->next)
		depth++;
	return depth;
}

static struct function *function_of(struct kretprobe_instance *instance)
{
	struct kretprobe *probe = get_kretprobe(instance);

	return probe ? container_of(probe, struct function, probe) : NULL;
}

static int on_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	unsigned int limit = READ_ONCE(function_depth);
	struct function *f = function_of(instance);
	struct call *call = (struct call *)instance->data;

	if (!f)
		return 1;
	this_cpu_inc(*f->calls);
	call->depth = depth_here(limit);
	if (call->depth >= limit)
		return 1;
	call->begin = rdtsc();
	return 0;
}

static int on_exit(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct function *f = function_of(instance);
	struct call *call = (struct call *)instance->data;
	u64 took = rdtsc() - call->begin;

	if (f && took >= (u64)READ_ONCE(function_threshold_ns) * tsc_khz / 1000000) {
		const u64 args[] = {f->symbol, took, call->depth};

		stream_record(HT_FUNCTION, args, ARRAY_SIZE(args));
	}
	return 0;
}

static u64 calls_of(const struct function *f)
{
	unsigned int cpu;
	u64 sum = 0;

	for_each_possible_cpu (cpu)
		sum += READ_ONCE(*per_cpu_ptr(f->calls, cpu));
	return sum;
}

static void look_for_hot(struct work_struct *work);
static DECLARE_DELAYED_WORK(hot_work, look_for_hot);

static void look_for_hot(struct work_struct *work)
{
	static unsigned int looks;
	unsigned int rate = READ_ONCE(function_rate);
	bool tell = looks++ % TELL_EVERY == 0;
	struct function *f;

	mutex_lock(&hot_lock);
	list_for_each_entry (f, &functions, list) {
		u64 calls = calls_of(f);

		if (rate && !f->hot && calls - f->calls_before > rate) {
			f->hot = true;
			disable_kretprobe(&f->probe);
		}
		f->calls_before = calls;
		/* Again, for readers that came later. */
		if (tell)
			stream_symbol(f->symbol, (unsigned long)f->probe.kp.addr);
	}
	mutex_unlock(&hot_lock);
	schedule_delayed_work(&hot_work, LOOK_EVERY);
}

static int add_one(const char *name, size_t len)
{
	struct function *f;
	int ret;

	if (len >= sizeof(f->name))
		return -EINVAL;
	if (nr_functions == FUNCTIONS_MAX)
		return -ENOSPC;
	f = kzalloc(sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	f->calls = alloc_percpu(u64);
	if (!f->calls) {
		ret = -ENOMEM;
		goto out;
	}
	memcpy(f->name, name, len);
	f->symbol = next_symbol;
	f->probe.kp.symbol_name = f->name;
	f->probe.entry_handler = on_entry;
	f->probe.handler = on_exit;
	f->probe.data_size = sizeof(struct call);
	f->probe.maxactive = ACTIVE_MAX;
	ret = register_kretprobe(&f->probe);
	if (ret) {
		pr_info("%s cannot be watched (%d)\n", f->name, ret);
		goto out;
	}
	next_symbol++;
	nr_functions++;
	stream_symbol(f->symbol, (unsigned long)f->probe.kp.addr);
	mutex_lock(&hot_lock);
	list_add_tail(&f->list, &functions);
	mutex_unlock(&hot_lock);
	return 0;

out:
	free_percpu(f->calls);
	kfree(f);
	return ret;
}

int functions_add(const char *list)
{
	static const char blank[] = " \t\n,";

	for (list += strspn(list, blank); *list; list += strspn(list, blank)) {
		size_t len = strcspn(list, blank);
		int ret = add_one(list, len);

		if (ret)
			return ret;
		list += len;
	}
	return 0;
}

/* One grace period for many: each would take one of its own. */
static void remove_some(void)
{
	struct kretprobe *probes[REMOVED_AT_ONCE];
	struct function *f, *next;
	unsigned int nr = 0;

	list_for_each_entry (f, &functions, list) {
		probes[nr++] = &f->probe;
		if (nr == ARRAY_SIZE(probes))
			break;
	}
	unregister_kretprobes(probes, nr);
	list_for_each_entry_safe (f, next, &functions, list) {
		if (!nr--)
			break;
		list_del(&f->list);
		free_percpu(f->calls);
		kfree(f);
	}
}

void functions_clear(void)
{
	mutex_lock(&hot_lock);
	while (!list_empty(&functions))
		remove_some();
	nr_functions = 0;
	mutex_unlock(&hot_lock);
}

int functions_print(char *to, size_t size)
{
	struct function *f;
	int used = 0;

	mutex_lock(&hot_lock);
	list_for_each_entry (f, &functions, list)
		used += scnprintf(to + used, size - used, "%s %llu %d%s\n", f->name, calls_of(f),
				  f->probe.nmissed, f->hot ? " hot" : "");
	mutex_unlock(&hot_lock);
	return used;
}

void functions_begin(void)
{
	schedule_delayed_work(&hot_work, LOOK_EVERY);
}

void functions_end(void)
{
	cancel_delayed_work_sync(&hot_work);
	functions_clear();
}
