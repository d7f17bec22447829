/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANALYSIS_USE_LOG_H
#define ANALYSIS_USE_LOG_H

#include "analysis/cpu_users.h"

/*
 * What one scan over a window told, kept for the next that asks for the same: several facts are made of
 * the same delays, one after the other.  A run keeps one of each kind, of the window asked for last;
 * one with more than USE_LOG_MAX entries (40 bytes each) is not kept, and scanned again.
 *
 * A delay is a struct of the scan's own, without pointers.
 */
#define USE_LOG_MAX (1u << 20)

struct use_log {
	ns_t begin, end; /* of the window */
	size_t delay_bytes;
	const struct culprits *culprits;
	const void *now; /* the delay at hand, until it has an entry */
	char *delays;	 /* owned */
	struct use_log_entry {
		uint32_t delay; /* number of the delay that it is of */
		uint32_t number, count;
		int32_t on;
		ns_t time_ns, longest_ns, longest_at;
	} *entries; /* owned */
	size_t nr_delays, delays_room, nr, room;
	bool too_long;
};

/* Tells all of @log in order, when it is of that window; false: it is not, or there is none. */
bool use_log_tell(const struct use_log *log, ns_t begin, ns_t end,
		  bool (*each)(const void *delay, const struct cpu_use *use, void *data),
		  void *data);

/* A new one; NULL: no memory, the others take that. */
struct use_log *use_log_new(ns_t begin, ns_t end, size_t delay_bytes,
			    const struct culprits *culprits);

/* What is added from now on is of @delay, which stays where it is as long as that. */
void use_log_begin(struct use_log *log, const void *delay);
void use_log_add(struct use_log *log, const struct cpu_use *use);

/* Puts @log in the place of the run's own, when it holds all that the scan told. */
void use_log_keep(struct use_log **kept, struct use_log *log, bool whole);
void use_log_free(struct use_log *log);

#endif
