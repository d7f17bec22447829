/* SPDX-License-Identifier: Apache-2.0 */
#include "record/agent/agent_relay.h"
#include "record/remote/wire_sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Our own recorder waits for us as we wait for guests: their time must end before ours. */
#define SHORTER(time) ((time) / 4 * 3)

/* A relayed machine: remote_machine.user.  Number 0 is our own machine. */
struct relayed {
	uint16_t number; /* on the link to our recorder; below, its place in the list */
	struct wire_sink sink;
};

struct agent_relay {
	struct agent_machines *machines;
	struct remote *remote;
	struct remote_targets targets;
	struct relayed list[WIRE_MACHINES_MAX];
};

/* Tells our recorder of the machine. */
static int announce(struct agent_relay *relay, struct remote_machine *m, const char *no_agent,
		    struct error *err)
{
	const struct relayed *parent = m->parent ? m->parent->user : &relay->list[0];
	struct wire_identity id = m->identity;
	uint16_t number;
	int ret;

	if (!parent)
		return fail(err, -E2BIG, "more than %u machines on one link", WIRE_MACHINES_MAX);
	snprintf(id.name, sizeof(id.name), "%s", m->name);
	snprintf(id.no_agent, sizeof(id.no_agent), "%s", no_agent);
	id.parent = parent->number;
	id.vm_pid = (uint64_t)m->vm_pid;
	ret = agent_machines_add(relay->machines, &id, &number, err);
	if (ret)
		return ret;
	m->user = &relay->list[number];
	relay->list[number].number = number;
	wire_sink_init(&relay->list[number].sink, relay->machines->sender, number);
	return 0;
}

static int relay_open(void *data, struct remote_machine *m, struct error *err)
{
	struct agent_relay *relay = data;
	int ret = announce(relay, m, "", err);

	if (!ret)
		m->sink = &((struct relayed *)m->user)->sink.sink;
	return ret;
}

/* A machine that has no number on the link is at least spoken of. */
static void tell_of(struct agent_relay *relay, const struct remote_machine *m, const char *why)
{
	struct wire_text notice;
	char path[256];

	remote_path(m, path, sizeof(path));
	snprintf(notice.text, sizeof(notice.text), "its guest %s is not recorded: %.200s", path,
		 why);
	wire_send_message(relay->machines->sender, WIRE_NOTICE, 0, WIRE_TEXT, &notice, NULL);
}

static void relay_done(void *data, struct remote_machine *m)
{
	struct agent_relay *relay = data;
	struct wire_cost done = {.cost = m->cost, .complete = m->complete};
	struct error err = {0};

	m->sink = NULL;
	if (!m->recorded) {
		/* Another failure is one of our own link: whoever sends next sees it. */
		if (announce(relay, m, *m->why ? m->why : "it could not be recorded", &err) ==
		    -E2BIG)
			tell_of(relay, m, err.text);
		return;
	}
	snprintf(done.why, sizeof(done.why), "%s", m->why);
	if (m->user)
		wire_send_message(relay->machines->sender, WIRE_DONE,
				  ((struct relayed *)m->user)->number, WIRE_COST, &done, NULL);
}

static void relay_notice(void *data, struct remote_machine *m, const char *text)
{
	struct agent_relay *relay = data;
	struct wire_text notice;

	snprintf(notice.text, sizeof(notice.text), "%s", text);
	if (m->user)
		wire_send_message(relay->machines->sender, WIRE_NOTICE,
				  ((struct relayed *)m->user)->number, WIRE_TEXT, &notice, NULL);
}

int agent_relay_open(struct agent_relay **out, const struct wire_request *request,
		     const struct wire_token *token, const struct remote_targets *told,
		     struct agent_machines *machines, struct error *err)
{
	static const struct remote_ops ops = {relay_open, relay_done, relay_notice};
	struct agent_relay *relay = calloc(1, sizeof(*relay));
	struct remote_options options = {
		.token = token,
		.ops = &ops,
		.data = relay,
		.request = *request,
		.timeout_ms = (unsigned)SHORTER(request->timeout_ms),
	};
	int ret;

	*out = NULL;
	if (!relay)
		return fail(err, -ENOMEM, "out of memory for relaying guests");
	relay->machines = machines;
	if (told)
		relay->targets = *told;
	ret = remote_targets_add(&relay->targets, "all", NULL, err);
	options.targets = relay->targets.list;
	options.nr_targets = relay->targets.nr;
	options.request.depth--;
	if (!ret)
		ret = remote_connect(&relay->remote, &options, err);
	if (ret) {
		agent_relay_close(relay);
		return ret;
	}
	*out = relay;
	return 0;
}

void agent_relay_start(struct agent_relay *relay)
{
	remote_start(relay->remote);
}

void agent_relay_note(struct agent_relay *relay, const char *cause)
{
	remote_note(relay->remote, cause);
}

uint64_t agent_relay_events_lost(struct agent_relay *relay)
{
	uint64_t lost, bytes;
	unsigned recording;

	remote_progress(relay->remote, &recording, &lost, &bytes);
	return lost;
}

bool agent_relay_has_agent(struct agent_relay *relay, pid_t vm)
{
	return remote_has_agent(relay->remote, vm);
}

void agent_relay_stop(struct agent_relay *relay, unsigned limit_ms)
{
	remote_stop(relay->remote, SHORTER(limit_ms));
}

void agent_relay_close(struct agent_relay *relay)
{
	if (!relay)
		return;
	remote_close(relay->remote);
	free(relay);
}
