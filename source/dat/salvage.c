/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version 7 files whose end is missing.  trace-cmd writes what says where the CPUs' data is behind
 * that data, so a file that is cut short lost it first.  But the sections stand one behind the
 * other, each with its length, and so do, in a section of compressed events, the CPUs' chunks, from
 * the next full page on, in the order of the CPUs.
 */
#include "source/dat/file.h"

#define SECTION_HEADER_BYTES 16
#define SECTION_BUFFER 3
#define SECTION_PACKED 1u
#define SECTIONS_MAX 4096

static uint64_t align_up(uint64_t v, uint32_t to)
{
	return (v + to - 1) / to * to;
}

/* The end of a CPU's chunks; of the file, when they are cut off. */
static uint64_t chunks_end(const struct dat_file *f, uint64_t pos)
{
	uint32_t nr = load32(f->map.data + pos, f->swap);

	pos += 4;
	while (nr-- && dat_inside(f, pos, 8))
		pos += 8 + (uint64_t)load32(f->map.data + pos, f->swap);
	return dat_inside(f, pos, 0) ? pos : f->map.len_bytes;
}

static void salvage_buffer(struct dat_file *f, uint64_t offset, bool packed)
{
	struct dat_buffer *u = &f->buffers[0];
	uint64_t pos = align_up(offset + SECTION_HEADER_BYTES, f->page_size);
	unsigned nr = f->option_cpus ? f->option_cpus : 1;

	if (!packed && nr > 1) {
		dat_problem(f, offset,
			    "the CPUs' events cannot be told apart without the lost end");
		return;
	}
	u->cpus = arena_alloc(&f->arena, nr * sizeof(*u->cpus));
	if (!u->cpus)
		return;
	u->section_bytes = offset;
	u->packed = packed;
	while (u->nr_cpus < nr && dat_inside(f, pos, 4)) {
		uint64_t end = packed ? chunks_end(f, pos) : f->map.len_bytes;

		u->cpus[u->nr_cpus] = (struct dat_cpu){.cpu = (int)u->nr_cpus,
						       .offset_bytes = pos,
						       .len_bytes = end - pos - (packed ? 4 : 0)};
		u->nr_cpus++;
		pos = align_up(end, f->page_size);
	}
	f->trace->loss.unknown += nr - u->nr_cpus;
	dat_problem(f, offset,
		    "the end of the file, which lists the CPUs, is missing; those found are taken "
		    "to be CPU 0 onwards: %u of %u",
		    u->nr_cpus, nr);
}

void dat_salvage(struct dat_file *f, uint64_t first)
{
	uint64_t pos = first;

	if (!dat_page_size_ok(f->page_size)) {
		dat_problem(f, 0, "the file claims pages of %u bytes", f->page_size);
		return;
	}
	for (unsigned i = 0; i < SECTIONS_MAX && dat_inside(f, pos, SECTION_HEADER_BYTES); i++) {
		const uint8_t *p = f->map.data + pos;
		uint16_t id = load16(p, f->swap);
		uint64_t len = load64(p + 8, f->swap);

		if (id == SECTION_BUFFER && !f->buffers[0].nr_cpus)
			salvage_buffer(f, pos, load16(p + 2, f->swap) & SECTION_PACKED);
		else
			dat_section_found(f, pos, id);
		if (len > f->map.len_bytes)
			return;
		pos += SECTION_HEADER_BYTES + len;
	}
}
