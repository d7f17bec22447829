// SPDX-License-Identifier: GPL-2.0-only
/* sonde_guest: sends a guest's events to its host.  README.md says how to use it. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

#include "chardev.h"
#include "control.h"
#include "ends.h"
#include "functions.h"
#include "probes.h"
#include "stolen.h"
#include "stream.h"

static char *channel = "hypercall,device";
module_param(channel, charp, 0444);
MODULE_PARM_DESC(channel,
		 "hypercall, memory, ivshmem, device; of several the first that works; auto: of "
		 "all (hypercall,device)");

static char *events = "sched,task,irq,softirq";
module_param(events, charp, 0444);
MODULE_PARM_DESC(events, "sched, task, syscall, irq, softirq, vector, timer, block, net; all "
			 "(sched,task,irq,softirq)");

static int __init sonde_guest_init(void)
{
	unsigned long classes;
	int ret;

	ret = classes_parse(events, &classes);
	if (ret) {
		pr_err("events=%s: there are sched, task, syscall, irq, softirq, vector, timer, "
		       "block, net, all\n",
		       events);
		return ret;
	}
	ret = stolen_check();
	if (ret)
		return ret;
	ret = streams_open(channel);
	if (ret)
		return ret;
	ret = panic_watch();
	if (ret)
		goto out_streams;
	ret = shutdown_watch();
	if (ret)
		goto out_panic;
	probes_find();
	ret = probes_set(classes);
	if (ret)
		goto out_probes;
	functions_begin();
	/* Last what users can reach, for they may do so at once: with a device there, no failure.
	 */
	ret = control_add();
	if (ret)
		goto out_functions;
	ret = streams_channel()->readable ? chardev_add() : 0;
	if (ret)
		goto out_control;
	stolen_add();
	return 0;

out_control:
	control_remove();
out_functions:
	functions_end();
out_probes:
	probes_stop();
	shutdown_unwatch();
out_panic:
	panic_unwatch();
out_streams:
	streams_close();
	return ret;
}

static void __exit sonde_guest_exit(void)
{
	stolen_remove();
	if (streams_channel()->readable)
		chardev_remove();
	/* Nobody may switch events on any more. */
	control_remove();
	functions_end();
	probes_stop();
	shutdown_unwatch();
	panic_unwatch();
	streams_close();
}

module_init(sonde_guest_init);
module_exit(sonde_guest_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Sends a guest's trace events to its host");
MODULE_VERSION("0.1.0");
