/* SPDX-License-Identifier: Apache-2.0 */
/* The slowest requests to devices, step by step, each step in words. */
#include "analysis/rows.h"
#include "analysis/io/requests.h"
#include "analysis/sentence.h"

#include <string.h>

/* So many requests are told in steps: who wants another one asks for its time. */
#define TOLD 3

struct teller {
	struct sonde_rows *out;
	struct sonde_history *history;
	const struct io_request *r;
	int64_t row;
	int64_t host; /* parent of the request's machine */
	ns_t at;      /* up to here all has been told */
};

static void say_who(struct sentence *s, int64_t thread, const char *otherwise)
{
	struct sonde_thread t;

	if (sonde_thread_get(s->history, thread, &t)) {
		say(s, "%s", otherwise);
		return;
	}
	say_thread(s, thread);
	say(s, " of ");
	say_machine(s, t.machine);
}

static void add_step(struct teller *t, ns_t begin, ns_t end, const char *leg, int64_t machine,
		     int64_t thread, const struct sentence *says)
{
	char *text = arena_strdup(&t->out->arena, says->text);

	t->out->no_memory |= !text;
	if (!text)
		return;
	rows_add(t->out, (union sonde_cell[]){
				 cell_int(t->row),
				 cell_int(begin),
				 cell_int(end - begin),
				 cell_str(leg),
				 cell_int(machine),
				 cell_int(thread),
				 cell_str(text),
			 });
	t->at = end;
}

/* Up to here something happened that the traces do not divide. */
static void tell_gap(struct teller *t, ns_t until)
{
	struct sentence s = {.history = t->history};
	const char *missing = "";

	if (until <= t->at)
		return;
	for (unsigned leg = 0; leg < NR_LEGS && !*missing; leg++) {
		if (t->r->legs[leg] == LEG_UNKNOWN)
			missing = io_missing(t->history, t->r->vm, (enum io_leg)leg);
	}
	if (!*missing && !t->r->covered)
		missing = "the host's trace of that time";
	say(&s, "not divided%s%s", *missing ? "; missing: " : "", missing);
	if (!*missing && t->r->disputed)
		say(&s,
		    "; the host's disk worked for it or for another request that was under way");
	add_step(t, t->at, until, "unknown", -1, -1, &s);
}

static void tell_queue(struct teller *t, struct sentence *s)
{
	const struct io_request *r = t->r;

	say(s, "in the queue of ");
	say_machine(s, r->vm);
	say(s, "'s scheduler");
	add_step(t, r->at[IO_QUEUED], r->at[IO_ISSUED], "queue", r->vm, r->thread, s);
}

static void tell_submit(struct teller *t, struct sentence *s)
{
	const struct io_request *r = t->r;

	say(s, "its driver, until ");
	say_cpu(s, r->cpu);
	say(s, " left guest mode to tell its VMM");
	add_step(t, r->at[IO_ISSUED], r->at[IO_KICKED], "submit", r->vm, r->thread, s);
}

static void tell_wake(struct teller *t, struct sentence *s)
{
	say(s, "until ");
	say_who(s, t->r->worker, "a thread of the host");
	say(s, ", notified, ran");
	add_step(t, t->r->at[IO_KICKED], t->r->at[IO_PICKED], "wake", t->host, t->r->worker, s);
}

static void tell_vmm(struct teller *t, ns_t until, bool disk_next, struct sentence *s)
{
	const struct io_request *r = t->r;
	bool sends = !disk_next && r->kind != IO_SEND;

	if (until <= t->at)
		return;
	if (sends)
		say_who(s, r->sender, "the VMM");
	else
		say_who(s, r->worker, "the VMM");
	say(s, disk_next	    ? " works for it, until the disk gets it"
	       : r->kind == IO_SEND ? " works for it, until the packet is passed on"
				    : " ends it, until the interrupt is sent");
	add_step(t, t->at, until, "vmm", t->host, sends ? r->sender : r->worker, s);
}

static void tell_work(struct teller *t, ns_t end)
{
	const struct io_request *r = t->r;
	struct sentence before = {.history = t->history}, disk = before, after = before;

	if (r->legs[LEG_DISK] > 0) {
		tell_vmm(t, r->at[IO_DISK_BEGIN], true, &before);
		say(&disk, "the disk of ");
		say_machine(&disk, t->host);
		say(&disk, " works");
		add_step(t, r->at[IO_DISK_BEGIN], r->at[IO_DISK_END], "disk", t->host, -1, &disk);
	}
	tell_vmm(t, end, false, &after);
}

