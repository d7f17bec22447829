// SPDX-License-Identifier: GPL-2.0-only
/* The guest's last words in a panic. */
#include <linux/notifier.h>
#include <linux/panic_notifier.h>

#include "ends.h"
#include "stolen.h"
#include "stream.h"

/* The other CPUs have been stopped; this one may have stopped anywhere, in a probe as well. */
static int on_panic(struct notifier_block *nb, unsigned long action, void *message)
{
	struct stream *s = this_cpu_ptr(&sonde_streams);

	s->busy = false;
	stream_flush_now();
	s->w.flags |= HT_FLAG_PANIC;
	stream_text(HT_PANIC, NULL, 0, message);
	stream_flush_now();
	streams_rescue();
	stolen_end();
	return NOTIFY_DONE;
}

/* First of all notifiers, before anybody tries to print or to dump. */
static struct notifier_block panic_notifier = {.notifier_call = on_panic, .priority = INT_MAX};

int panic_watch(void)
{
	return atomic_notifier_chain_register(&panic_notifier_list, &panic_notifier);
}

void panic_unwatch(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_notifier);
}
