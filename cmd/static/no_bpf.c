/* SPDX-License-Identifier: Apache-2.0 */
/* In place of what loads BPF programs (record/…_bpf.c), where there is no libbpf: the agent, and
 * builds without. */
#include "record/tracers/hypercalls_bpf.h"
#include "record/steal/stolen_bpf.h"
#include "record/tracers/throttle.h"

#include <errno.h>

static int built_without(struct error *err)
{
	return fail(err, -ENOSYS,
		    "this program was built without BPF (tools/install-deps bpf, and make again)");
}

int hypercalls_bpf_open(struct hypercalls_bpf **out, unsigned tasks, uint32_t calls_per_s,
			void (*take)(void *data, const struct hc_record *r), void *data,
			struct error *err)
{
	(void)tasks;
	(void)calls_per_s;
	(void)take;
	(void)data;
	*out = NULL;
	return built_without(err);
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

void hypercalls_bpf_skipped(struct hypercalls_bpf *b, bool is_end)
{
	(void)b;
	(void)is_end;
}

uint64_t hypercalls_bpf_over(const struct hypercalls_bpf *b)
{
	(void)b;
	return 0;
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

int stolen_bpf_open(struct stolen_bpf **out, uint64_t least_ns,
		    void (*take)(void *data, const struct holdup *h), void *data, struct error *err)
{
	(void)least_ns;
	(void)take;
	(void)data;
	*out = NULL;
	return built_without(err);
}

void stolen_bpf_poll(struct stolen_bpf *b)
{
	(void)b;
}

uint64_t stolen_bpf_lost(const struct stolen_bpf *b)
{
	(void)b;
	return 0;
}

void stolen_bpf_close(struct stolen_bpf *b)
{
	(void)b;
}

int throttle_probes_add(int tracing_dir, struct error *err)
{
	(void)tracing_dir;
	return built_without(err);
}

void throttle_probes_remove(int tracing_dir)
{
	(void)tracing_dir;
}
