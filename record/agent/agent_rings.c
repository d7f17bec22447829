/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agent/agent_rings.h"
#include "record/remote/wire_sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct told {
	bool is_told; /* our recorder knows it */
	uint16_t number;
	struct wire_sink sink;
};

struct agent_rings {
	struct agent_machines *machines;
	struct rings *rings;
	struct told list[WIRE_MACHINES_MAX]; /* by guest: there are no numbers for more */
};

static void notice(const char *text, void *data)
{
	const struct agent_rings *r = data;
	struct wire_text notice;

	snprintf(notice.text, sizeof(notice.text), "%s", text);
	wire_send_message(r->machines->sender, WIRE_NOTICE, 0, WIRE_TEXT, &notice, NULL);
}

static int tell(struct agent_rings *r, const struct rings_guest *guest, struct error *err)
{
	struct told *t = &r->list[guest->index];
	struct wire_identity id = {
		.cpus = 1, /* of a kernel's trace it has none */
		.vm_pid = (uint64_t)guest->pid,
		.content = WIRE_BLOCKS,
	};
	int ret;

	snprintf(id.name, sizeof(id.name), "vm-%d", guest->pid);
	if (*guest->name)
		snprintf(id.name, sizeof(id.name), "%s", guest->name);
	snprintf(id.tracer, sizeof(id.tracer), "%s", record_tracer_name(RECORD_HYPERTRACE));
	snprintf(id.product_uuid, sizeof(id.product_uuid), "%s", guest->uuid);
	ret = agent_machines_add(r->machines, &id, &t->number, err);
	if (ret)
		return ret;
	wire_sink_init(&t->sink, r->machines->sender, t->number);
	t->is_told = true;
	return 0;
}

static struct sink *place(const struct rings_guest *guest, void *data)
{
	struct agent_rings *r = data;
	struct error err = {0};
	char text[512];
	int ret;

	if (guest->index >= WIRE_MACHINES_MAX) /* the link has been out of numbers for long */
		return NULL;
	ret = r->list[guest->index].is_told ? 0 : tell(r, guest, &err);
	if (!ret)
		return &r->list[guest->index].sink.sink;
	snprintf(text, sizeof(text), "what its guest %.100s keeps in memory is not read: %.300s",
		 guest->name, err.text);
	notice(text, r);
	return NULL;
}

int agent_rings_open(struct agent_rings **out, const struct rings_options *options,
		     struct agent_machines *machines, struct error *err)
{
	struct agent_rings *r = calloc(1, sizeof(*r));
	struct rings_options own = *options;
	int ret;

	*out = NULL;
	if (!r)
		return fail(err, -ENOMEM, "out of memory for what guests keep in memory");
	r->machines = machines;
	own.place = place;
	own.notice = notice;
	own.data = r;
	ret = rings_open(&r->rings, &own, err);
	if (ret) {
		agent_rings_close(r);
		return ret;
	}
	*out = r;
	return 0;
}

void agent_rings_tick(struct agent_rings *r)
{
	rings_tick(r->rings);
}

uint64_t agent_rings_events_lost(const struct agent_rings *r)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < rings_nr_guests(r->rings); i++)
		lost += rings_guest(r->rings, i).counts.events_lost;
	return lost;
}

void agent_rings_stop(struct agent_rings *r)
{
	rings_tick(r->rings);
	for (unsigned i = 0; i < rings_nr_guests(r->rings) && i < WIRE_MACHINES_MAX; i++) {
		struct rings_guest guest = rings_guest(r->rings, i);
		struct wire_cost done = {0};

		if (!r->list[i].is_told)
			continue;
		done.complete = rings_outcome(&guest, &done.cost, done.why);
		wire_send_message(r->machines->sender, WIRE_DONE, r->list[i].number, WIRE_COST,
				  &done, NULL);
	}
}

void agent_rings_close(struct agent_rings *r)
{
	if (!r)
		return;
	rings_close(r->rings);
	free(r);
}
