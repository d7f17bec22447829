/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/record/record_rings.h"
#include "base/units.h"
#include "record/directory/folder.h"
#include "record/guestmem/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is told of a guest when the run is gone. */
struct ring_machine {
	struct run_machine *machine; /* the run's; NULL: there was no room for it */
	struct sink *sink;	     /* its folder */
	char name[64], why[256];
	bool complete;
};

struct record_rings {
	const struct invocation *inv;
	struct guests *guests;
	struct run *run;
	struct run_machine *host;
	struct rings *rings;
	struct ring_machine *list; /* owned; by guest */
	unsigned nr;
};

/* The list has all guests up to this one; false: no memory. */
static bool grow(struct record_rings *r, unsigned index)
{
	struct ring_machine *grown;

	if (index < r->nr)
		return true;
	grown = reallocarray(r->list, index + 1, sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + r->nr, 0, (index + 1 - r->nr) * sizeof(*grown));
	r->list = grown;
	r->nr = index + 1;
	return true;
}

static struct run_machine *add_machine(struct record_rings *r, const struct rings_guest *guest)
{
	struct ring_machine *l = &r->list[guest->index];
	struct run_machine *m;

	snprintf(l->name, sizeof(l->name), "vm-%d", guest->pid);
	if (*guest->name)
		snprintf(l->name, sizeof(l->name), "%.63s", guest->name);
	guests_lock(r->guests);
	m = run_add_machine(r->run, l->name, r->host, NULL);
	if (m) {
		snprintf(m->tracer, sizeof(m->tracer), "hypertrace");
		snprintf(m->product_uuid, sizeof(m->product_uuid), "%s", guest->uuid);
		m->vm_pid = guest->pid;
		l->machine = m;
		snprintf(l->name, sizeof(l->name), "%s", m->name);
		run_save(r->run, NULL);
	}
	guests_unlock(r->guests);
	return m;
}

static struct sink *place(const struct rings_guest *guest, void *data)
{
	struct record_rings *r = data;
	struct ring_machine *l;

	if (!grow(r, guest->index))
		return NULL;
	l = &r->list[guest->index];
	if (!l->machine && !add_machine(r, guest))
		return NULL;
	if (!l->sink)
		folder_open(&l->sink, l->machine->folder, NULL, NULL);
	return l->sink;
}

static bool is_asked(int pid, void *data)
{
	return guests_has_agent(data, pid);
}

static void say(const char *text, void *data)
{
	const struct record_rings *r = data;

	if (!r->inv->common.quiet)
		complain(r->inv, EXIT_DONE, "%s", text);
}

int record_rings_start(struct record_rings **out, const struct invocation *inv,
		       const struct guest_options *opt, struct guests *guests, struct run *run,
		       struct run_machine *host, struct error *err)
{
	struct record_rings *r = calloc(1, sizeof(*r));
	struct rings_options options = {
		.limit_bytes = guests_rings_limit(inv, opt),
		.place = place,
		.is_asked = is_asked,
		.asked_data = guests,
		.notice = say,
		.data = r,
	};

	*out = r;
	if (!r)
		return fail(err, -ENOMEM, "out of memory");
	r->inv = inv;
	r->guests = guests;
	r->run = run;
	r->host = host;
	return rings_open(&r->rings, &options, err);
}

void record_rings_tick(struct record_rings *r)
{
	if (r && r->rings)
		rings_tick(r->rings);
}

static void settle(struct ring_machine *l, const struct rings_guest *g)
{
	struct run_machine *m = l->machine;
	struct record_cost cost;

	l->complete = rings_outcome(g, &cost, l->why);
	folder_close(l->sink);
	l->sink = NULL;
	if (!m)
		return;
	m->cost = cost;
	m->complete = l->complete;
	memcpy(m->why, l->why, sizeof(m->why));
}

void record_rings_stop(struct record_rings *r)
{
	if (!r || !r->rings)
		return;
	rings_tick(r->rings);
	for (unsigned i = 0; i < r->nr; i++) {
		struct rings_guest g = rings_guest(r->rings, i);

		settle(&r->list[i], &g);
	}
}

static const char *losses(char buf[UNIT_TEXT], const struct ring_counts *c)
{
	if (c->events_lost)
		return unit_count(buf, (int64_t)c->events_lost);
	return c->blocks_lost ? "some" : "no";
}

void record_rings_print(const struct record_rings *r, FILE *out)
{
	for (unsigned i = 0; r && i < r->nr; i++) {
		struct rings_guest g = rings_guest(r->rings, i);
		char bytes[UNIT_TEXT], lost[UNIT_TEXT];

		fprintf(out, "guest %s: %s from its memory, %s events lost%s%s\n", r->list[i].name,
			unit_bytes(bytes, g.counts.bytes), losses(lost, &g.counts),
			r->list[i].complete ? "" : "; not complete: ", r->list[i].why);
	}
}

void record_rings_json(const struct record_rings *r, struct json *j)
{
	json_begin_array(j, "rings");
	for (unsigned i = 0; r && i < r->nr; i++) {
		struct rings_guest g = rings_guest(r->rings, i);

		json_begin_object(j, NULL);
		json_str(j, "name", r->list[i].name);
		json_bool(j, "complete", r->list[i].complete);
		json_str(j, "why", r->list[i].why);
		json_uint(j, "bytes", g.counts.bytes);
		json_uint(j, "blocks", g.counts.blocks);
		json_uint(j, "blocks_lost", g.counts.blocks_lost);
		json_uint(j, "events_lost", g.counts.events_lost);
		json_end(j);
	}
	json_end(j);
}

void record_rings_close(struct record_rings *r)
{
	if (!r)
		return;
	rings_close(r->rings);
	for (unsigned i = 0; i < r->nr; i++)
		folder_close(r->list[i].sink);
	free(r->list);
	free(r);
}
