// SPDX-License-Identifier: GPL-2.0-only
/* The channel that every KVM host has: 36 bytes of a block in the registers of a hypercall. */
#include <linux/cc_platform.h>
#include <linux/slab.h>

#include "hypercall.h"
#include "stream.h"

bool hypercalls_work(const char **why)
{
	if (!kvm_para_available())
		*why = "this is no guest of KVM";
	else if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT))
		*why = "this guest's registers and memory are encrypted";
	else
		return true;
	return false;
}

static int hypercall_open(const char **why)
{
	return hypercalls_work(why) ? 0 : -ENODEV;
}

static void hypercall_close(void)
{
	unsigned int cpu;

	for_each_possible_cpu (cpu) {
		kfree(per_cpu(sonde_streams, cpu).buffer);
		per_cpu(sonde_streams, cpu).buffer = NULL;
	}
}

static int hypercall_add_cpu(struct stream *s)
{
	s->buffer = kmalloc_node(HT_CALL_BLOCK_MAX, GFP_KERNEL, cpu_to_node(s->cpu));
	return s->buffer ? 0 : -ENOMEM;
}

static void hypercall_begin(struct stream *s)
{
	ht_begin_open(&s->w, s->buffer, HT_CALL_BLOCK_MAX, s->now);
	s->sent = 0;
	s->send_at = HT_CALL_BYTES;
}

static void send_fragment(struct stream *s, u32 seq, bool last)
{
	struct ht_call call;

	ht_call_fragment(&call, s->buffer, s->w.used, seq, s->sent / HT_CALL_BYTES, last);
	hypercall(&call);
	s->sent += HT_CALL_BYTES;
	s->calls++;
	s->bytes += HT_CALL_BYTES;
}

static void hypercall_send(struct stream *s)
{
	while (s->w.used - s->sent >= HT_CALL_BYTES)
		send_fragment(s, s->w.seq, false);
	s->send_at = s->sent + HT_CALL_BYTES;
}

static void hypercall_end(struct stream *s)
{
	u32 seq = s->w.seq, len = ht_end_open(&s->w);

	while (s->sent < len)
		send_fragment(s, seq, len - s->sent <= HT_CALL_BYTES);
}

const struct channel hypercall_channel = {
	.name = "hypercall",
	.default_shift = 4,
	.open = hypercall_open,
	.close = hypercall_close,
	.add_cpu = hypercall_add_cpu,
	.begin = hypercall_begin,
	.send = hypercall_send,
	.end = hypercall_end,
};
