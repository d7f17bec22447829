/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_DAT_PAGE_H
#define SOURCE_DAT_PAGE_H

#include "source/dat/reader.h"

/*
 * A page (the kernel calls it a sub-buffer) as the ring buffer gives it to readers
 * (linux/kernel/trace/ring_buffer.c; the layout is in tracefs' events/header_page, header_event):
 *
 *	u64 time of the page's first record
 *	long commit: bytes of records; bit 31: events were lost before this page; bit 30: their
 *	     number is stored, as a long, behind the records
 *	records, each a 32-bit word {type_len: 5 bits, time_delta: 27 bits} and, by type_len:
 *	  1..28  type_len * 4 bytes of data
 *	  0      u32 length (that word included), data
 *	  29     padding: time_delta 0 ends the page; else u32 length of a discarded record
 *	  30     time extend: u32 high bits of the delta, the 27 bits below it
 *	  31     absolute time, low 59 bits, split in the same way
 *
 * type_len has the word's low bits on little-endian machines, the high ones on big-endian.
 */
enum { RECORD_PADDING = 29, RECORD_TIME_EXTEND = 30, RECORD_TIME_STAMP = 31 };

#define PAGE_LOST_BEFORE (1u << 31)
#define PAGE_LOST_STORED (1u << 30)
#define PAGE_SIZE_MASK ((1u << 27) - 1)
#define RECORD_DELTA_BITS 27
#define RECORD_DELTA_MASK ((1u << RECORD_DELTA_BITS) - 1)
#define RECORD_TYPE_BITS 5
#define RECORD_TYPE_MASK ((1u << RECORD_TYPE_BITS) - 1)
#define TIME_STAMP_BITS 59

struct page_head {
	uint64_t time;
	uint32_t len_bytes; /* of the records */
	uint64_t lost;      /* before this page; 0 none, UINT64_MAX some, nobody counted */
};

/*
 * False when the header cannot be: it claims more records than a page can hold.  @left: bytes that
 * there are from @page on; the last page of a CPU may be stored without its unused end, or be cut
 * off, so its records may reach further than that.
 */
static inline bool page_head_read(const struct dat *d, const uint8_t *page, uint32_t page_size,
				  uint64_t left, struct page_head *h)
{
	const struct dat_page_form *form = &d->form;
	bool swap = d->file.swap;
	uint32_t room = page_size - form->data_offset;
	uint64_t commit;

	if (left < form->data_offset)
		return false;
	commit = load_uint(page + form->commit_offset, form->long_size, swap);
	h->time = load64(page, swap);
	h->len_bytes = commit & PAGE_SIZE_MASK;
	h->lost = 0;
	if (h->len_bytes > room)
		return false;
	if (commit & PAGE_LOST_BEFORE)
		h->lost = UINT64_MAX;
	if (left < page_size)
		room = (uint32_t)left - form->data_offset;
	if ((commit & PAGE_LOST_STORED) && h->lost && (uint64_t)h->len_bytes + form->long_size <= room) {
		h->lost = load_uint(page + form->data_offset + h->len_bytes, form->long_size, swap);
		if (!h->lost)
			h->lost = UINT64_MAX;
	}
	return true;
}

#endif
