// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way down, step by step: reboot notifiers, each device, the last CPU, power off.  Nothing of
 * this costs anything before: our own notifier, the first of all, finds out what is to come and
 * puts probes there.  Each record leaves at once, since there may be no later.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/notifier.h>
#include <linux/platform_device.h>
#include <linux/reboot.h>
#include <linux/slab.h>

#include "ends.h"
#include "stream.h"

#define DEVICES_MAX 8192
#define FUNCTIONS_MAX 128

struct watched {
	struct kretprobe probe;
	const void *function; /* the probe may be some bytes behind its beginning */
	u64 symbol;
};

static struct watched *watched;
static unsigned int nr_watched;

static void phase(enum ht_phase which)
{
	u64 number = which;

	preempt_disable();
	stream_record(HT_SHUTDOWN_PHASE, &number, 1);
	stream_flush_now();
	preempt_enable();
}

static int on_phase(struct kprobe *probe, struct pt_regs *regs);

#define PHASE(function)                                                                            \
	{                                                                                          \
		.symbol_name = function, .pre_handler = on_phase                                   \
	}

/* Phases that begin with the call of a function, in the order of enum ht_phase. */
static struct kprobe phase_probes[] = {
	PHASE("device_shutdown"),   PHASE("migrate_to_reboot_cpu"), PHASE("syscore_shutdown"),
	PHASE("machine_power_off"), PHASE("machine_restart"),	    PHASE("machine_halt"),
};

static bool phase_on[ARRAY_SIZE(phase_probes)];

static int on_phase(struct kprobe *probe, struct pt_regs *regs)
{
	phase(HT_PHASE_DEVICES + (probe - phase_probes));
	return 0;
}

static struct watched *watched_of(struct kretprobe_instance *instance)
{
	return container_of(get_kretprobe(instance), struct watched, probe);
}

static int on_notifier_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	stream_record(HT_NOTIFIER_ENTRY, &watched_of(instance)->symbol, 1);
	stream_flush_now();
	return 0;
}

static int on_notifier_exit(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	stream_record(HT_NOTIFIER_EXIT, &watched_of(instance)->symbol, 1);
	stream_flush_now();
	return 0;
}

/* Every way to shut a device down has it as its first argument. */
static int on_device_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct device *device = (struct device *)regs->di;

	*(struct device **)instance->data = device;
	stream_text(HT_DEVICE_SHUTDOWN_ENTRY, NULL, 0, dev_name(device));
	stream_flush_now();
	return 0;
}

static int on_device_exit(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	stream_text(HT_DEVICE_SHUTDOWN_EXIT, NULL, 0, dev_name(*(struct device **)instance->data));
	stream_flush_now();
	return 0;
}

static bool is_watched(const void *function)
{
	unsigned int i;

	for (i = 0; i < nr_watched; i++)
		if (watched[i].function == function)
			return true;
	return false;
}

/* Not every function can be probed; one that cannot is not worth a word in a shutdown's log. */
static void watch(void *function, bool device)
{
	struct watched *w = &watched[nr_watched];

	if (!function || nr_watched == FUNCTIONS_MAX || is_watched(function))
		return;
	memset(w, 0, sizeof(*w));
	w->symbol = nr_watched;
	w->function = function;
	w->probe.kp.addr = function;
	w->probe.entry_handler = device ? on_device_entry : on_notifier_entry;
	w->probe.handler = device ? on_device_exit : on_notifier_exit;
	w->probe.data_size = sizeof(struct device *);
	if (register_kretprobe(&w->probe))
		return;
	nr_watched++;
	if (!device)
		stream_symbol(w->symbol, (unsigned long)function);
}

/* What device_shutdown() would call for a device, in the order of its choice. */
static unsigned int shutdowns_of(struct device *device, void **functions)
{
	unsigned int nr = 0;

	device_lock(device);
	if (device->class && device->class->shutdown_pre)
		functions[nr++] = device->class->shutdown_pre;
	if (device->bus && device->bus->shutdown)
		functions[nr++] = device->bus->shutdown;
	else if (device->driver && device->driver->shutdown)
		functions[nr++] = device->driver->shutdown;
	device_unlock(device);
	return nr;
}

/* Without the device's lock: placing a probe takes others. */
static void watch_device(struct device *device)
{
	void *functions[2];
	unsigned int nr = shutdowns_of(device, functions), i;

	for (i = 0; i < nr; i++)
		watch(functions[i], true);
}

/* All devices, through the set that each is in: a list under a spinlock, hence in two steps. */
static void watch_devices(void)
{
	struct kset *all = platform_bus.kobj.kset;
	struct device **devices = kvmalloc_array(DEVICES_MAX, sizeof(*devices), GFP_KERNEL);
	unsigned int nr = 0, i;
	struct kobject *one;

	if (!devices)
		return;
	spin_lock(&all->list_lock);
	list_for_each_entry (one, &all->list, entry) {
		struct device *device = container_of(one, struct device, kobj);

		if (nr < DEVICES_MAX && kobject_get_unless_zero(one))
			devices[nr++] = device;
	}
	spin_unlock(&all->list_lock);
	for (i = 0; i < nr; i++) {
		watch_device(devices[i]);
		put_device(devices[i]);
	}
	kvfree(devices);
}

/* We are the first in the list, and it is locked (for those who change it) while it calls us. */
static void watch_notifiers(struct notifier_block *first)
{
	struct notifier_block *nb = first;

	while ((nb = rcu_dereference_protected(nb->next, true)))
		watch(nb->notifier_call, false);
}

static int on_shutdown(struct notifier_block *nb, unsigned long action, void *unused)
{
	unsigned int i;

	phase(HT_PHASE_PREPARE);
	if (!watched)
		watched = kcalloc(FUNCTIONS_MAX, sizeof(*watched), GFP_KERNEL);
	if (watched) {
		watch_notifiers(nb);
		watch_devices();
	}
	for (i = 0; i < ARRAY_SIZE(phase_probes); i++)
		if (!phase_on[i])
			phase_on[i] = !register_kprobe(&phase_probes[i]);
	phase(HT_PHASE_NOTIFIERS);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {.notifier_call = on_shutdown, .priority = INT_MAX};

int shutdown_watch(void)
{
	return register_reboot_notifier(&notifier);
}

/* A shutdown may have been given up after it began, so that there are probes to remove. */
void shutdown_unwatch(void)
{
	unsigned int i;

	unregister_reboot_notifier(&notifier);
	for (i = 0; i < ARRAY_SIZE(phase_probes); i++)
		if (phase_on[i])
			unregister_kprobe(&phase_probes[i]);
	for (i = 0; i < nr_watched; i++)
		unregister_kretprobe(&watched[i].probe);
	kfree(watched);
}
