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
#define PAGE_UNUSED_MASK (7u << 27)
#define RECORD_DELTA_BITS 27
#define RECORD_DELTA_MASK ((1u << RECORD_DELTA_BITS) - 1)
#define RECORD_TYPE_BITS 5
#define RECORD_TYPE_MASK ((1u << RECORD_TYPE_BITS) - 1)
#define TIME_STAMP_BITS 59

struct page_head {
	uint64_t time;
	uint32_t len_bytes; /* of the records */
	uint64_t lost;	    /* before this page; 0 none, UINT64_MAX some, nobody counted */
};

/* What is neither the length nor a flag is zero; the kernel adds bit 31 as a negative int. */
static inline bool commit_bits_can_be(uint64_t commit)
{
	uint64_t high = commit >> 32;

	return !(commit & PAGE_UNUSED_MASK) &&
	       (!high || (high == UINT32_MAX && (commit & PAGE_LOST_BEFORE)));
}

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
	if (h->len_bytes > room || !commit_bits_can_be(commit))
		return false;
	if (commit & PAGE_LOST_BEFORE)
		h->lost = UINT64_MAX;
	if (left < page_size)
		room = (uint32_t)left - form->data_offset;
	if ((commit & PAGE_LOST_STORED) && h->lost &&
	    (uint64_t)h->len_bytes + form->long_size <= room) {
		h->lost = load_uint(page + form->data_offset + h->len_bytes, form->long_size, swap);
		if (!h->lost)
			h->lost = UINT64_MAX;
	}
	return true;
}

/* A record's header word, split. */
struct record_head {
	uint32_t type_len;
	uint64_t delta;
};

static inline __attribute__((always_inline)) struct record_head record_head_read(const uint8_t *pos,
										 const bool swap)
{
	const bool big_endian = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	uint32_t word = load32(pos, swap);

	if (big_endian)
		return (struct record_head){word >> RECORD_DELTA_BITS, word & RECORD_DELTA_MASK};
	return (struct record_head){word & RECORD_TYPE_MASK, word >> RECORD_TYPE_BITS};
}

/*
 * A record that is no event: it moves the time, or is padding.  @pos is behind its header word, and
 * has 4 bytes at least.  Returns how many bytes to skip from there, 0 when the page ends here, -1
 * when the record reaches beyond it.
 */
int64_t record_mark_read(const uint8_t *pos, const uint8_t *end, struct record_head h,
			 uint64_t *time, bool swap);

/* What is left of a page is too short for any record; one word of padding may stand there. */
bool page_rest_is_padding(const uint8_t *pos, const uint8_t *end, bool swap);

/*
 * A page is believed when all of it holds together: its records follow each other up to exactly
 * where its header says, each is of an event that there can be and as long as that event's format
 * wants, made by a thread that there can be, and none is earlier than the one before.  A page of
 * which bytes are missing, or belong to something else, is nothing of that; and which of its
 * records are its own, nobody knows.
 */
struct page_look {
	struct page_head head;
	const uint8_t *begin, *end; /* of its records */
	uint64_t last;		    /* time of its last one */
	int32_t first;		    /* thread of its first one; -1 there is none */
	int32_t leaving, running; /* ... that its last switch took the CPU from, and gave it to; -1
				     not known */
	bool breaks;		  /* a thread recorded that no switch had led to */
	bool switches;		  /* switches are recorded */
};

enum page_state {
	PAGE_HOLDS,
	PAGE_CUT,  /* the data ends within it, so whether all of it holds together nobody knows */
	PAGE_HOLE, /* no records: never written, or lost since; no kernel gives a reader such a page
		    */
	PAGE_BAD_HEAD,
	PAGE_BAD_RECORDS,
	PAGE_NEXT_TO_BAD,
};

/* Pages one behind the other, in memory: of a stream, or of a chunk of it. */
#define PAGES_SEEN 4
struct page_run {
	const struct dat *d;
	const uint8_t *begin, *end;
	uint32_t page_size;
	struct page_seen {
		const uint8_t *page;
		enum page_state state;
		struct page_look look;
	} seen[PAGES_SEEN]; /* the last few, so that each is walked once */
};

/* All of a stream that is not packed. */
struct page_run dat_stream_run(const struct dat_stream *ds);

/*
 * Is the page at @page of the run to be believed?  @out is then filled.  Damage does not end where
 * a page does, and what it leaves of one may look whole: those next to a page that does not hold
 * together are not believed, either.  (That the data ends within the next one is no damage here.)
 */
enum page_state page_judge(struct page_run *run, const uint8_t *page, struct page_look *out);

/*
 * Whether the times of a page that holds together are between its neighbours'.  @last: the time of
 * the last record that is believed before it; 0 unknown.  Of it and the next page, one is astray
 * when they are not in order: this one is if the page behind both says so, too, or if there is
 * none. Else the next one is, and may be what is missing in front of this one: then this is in
 * doubt. Astray are also those that are far from all CPUs' pages (far.c).
 */
enum page_place { PAGE_IN_PLACE, PAGE_IN_DOUBT, PAGE_ASTRAY };

enum page_place page_place(const struct page_run *run, const uint8_t *page,
			   const struct page_look *look, uint64_t last);

static inline bool page_is_astray(const struct page_run *run, const uint8_t *page,
				  const struct page_look *look, uint64_t last)
{
	return page_place(run, page, look, last) == PAGE_ASTRAY;
}

/*
 * Whether a page in place by its times is another CPU's, or another machine's: a page does not say
 * whose it is. Its threads follow each other, and so do those of the page in front and of the one
 * behind; but not across either border.  (A kernel that leaves out switches does so within pages,
 * too.)  That tells something only where switches are recorded: one of the three has one.
 */
bool page_is_foreign(struct page_run *run, const uint8_t *page);

/* The time of the last record before @page of the run, as far back as a few pages; false: not
 * found. */
bool page_last_before(struct page_run *run, const uint8_t *page, uint64_t *last);

/* A page that was judged before, and is believed: only its header is read, and not @out->last. */
bool page_take(const struct page_run *run, const uint8_t *page, struct page_look *out);

#endif
