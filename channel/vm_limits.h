/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
#ifndef CHANNEL_VM_LIMITS_H
#define CHANNEL_VM_LIMITS_H

/*
 * How many hypercalls of one VM are recorded in a while (kernel/bpf/hypertrace.bpf.c), whatever it
 * does: so that its neighbours have their part of the ring, and the host its disk.
 *
 * The VM's vCPUs count at once and without locks.  Counters only go up; each call takes a number of
 * its own, and who begins a window says from which number on it counts.  So there are never more in
 * a window than the limit, and what is refused is counted exactly, modulo 2^32.
 *
 * No other header: the includer, a BPF program too, has bool, uint64_t and the like.
 */
#define VM_WINDOW_NS 100000000ull
#define VM_WINDOWS_PER_S 10
#define VM_RECORDS 4096 /* in a window, once half of the ring is full; the rest is lost */

/* What a record tells of.  Calls are the kernel's, but each of its processes can change address
 * spaces without end: so these take nothing from calls. */
enum vm_record { VM_CALL, VM_SPACE, VM_NR_RECORDS };

#define VM_SPACE_PART 4 /* of VM_RECORDS, and as many beside calls where there is a rate */

/* What a process may not do without end. */
enum vm_user_call {
	VM_FORGED, /* what only a kernel may send */
	VM_MARK,
	VM_USER_CALLS
};

#define VM_FORGED_MOST 100 /* in a window */
#define VM_MARK_MOST 1000
#define VM_USER_PART 4 /* of each, no more than this part of all calls: the kernel keeps half */

struct vm_count {
	uint32_t nr, from; /* from: the number at which the window began */
};

struct vm_limits {
	uint64_t since_ns; /* when the window began */
	struct vm_count records[VM_NR_RECORDS], user[VM_USER_CALLS];
	uint32_t skipped[VM_USER_CALLS];
	uint32_t told[VM_USER_CALLS]; /* of these, how many a record tells of */
};

#define VM_TELL_TRIES 8

static inline void vm_limits_at(struct vm_limits *l, uint64_t now_ns)
{
	uint64_t since_ns = *(volatile uint64_t *)&l->since_ns;

	/* An event may be late: now_ns before since_ns is no new window. */
	if ((int64_t)(now_ns - since_ns) < (int64_t)VM_WINDOW_NS ||
	    __sync_val_compare_and_swap(&l->since_ns, since_ns, now_ns) != since_ns)
		return;
	for (int i = 0; i < VM_NR_RECORDS; i++)
		l->records[i].from = l->records[i].nr;
	for (int i = 0; i < VM_USER_CALLS; i++)
		l->user[i].from = l->user[i].nr;
}

/* The how-manieth it is in this window, from 0 on. */
static inline uint32_t vm_count_one(struct vm_count *c)
{
	uint32_t nr = __sync_fetch_and_add(&c->nr, 1);

	return nr - *(volatile uint32_t *)&c->from;
}

/* Whether the ring has room for one more record of the VM, its processes' and its kernel's. */
enum vm_room { VM_ROOM, VM_ROOM_WHILE_HALF_EMPTY, VM_NO_ROOM };

/* @most: calls in a window; 0: no limit but the ring's. */
static inline enum vm_room vm_limits_record(struct vm_limits *l, enum vm_record of, uint32_t most)
{
	bool is_space = of == VM_SPACE;
	uint32_t nr = vm_count_one(&l->records[is_space]);
	uint32_t spaces = VM_RECORDS / VM_SPACE_PART;

	if (is_space)
		most = (most + VM_SPACE_PART - 1) / VM_SPACE_PART;
	if (most && nr >= most)
		return VM_NO_ROOM;
	return nr < (is_space ? spaces : VM_RECORDS - spaces) ? VM_ROOM : VM_ROOM_WHILE_HALF_EMPTY;
}

/* A process's call: whether it is recorded; else it is counted.  @calls: as vm_limits_record()'s
 * @most.  *@first: the first of a window that is not recorded. */
static inline bool vm_limits_user(struct vm_limits *l, enum vm_user_call kind, uint32_t calls,
				  bool *first)
{
	uint32_t most = kind == VM_MARK ? VM_MARK_MOST : VM_FORGED_MOST;
	uint32_t nr = vm_count_one(&l->user[kind == VM_MARK]);

	if (calls && calls / VM_USER_PART < most)
		most = calls / VM_USER_PART;
	*first = nr == most;
	if (nr < most)
		return true;
	__sync_fetch_and_add(&l->skipped[kind == VM_MARK], 1);
	return false;
}

/* As struct hc_record has it. */
static inline uint64_t vm_limits_skipped(const struct vm_limits *l)
{
	return (uint64_t)l->skipped[VM_MARK] << 32 | l->skipped[VM_FORGED];
}

/* A record that has vm_limits_skipped() as it was then is written; two vCPUs' may be so the other
 * way round. */
static inline void vm_limits_tell(struct vm_limits *l, uint64_t skipped)
{
	for (int kind = 0; kind < VM_USER_CALLS; kind++) {
		uint32_t now = (uint32_t)(skipped >> 32 * kind);

		for (int i = 0; i < VM_TELL_TRIES; i++) {
			uint32_t told = *(volatile uint32_t *)&l->told[kind];

			if ((int32_t)(now - told) <= 0 ||
			    __sync_val_compare_and_swap(&l->told[kind], told, now) == told)
				break;
		}
	}
}

/* Those of which no record tells.  In a copy made while calls go on more may be told than
 * skipped. */
static inline uint32_t vm_limits_untold(const struct vm_limits *l, enum vm_user_call kind)
{
	int32_t nr = (int32_t)(l->skipped[kind] - l->told[kind]);

	return nr > 0 ? (uint32_t)nr : 0;
}

#endif
