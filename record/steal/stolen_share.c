/* SPDX-License-Identifier: Apache-2.0 */
#include "record/steal/stolen_share.h"
#include "base/map.h"
#include "base/now.h"
#include "channel/holdups.h"
#include "record/base/say_limit.h"
#include "record/host/clocks.h"
#include "record/steal/stolen_board.h"
#include "record/steal/stolen_bpf.h"
#include "record/steal/stolen_track.h"
#include "record/host/tasks.h"
#include "record/host/vmm.h"
#include "record/host/vms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define GUESTS_MAX 1024u
/* A guest whose device is open announces every five seconds. */
#define LISTENS_FOR_NS (15 * NS_PER_SEC)
#define TELL_ALL_NS NS_PER_SEC
#define RATE_SPAN_NS NS_PER_SEC
/* A guest that comes and goes all the time does not keep us busy. */
#define NEW_EVERY_NS (NS_PER_SEC / 10)
#define LOCK_FILE "/run/sonde-share.lock"
#define VCPUS_MAX 4096u
#define SVM_RATIO_BITS 32
#define VMX_RATIO_BITS 48

/* How a vCPU's counter stands to this machine's. */
struct counter {
	uint32_t vcpu;
	int64_t offset;
	uint64_t ratio; /* 0: not known */
	bool is_vmx;
	uint64_t rest_ns[ST_CLASSES]; /* not told yet: less than a step */
};

struct guest {
	struct stolen_board *board;
	int pid;
	char name[128];
	int64_t heard_ns;
	uint32_t vcpu;	/* that announced */
	int64_t offset; /* of its counter: a reset changes it */
	uint64_t stretches, missed, lost_before;
	bool is_vmx, is_quiet;	  /* quiet: its memory map changed, so it is to announce again */
	struct counter *counters; /* owned */
	unsigned nr;
	struct map by_vcpu; /* index into counters */
};

struct stolen_share {
	struct stolen_share_options options;
	struct stolen_bpf *bpf;
	struct stolen_track *track;
	struct guest **guests; /* owned */
	unsigned nr;
	struct map by_pid; /* of them: index into guests */
	struct map denied; /* processes that may not listen, and have been told of */
	struct map begun;  /* process: millisecond at which a guest of it was added last */
	struct clock_reading first, now;
	double hz; /* of this machine's counter */
	int64_t told_all_ns;
	struct say_limit said;
	struct vm_source source;
	int lock; /* -1: none */
};

/* ---- time ---------------------------------------------------------------------------------- */

static void read_clock(struct stolen_share *s)
{
	int64_t span;

	clock_read(&s->now);
	span = s->now.mono - s->first.mono;
	if (span >= RATE_SPAN_NS)
		s->hz = (double)(s->now.tsc - s->first.tsc) / (double)span * NS_PER_SEC;
}

static uint64_t scale(const struct counter *c, uint64_t cycles)
{
	unsigned bits = c->is_vmx ? VMX_RATIO_BITS : SVM_RATIO_BITS;

	return (uint64_t)((unsigned __int128)cycles * c->ratio >> bits);
}

/* The guest's counter at @ns, which is not long ago. */
static uint64_t guest_tsc(const struct stolen_share *s, const struct counter *c, int64_t ns)
{
	double cycles = (double)(s->now.mono - ns) * s->hz / NS_PER_SEC;

	return scale(c, s->now.tsc - (uint64_t)(int64_t)cycles) + (uint64_t)c->offset;
}

static uint64_t guest_hz(const struct stolen_share *s, const struct counter *c)
{
	return scale(c, (uint64_t)s->hz);
}

static struct counter *counter_of(struct guest *g, uint32_t vcpu)
{
	const uint32_t *i = map_get(&g->by_vcpu, vcpu);
	struct counter *grown;

