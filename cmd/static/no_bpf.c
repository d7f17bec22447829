/* SPDX-License-Identifier: Apache-2.0 */
/* In place of record/hypercalls_bpf.c where there is no libbpf: the agent, and builds without. */
#include "record/hypercalls_bpf.h"

#include <errno.h>

int hypercalls_bpf_open(struct hypercalls_bpf **out, unsigned tasks,
			void (*take)(void *data, const struct hc_record *r), void *data,
			struct error *err)
{
	(void)tasks;
	(void)take;
	(void)data;
	*out = NULL;
	return fail(err, -ENOSYS,
		    "this program was built without BPF (tools/install-deps bpf, and make again)");
}

const char *hypercalls_bpf_no_spaces(void)
{
	return "this program was built without BPF";
}

/* Nobody has one. */
void hypercalls_bpf_poll(struct hypercalls_bpf *b, int timeout_ms)
{
	(void)b;
	(void)timeout_ms;
}

bool hypercalls_bpf_knows_exits(const struct hypercalls_bpf *b)
{
	(void)b;
	return false;
}

int hypercalls_bpf_watch(struct hypercalls_bpf *b, uint64_t rip)
{
	(void)b;
	(void)rip;
	return -ENOSYS;
}

void hypercalls_bpf_forget(struct hypercalls_bpf *b, uint64_t rip)
{
	(void)b;
	(void)rip;
}

uint64_t hypercalls_bpf_lost(const struct hypercalls_bpf *b)
{
	(void)b;
	return 0;
}

void hypercalls_bpf_close(struct hypercalls_bpf *b)
{
	(void)b;
}
