/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_CTF_CURSOR_H
#define SOURCE_CTF_CURSOR_H

#include "source/ctf/reader.h"
#include "source/seam.h"

#include <stdatomic.h>

/*
 * What cursor.c, which goes from packet to packet, and decode.c, which takes the events out of one,
 * have in common.
 *
 * A packet is believed when all of it holds together: its events follow each other up to exactly
 * where it says, all of known kinds, and none is outside of its time.  Of one in which bytes are
 * missing, or are something else's, nobody knows which events are its own.  So a packet is judged
 * before its first event is given out, once, by a cursor that wants none.
 *
 * Zeros with events behind them are bytes that a disk lost where they stand, and shift nothing: the
 * events that end before the first zero are believed, when their times ascend.  Zeros up to the
 * packet's end may be padding of another packet, which was written over this one's end.
 */
enum phase { BETWEEN_PACKETS, IN_PACKET, AT_PACKET_END };

/* How far time has come. */
struct clockwork {
	uint64_t last;	    /* time of the event before, as recorded */
	uint64_t prev;	    /* the same as given out: monotonic */
	uint64_t usual_end; /* no sound event is later */
};

/* Why no more of a packet can be read. */
enum ctf_fault {
	CTF_SOUND,
	CTF_CUT_HEADER, /* these two are what a file's end makes of its last event */
	CTF_CUT_EVENT,
	CTF_UNKNOWN_EVENT,
	CTF_BADLY_DESCRIBED,
	CTF_EMPTY_EVENT,
	CTF_ZEROS,
	CTF_ASTRAY,
	CTF_STEP_BACK,
	CTF_TORN,
	CTF_MISPLACED,
};

struct ctf_cursor {
	enum phase phase;
	const struct ctf_stream *cs;
	const struct ctf_stream_plan *plan;
	struct ctf_packet *packet;
	const struct mapfile *map;
	const uint8_t *data; /* the packet's first byte */
	uint64_t file_bit;   /* where that is in its file */
	uint64_t pos, end;   /* bits in the packet */
	struct clockwork now;
	uint64_t known_until;  /* all before the packet is not later; 0 = not told: the first */
	uint64_t ceiling;      /* none may be given out later */
	uint64_t packet_end;   /* its last time, 0 = not told */
	const uint8_t *last;   /* its last event so far; NULL: none */
	struct seam seam;      /* of what is handed out, and with cursor.shows_seams of the rest */
	int32_t last_tid;      /* ... of those before, of the last one; -1 not known */
	uint64_t discarded;    /* events lost during it */
	uint64_t count_before; /* the packet in front's counter of lost events; UINT64_MAX = ? */
	uint64_t forgotten_bytes;
	uint32_t file;
	bool damaged;
	bool skipped;		   /* nothing of the packet is believed */
	bool judging;		   /* nothing is reported, no event given out */
	bool looking;		   /* for what stands behind: when losses begin does not matter */
	bool odd;		   /* found while judging: times that do not ascend, */
	enum ctf_fault fault;	   /* ... why no more can be read, */
	uint64_t fault_pos;	   /* ... from which bit on, */
	uint64_t sound_end;	   /* ... and where the last event before it ends */
	uint64_t earliest, latest; /* what its events' times can be */
	uint64_t regs[CTF_REGS];
};

/* Trouble of a kind is reported and counted once per packet, however many cursors meet it. */
static inline bool ctf_tell_once(struct ctf_cursor *cur, uint8_t what)
{
	return !(atomic_fetch_or(&cur->packet->told, what) & what);
}

/* The thread of the event at cur->last; -1 not known. */
int32_t ctf_last_tid(const struct ctf_cursor *cur);

/* Nothing after bit @pos of this packet can be read. */
void ctf_cursor_give_up(struct cursor *c, struct ctf_cursor *cur, uint64_t pos,
			enum ctf_fault fault);

/* At most @room events of the packet that the cursor is in; sets .phase when it has come to its
 * end.  Returns how many. */
unsigned ctf_decode_events(struct cursor *c, struct ctf_cursor *cur, struct event *events,
			   unsigned room);

#endif
