/* SPDX-License-Identifier: Apache-2.0 */
#include "record/steal/stolen_bpf.h"
#include "channel/holdups.h"
#include "gen/stolen.skel.h"
#include "record/tracers/bpf_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stolen_bpf {
	struct stolen_skel *skel;
	struct ring_buffer *ring;
	void (*take)(void *data, const struct holdup *h);
	void *data;
};

static int take_record(void *data, void *record, size_t len_bytes)
{
	struct stolen_bpf *b = data;

	if (len_bytes == sizeof(struct holdup))
		b->take(b->data, record);
	return 0;
}

static int open_all(struct stolen_bpf *b, uint64_t least_ns, struct error *err)
{
	b->skel = stolen_skel__open();
	if (!b->skel)
		return fail(err, -errno, "the BPF program cannot be opened: %s", strerror(errno));
	b->skel->rodata->least_ns = least_ns ? least_ns : 1;
	return bpf_open_start(b->skel->skeleton, b->skel->maps.ring, take_record, b, &b->ring, err);
}

int stolen_bpf_open(struct stolen_bpf **out, uint64_t least_ns,
		    void (*take)(void *data, const struct holdup *h), void *data, struct error *err)
{
	struct stolen_bpf *b = calloc(1, sizeof(*b));
	int ret;

	*out = NULL;
	if (!b)
		return fail(err, -ENOMEM, "out of memory");
	b->take = take;
	b->data = data;
	bpf_open_quietly();
	ret = open_all(b, least_ns, err);
	if (ret) {
		stolen_bpf_close(b);
		return ret;
	}
	*out = b;
	return 0;
}

void stolen_bpf_poll(struct stolen_bpf *b)
{
	ring_buffer__consume(b->ring);
}

uint64_t stolen_bpf_lost(const struct stolen_bpf *b)
{
	return b->skel->bss->records_lost;
}

void stolen_bpf_close(struct stolen_bpf *b)
{
	if (!b)
		return;
	if (b->skel)
		stolen_skel__detach(b->skel);
	ring_buffer__free(b->ring);
	stolen_skel__destroy(b->skel);
	free(b);
}