	if (i)
		return &g->counters[*i];
	if (g->nr == VCPUS_MAX)
		return NULL;
	grown = reallocarray(g->counters, g->nr + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	g->counters = grown;
	if (map_put(&g->by_vcpu, vcpu, g->nr))
		return NULL;
	grown[g->nr] = (struct counter){.vcpu = vcpu};
	return &grown[g->nr++];
}

/* ---- guests -------------------------------------------------------------------------------- */

static void notice(struct stolen_share *s, const char *text)
{
	if (s->options.notice && may_say(&s->said, s->now.mono))
		s->options.notice(text, s->options.data);
}

static void say(struct stolen_share *s, const struct guest *g, bool ended)
{
	const struct stolen_guest shown = {
		.pid = g->pid,
		.name = g->name,
		.stretches = g->stretches,
		.ended = ended,
	};

	if (s->options.guest && may_say(&s->said, s->now.mono))
		s->options.guest(&shown, s->options.data);
}

static void drop(struct stolen_share *s, unsigned i)
{
	struct guest *g = s->guests[i], *last = s->guests[--s->nr];

	say(s, g, true);
	s->guests[i] = last;
	*map_get(&s->by_pid, (uint64_t)last->pid) = i;
	map_del(&s->by_pid, (uint64_t)g->pid);
	stolen_board_close(g->board);
	map_release(&g->by_vcpu);
	free(g->counters);
	free(g);
}

static struct guest *find(const struct stolen_share *s, int pid, unsigned *index)
{
	const uint32_t *at = map_get(&s->by_pid, (uint64_t)pid);

