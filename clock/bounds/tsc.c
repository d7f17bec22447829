/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/bounds/tsc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* VMs that one trace can show the start of; more are not looked at. */
#define OFFSETS_MAX 64

bool tsc_comparable(const struct sample *guest, const struct sample *host)
{
	return guest->trace->clock.kind == CLOCK_TSC && host->trace->clock.kind == CLOCK_TSC;
}

bool tsc_offset_of(const struct sample *host, int32_t tid, int64_t *offset)
{
	for (size_t i = host->tsc_writes.nr; i-- > 0;) {
		if (host->tsc_writes.list[i].tid == tid) {
			*offset = host->tsc_writes.list[i].next;
			return true;
		}
	}
	return false;
}

static bool fits_at(int64_t offset, const struct clock_model *model, uint64_t x)
{
	ns_t bound = clock_bound(model, (ticks_t){x});
	__int128 off = (__int128)x - offset - clock_to_l0(model, (ticks_t){x});

	return (off < 0 ? -off : off) <= (__int128)bound + 1;
}

bool tsc_offset_fits(int64_t offset, const struct clock_model *model, const struct sample *guest)
{
	for (unsigned i = 0; i < model->nr_pieces; i++) {
		uint64_t x = model->pieces[i].from;

		if (x >= guest->first && x <= guest->last && !fits_at(offset, model, x))
			return false;
	}
	return fits_at(offset, model, guest->first) && fits_at(offset, model, guest->last);
}

bool tsc_piece(struct clock_piece *out, int64_t offset, uint64_t from)
{
	__int128 x = (__int128)from + offset, at;

	if (x < 0)
		x = 0;
	if (x > INT64_MAX)
		return false;
	at = x - offset;
	if (at < NS_MIN || at > NS_MAX)
		return false;
	*out = (struct clock_piece){(uint64_t)x, (ns_t)at, UINT64_C(1) << CLOCK_SHIFT, 0};
	return true;
}

/* The last offset of every thread, each once. */
static unsigned list_offsets(const struct sample *host, int64_t *out)
{
	unsigned nr = 0;

	for (size_t i = host->tsc_writes.nr; i-- > 0 && nr < OFFSETS_MAX;) {
		const struct tsc_write *w = &host->tsc_writes.list[i];
		int64_t last;
		unsigned k = 0;

		if (!tsc_offset_of(host, w->tid, &last) || last != w->next)
			continue;
		while (k < nr && out[k] != last)
			k++;
		if (k == nr)
			out[nr++] = last;
	}
	return nr;
}

static int try_offset(struct coincidence *out, unsigned *passed, const struct sample *guest,
		      const struct sample *host, int64_t offset)
{
	struct clock_model m = {.nr_pieces = 1, .method = CLOCK_METHOD_TSC};
	struct clock_piece piece;
	uint64_t seen;
	int32_t tid;

	if (!tsc_piece(&piece, offset, host->first))
		return 0;
	m.pieces = &piece;
	tid = coincide_thread(&m, &guest->events[out->cpu], host, &seen);
	if (tid < 0 || ++*passed > 1)
		return 0;
	out->model = m;
	out->model.pieces = malloc(sizeof(piece));
	if (!out->model.pieces)
		return -ENOMEM;
	out->model.pieces[0] = piece;
	out->tid = tid;
	out->events = seen;
	out->agreeing = 1;
	return 0;
}

int tsc_find(struct coincidence *out, const struct sample *guest, const struct sample *host)
{
	int64_t offsets[OFFSETS_MAX];
	unsigned nr = 0, passed = 0;
	int ret = 0;

	memset(out, 0, sizeof(*out));
	out->cpu = coincide_cpu(guest);
	if (out->cpu >= 0 && tsc_comparable(guest, host))
		nr = list_offsets(host, offsets);
	for (unsigned i = 0; i < nr && ret == 0; i++)
		ret = try_offset(out, &passed, guest, host, offsets[i]);
	if (ret == 0 && passed == 1)
		return COINCIDE_FOUND;
	clock_model_release(&out->model);
	if (ret)
		return ret;
	return passed ? COINCIDE_AMBIGUOUS : COINCIDE_NONE;
}