static void tell_interrupt(struct teller *t)
{
	const struct io_request *r = t->r;
	const char *irq = query_vector_irq(t->history, r->irq_cpu, r->vector);
	struct sentence given = {.history = t->history}, handler = given, done = given;

	if (r->legs[LEG_INJECT] >= 0) {
		say(&given, "until ");
		say_cpu(&given, r->irq_cpu);
		say(&given, " was given the interrupt%s%s%s", *irq ? " (" : "", irq,
		    *irq ? ")" : "");
		add_step(t, r->at[IO_SENT], r->at[IO_SENT] + r->legs[LEG_INJECT], "inject", t->host,
			 -1, &given);
	}
	if (r->legs[LEG_DELIVER] >= 0) {
		say(&handler, "until its handler began");
		add_step(t, r->at[IO_INJECTED], r->at[IO_HANDLED], "deliver", r->vm, -1, &handler);
	}
	if (r->legs[LEG_FINISH] >= 0) {
		tell_gap(t, r->at[IO_HANDLED]);
		say(&done, "the handler, until it was done with the request");
		add_step(t, r->at[IO_HANDLED], r->at[IO_DONE], "finish", r->vm, -1, &done);
	}
}

static void tell(struct teller *t)
{
	const struct io_request *r = t->r;
	struct sentence queue = {.history = t->history}, submit = queue, wake = queue, disk = queue;

	t->at = r->begin;
	if (r->legs[LEG_QUEUE] >= 0)
		tell_queue(t, &queue);
	if (t->host < 0) {
		say(&disk, "the disk of ");
		say_machine(&disk, r->vm);
		say(&disk, " works");
		add_step(t, r->at[IO_ISSUED], r->at[IO_DONE], "disk", r->vm, r->thread, &disk);
		return;
	}
	if (r->legs[LEG_SUBMIT] >= 0)
		tell_submit(t, &submit);
	if (r->legs[LEG_WAKE] >= 0)
		tell_wake(t, &wake);
	if (r->legs[LEG_VMM] >= 0)
		tell_work(t, r->kind == IO_SEND ? r->at[IO_DONE] : r->at[IO_SENT]);
	if (r->kind == IO_SEND)
		return;
	if (r->at[IO_SENT] >= 0)
		tell_gap(t, r->at[IO_SENT]);
	tell_interrupt(t);
	tell_gap(t, r->end);
}

/* The slowest of them, in order of length. */
struct slowest {
	int64_t row[TOLD];
	ns_t length[TOLD];
	unsigned nr;
	bool of_vms; /* those of a VM alone */
};

static bool consider(const struct io_request *r, void *data)
{
	struct slowest *s = data;
	ns_t length = r->end - r->begin;
	unsigned at = s->nr;

	if (s->of_vms && !r->vm)
		return true;
	while (at && s->length[at - 1] < length)
		at--;
	if (at == TOLD)
		return true;
	s->nr += s->nr < TOLD;
	for (unsigned i = s->nr - 1; i > at; i--) {
		s->row[i] = s->row[i - 1];
		s->length[i] = s->length[i - 1];
	}
	s->row[at] = r->row;
	s->length[at] = length;
	return true;
}

static int find_steps(struct sonde_rows *out, struct sonde_history *history, ns_t begin, ns_t end,
		      struct error *err)
{
	struct slowest s = {.of_vms = true};

	(void)err;
	requests_scan(history, begin, end, consider, &s);
	if (!s.nr) { /* the host's own requests have one step: they are told when there is no other
		      */
		s.of_vms = false;
		requests_scan(history, begin, end, consider, &s);
	}
	for (unsigned i = 0; i < s.nr; i++) {
		struct sonde_machine m;
		struct io_request r;
		struct teller t = {out, history, &r, s.row[i], -1, 0};

		if (!query_request(history, s.row[i], &r) || sonde_machine_get(history, r.vm, &m))
			continue;
		t.host = m.parent;
		tell(&t);
	}
	return 0;
}

static const struct sonde_column columns[] = {
	{"request", "REQUEST", SONDE_COL_INT, "its number, as in io_list"},
	{"at", "AT", SONDE_COL_TIME, "start of the step"},
	{"length", "FOR", SONDE_COL_NS, "how long; the steps add up to the request's length"},
	{"stage", "STAGE", SONDE_COL_STRING,
	 "part of the way, as in io_stage; unknown: not divided"},
	{"machine", "MACHINE", SONDE_COL_MACHINE, "where the request was"},
	{"thread", "THREAD", SONDE_COL_THREAD, "in whose hands, -1 unknown"},
	{"what", "WHAT", SONDE_COL_STRING, "in words"},
};

const struct table_def io_step_table = {
	.public = {"io_step", "The slowest requests, step by step",
		   "what happened to the three slowest requests of VMs, in order of time", columns,
		   ARRAY_SIZE(columns)},
	.find = find_steps,
};