	*index = at ? *at : 0;
	return at ? s->guests[*at] : NULL;
}

/* To begin with a guest costs a look at its process and its memory.  One whose vCPUs announce and
 * take back in turn has that no more often than one that only announces. */
static bool may_begin(struct stolen_share *s, int pid, int64_t now)
{
	uint32_t ms = (uint32_t)(now / (NS_PER_SEC / 1000));
	const uint32_t *last = map_get(&s->begun, (uint64_t)pid);

	if (last && ms - *last < NEW_EVERY_NS / (NS_PER_SEC / 1000))
		return false;
	if (s->begun.nr >= GUESTS_MAX)
		map_clear(&s->begun);
	return !map_put(&s->begun, (uint64_t)pid, ms);
}

#define AMBIGUOUS                                                                                  \
	"--vm %.100s means VMs of two processes, %d and %d: name one by its UUID if that "         \
	"differs, or as --vm pid:%d"

/* Once of a VM. */
static void tell_denied(struct stolen_share *s, const struct vm_info *vm, const struct vms *all)
{
	char text[300];
	const char *wanted;
	int pids[2];

	if (map_get(&s->denied, (uint64_t)vm->pid))
		return;
	if (s->denied.nr >= GUESTS_MAX)
		map_clear(&s->denied);
	map_put(&s->denied, (uint64_t)vm->pid, 0);
	wanted = stolen_ambiguous(&s->options.rules, all, pids);
	if (wanted && (vm->pid == pids[0] || vm->pid == pids[1]))
		snprintf(text, sizeof(text), AMBIGUOUS, wanted, pids[0], pids[1], pids[0]);
	else
		snprintf(text, sizeof(text),
			 "process %d%s%.100s asked, and is none of the VMs that --vm names",
			 vm->pid, *vm->name ? ", " : "", vm->name);
	notice(s, text);
}

/* False: the operator does not want this VM to listen. */
static bool describe(struct stolen_share *s, struct guest *g)
{
	struct vm_info vm = {.pid = g->pid};
	struct vms all = {0};
	bool may;

	vmm_describe(&vm);
	snprintf(g->name, sizeof(g->name), "%s", vm.name);
	may = stolen_may_listen(&s->options.rules, &vm, &all);
	if (may && !s->options.rules.all_vms)
		may = !vms_find(&s->source, &all) &&
		      stolen_may_listen(&s->options.rules, &vm, &all);
	if (!may)
		tell_denied(s, &vm, &all);
	vms_release(&all);
	free(vm.vcpus);
	return may;
}

static void add_guest(struct stolen_share *s, const struct stolen_place *place)
{
	struct error err = {0};
	struct guest **grown, *g;

	grown = s->nr == GUESTS_MAX ? NULL
				    : reallocarray(s->guests, s->nr + 1, sizeof(struct guest *));
	if (!grown)
		return;
	s->guests = grown;
	g = calloc(1, sizeof(*g));
	if (!g)
		return;
	g->pid = place->pid;
	if (!describe(s, g)) {
		free(g);
		return;
	}
	if (stolen_board_open(&g->board, place, &err)) {
		notice(s, err.text);
		free(g);
		return;
	}
	if (map_put(&s->by_pid, (uint64_t)g->pid, s->nr)) {
		stolen_board_close(g->board);
		free(g);
		return;
	}
	g->lost_before = stolen_bpf_lost(s->bpf);
	s->guests[s->nr++] = g;
	say(s, g, false);
}

/* One region of a VM at a time: the last that was announced. */
static void hear(struct stolen_share *s, const struct holdup *h)
{
	const struct stolen_place place = {
		.pid = (int)h->tgid,
		.at = h->announce.at,
		.room = h->announce.room,
		.generation = h->generation,
		.nonce = h->announce.nonce,
		.bytes = h->announce.bytes,
		.nr_rings = (uint32_t)h->announce.nr,
		.ring_bytes = h->announce.ring_bytes,
	};
	unsigned i;
	struct guest *g = find(s, place.pid, &i);

	if ((h->announce.nr >> 40 & 0xff) != ST_VERSION)
		return;
	if ((h->announce.nr >> 32 & 0xff) == ST_GONE) {
		if (g && stolen_board_is_at(g->board, place.pid, place.nonce)) {
			stolen_board_end(g->board);
			drop(s, i);
		}
		return;
	}
	if (g && (int64_t)h->time_ns - g->heard_ns < NEW_EVERY_NS)
		return;
	if (g && (!stolen_board_is_at(g->board, place.pid, place.nonce) ||
		  stolen_board_again(g->board, &place, NULL))) {
		drop(s, i);
		g = NULL;
	}
	if (!g && may_begin(s, place.pid, (int64_t)h->time_ns)) {
		add_guest(s, &place);
		g = find(s, place.pid, &i);
	}
	if (!g)
		return;
	g->heard_ns = (int64_t)h->time_ns;
	g->vcpu = h->vcpu;
	g->offset = h->tsc_offset;
	g->is_quiet = false;
}

/* ---- what happens -------------------------------------------------------------------------- */

static void note_counter(struct counter *c, const struct hold *hold)
{
	c->offset = hold->tsc_offset;
	c->ratio = hold->tsc_ratio;
	c->is_vmx = hold->is_vmx;
}

/* One stretch, or so many exits that were too short to be told one by one; false: it cannot be. */
static bool add_hold(struct stolen_share *s, struct guest *g, struct counter *c,
		     const struct hold *hold)
{
	int64_t begin = hold->begin_ns, length = hold->sum_nr ? hold->sum_ns : hold->length_ns;
	struct st_record r = {
		.kind = (uint8_t)hold->kind,
		.flags = hold->moved ? ST_MOVED : 0,
		.reason = hold->reason,
	};
	uint32_t nr = hold->sum_nr;

	if (stolen_is_of_others(hold->kind)) {
		stolen_coarsen(&s->options.rules, &begin, &length, &c->rest_ns[hold->kind]);
		nr = !length; /* it counts, and is no record */
	}
	r.length_ns = (uint64_t)length;
	r.begin_tsc = guest_tsc(s, c, begin);
	return stolen_board_add(g->board, hold->vcpu, &r, nr, (uint64_t)hold->longest_ns);
}

static void take_hold(void *data, const struct hold *hold)
{
	struct stolen_share *s = data;
	unsigned i;
	struct guest *g = find(s, (int)hold->tgid, &i);
	struct counter *c = g && hold->tsc_ratio ? counter_of(g, hold->vcpu) : NULL;

	if (g && (!c || g->is_quiet))
		g->missed++;
	if (!c || g->is_quiet)
		return;
	note_counter(c, hold);
	g->is_vmx = hold->is_vmx;
	if (add_hold(s, g, c, hold))
		g->stretches += hold->sum_nr ? hold->sum_nr : 1;
	else
		g->missed++;
}

static void take(void *data, const struct holdup *h)
{
	struct stolen_share *s = data;
	unsigned i;
	struct guest *g;

	stolen_track_put(s->track, h);
	if (h->kind == HU_ANNOUNCE)
		hear(s, h);
	if (h->kind != HU_EXIT)
		return;
	g = find(s, (int)h->tgid, &i);
	if (!g)
		return;
	/* Memory may be elsewhere now; a guest that begins anew has other plans for it. */
	if (h->generation != stolen_board_generation(g->board) ||
	    (h->vcpu == g->vcpu && h->tsc_offset != g->offset))
		g->is_quiet = true;
}

/* ---- telling ------------------------------------------------------------------------------- */

static void tell(struct stolen_share *s, struct guest *g, bool all)
{
	uint64_t bound_ns = (uint64_t)((double)s->now.width / s->hz * NS_PER_SEC) + 1 +
			    s->options.rules.resolution_ns - 1;
	const struct stolen_state state = {
		.lost = stolen_bpf_lost(s->bpf) - g->lost_before + g->missed,
		.bound_ns = bound_ns < UINT32_MAX ? (uint32_t)bound_ns : UINT32_MAX,
		.is_vmx = g->is_vmx,
	};

	for (unsigned i = 0; i < g->nr; i++)
		stolen_board_set_clock(g->board, g->counters[i].vcpu,
				       guest_tsc(s, &g->counters[i], s->now.mono),
				       guest_hz(s, &g->counters[i]));
	if (stolen_board_tell(g->board, &state, all))
		g->heard_ns = 0;
}

void stolen_share_tick(struct stolen_share *s)
{
	bool all;

	read_clock(s); /* what comes now was there before */
	stolen_bpf_poll(s->bpf);
	all = s->now.mono - s->told_all_ns >= TELL_ALL_NS;
	if (all)
		s->told_all_ns = s->now.mono;
	for (unsigned i = s->nr; i--;) {
		struct guest *g = s->guests[i];

		if (!g->is_quiet)
			tell(s, g, all);
		if (s->now.mono - g->heard_ns < LISTENS_FOR_NS)
			continue;
		if (!g->is_quiet)
			stolen_board_end(g->board);
		drop(s, i);
	}
}

/* Two that write to the same guests would each undo what the other told. */
static int be_alone(struct stolen_share *s, struct error *err)
{
	s->lock = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock >= 0 && flock(s->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return fail(err, -EBUSY, "another sonde share runs on this machine");
	return 0;
}

/* While nobody listens yet, an operator who means two VMs gets to know at once. */
static int check_rules(struct stolen_share *s, struct error *err)
{
	const char *wanted;
	struct vms all;
	int pids[2];
	int ret = vms_find(&s->source, &all);

	if (ret)
		return fail(err, ret, "out of memory");
	wanted = stolen_ambiguous(&s->options.rules, &all, pids);
	vms_release(&all);
	return wanted ? fail(err, -ENOTUNIQ, AMBIGUOUS, wanted, pids[0], pids[1], pids[0]) : 0;
}

static int open_all(struct stolen_share *s, struct error *err)
{
	struct tsc_rate rate;
	int ret = be_alone(s, err);

	if (!ret)
		ret = check_rules(s, err);
	if (ret)
		return ret;
	if (in_pid_namespace())
		return fail(err, -ENOTSUP,
			    "this program runs in a PID namespace (a container): processes of VMs "
			    "have other numbers here than in KVM's events");
	s->track = stolen_track_new(take_hold, s);
	if (!s->track)
		return fail(err, -ENOMEM, "out of memory");
	if (!tsc_rate(&rate))
		return fail(err, -ENODEV, "this machine has no cycle counter that could be used");
	s->hz = (double)rate.khz * 1000;
	clock_read(&s->first);
	return stolen_bpf_open(&s->bpf, s->options.least_ns, take, s, err);
}

int stolen_share_open(struct stolen_share **out, const struct stolen_share_options *options,
		      struct error *err)
{
	struct stolen_share *s = calloc(1, sizeof(*s));
	int ret;

	*out = NULL;
	if (!s)
		return fail(err, -ENOMEM, "out of memory");
	s->options = *options;
	s->lock = -1;
	vm_source_open(&s->source);
	ret = open_all(s, err);
	if (ret)
		stolen_share_close(s);
	else
		*out = s;
	return ret;
}

uint64_t stolen_share_lost(const struct stolen_share *s)
{
	return stolen_bpf_lost(s->bpf);
}

void stolen_share_close(struct stolen_share *s)
{
	if (!s)
		return;
	while (s->nr) {
		if (!s->guests[0]->is_quiet)
			stolen_board_end(s->guests[0]->board);
		drop(s, 0);
	}
	vm_source_close(&s->source);
	if (s->lock >= 0)
		close(s->lock);
	stolen_bpf_close(s->bpf);
	stolen_track_free(s->track);
	map_release(&s->by_pid);
	map_release(&s->begun);
	map_release(&s->denied);
	free(s->guests);
	free(s);
}
