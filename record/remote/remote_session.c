/* SPDX-License-Identifier: Apache-2.0 */
#include "record/remote/remote_session.h"
#include "record/base/file_name.h"
#include "record/remote/remote_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What may come on a link after it has been told to stop because of the limit: more than kernels'
 * buffers hold is no honest rest. */
#define EXCESS_BYTES (1ull << 30)
#define TAIL_NUMBER_MAX 1
#define NOTICES_MAX 32	 /* of a machine; more are dropped */
#define FILES_MAX 20000u /* of all machines of a link */

/* ---- what is sent -------------------------------------------------------------------------- */

/* The other side takes what little we send at once, or it is not well: then what does not fit is
 * left out, and time limits do the rest. */
static void put_bytes(struct remote_session *s, const void *bytes, size_t len)
{
	if (len > sizeof(s->out) - s->out_bytes)
		return;
	memcpy(s->out + s->out_bytes, bytes, len);
	s->out_bytes += (unsigned)len;
}

static void put_frame(struct remote_session *s, enum wire_type type, uint16_t machine,
		      const void *payload, size_t len)
{
	uint8_t frame[WIRE_HEADER_BYTES + WIRE_CONTROL_MAX];
	struct wire_header h = {
		.type = (uint8_t)type,
		.machine = machine,
		.len_bytes = (uint32_t)len,
	};

	wire_put_header(frame, &h);
	if (len)
		memcpy(frame + WIRE_HEADER_BYTES, payload, len);
	put_bytes(s, frame, WIRE_HEADER_BYTES + len);
}

static void put_message(struct remote_session *s, enum wire_type type, uint16_t machine,
			enum wire_message m, const void *value)
{
	uint8_t payload[WIRE_CONTROL_MAX];

	put_frame(s, type, machine, payload, wire_pack(m, value, payload, sizeof(payload)));
}

/* ---- machines ------------------------------------------------------------------------------ */

static struct session_machine *add_machine(struct remote_session *s, struct remote_machine *parent,
					   const char *name)
{
	struct session_machine *sm = calloc(1, sizeof(*sm));
	struct remote_machine *siblings[WIRE_MACHINES_MAX];

	if (!sm)
		return NULL;
	for (unsigned i = 0; i < s->nr_machines; i++)
		siblings[i] = &s->machines[i]->m;
	remote_fit_name(sm->m.name, name, parent, siblings, s->nr_machines);
	sm->m.parent = parent;
	s->machines[s->nr_machines++] = sm;
	return sm;
}

static void machine_over(struct remote_session *s, struct session_machine *sm, const char *why)
{
	if (sm->m.over)
		return;
	sm->m.cost.bytes = sm->got_bytes;
	/* The first reason is the one. */
	if (why && !*sm->m.why)
		snprintf(sm->m.why, sizeof(sm->m.why), "%s", why);
	sm->m.complete = sm->m.recorded && !*sm->m.why;
	sm->m.early = sm->m.recorded && s->state == SESSION_RECORDING;
	sm->m.over = true; /* the last: other threads look at the rest when it is set */
	s->opt->ops->done(s->opt->data, &sm->m);
}

/* Its sink takes no more.  An agent is told to end in order; a guest of its own, which we cannot
 * reach, goes on, and what comes is dropped (the agent in between keeps to the limit, too). */
static void machine_full(struct remote_session *s, unsigned number, const char *why)
{
	struct session_machine *sm = s->machines[number];
	struct wire_limit limit = {0};

	sm->full = true;
	if (!*sm->m.why)
		snprintf(sm->m.why, sizeof(sm->m.why), "%s", why);
	if (!number)
		put_message(s, WIRE_STOP, 0, WIRE_LIMIT, &limit);
}

int session_init(struct remote_session *s, const struct remote_options *opt,
		 const struct remote_target *target, const char *name, struct error *err)
{
	memset(s, 0, sizeof(*s));
	s->opt = opt;
	s->target = target;
	if (!add_machine(s, NULL, name))
		return fail(err, -ENOMEM, "out of memory for the guest %s", name);
	s->machines[0]->m.vm_pid = target->vm_pid;
	return 0;
}

void session_release(struct remote_session *s)
{
	for (unsigned i = 0; i < s->nr_machines; i++)
		free(s->machines[i]);
	s->nr_machines = 0;
}

void session_end(struct remote_session *s, const char *why)
{
	for (unsigned i = s->nr_machines; i--;)
		machine_over(s, s->machines[i], why);
	s->state = SESSION_OVER;
}

/* ---- frames -------------------------------------------------------------------------------- */

static int take_greeting(void *data, const struct wire_greeting *g, struct error *err)
{
	struct remote_session *s = data;
	uint8_t proof[WIRE_PROOF_BYTES];

	if (s->state != SESSION_CALLING)
		return fail(err, -EPROTO, "it greeted twice");
	if (g->version != WIRE_VERSION)
		return fail(err, -EPROTO,
			    "its agent speaks version %u of the protocol, we speak "
			    "%u; use the same sonde on both sides",
			    g->version, WIRE_VERSION);
	if (g->flags & WIRE_NEEDS_TOKEN && !s->opt->token)
		return fail(err, -EACCES, "its agent wants a token; give it with --token-file");
	if (s->target->needs_token && !(g->flags & WIRE_NEEDS_TOKEN))
		return fail(err, -EACCES,
			    "its agent has no token, so it cannot prove that it is "
			    "the one; start it with --token-file");
	s->greeting = *g;
	s->state = SESSION_PROVING;
	if (g->flags & WIRE_NEEDS_TOKEN)
		wire_prove(s->opt->token, WIRE_FROM_CALLER, g, proof);
	put_frame(s, WIRE_AUTH, 0, proof, g->flags & WIRE_NEEDS_TOKEN ? sizeof(proof) : 0);
	return 0;
}

static int unpack_identity(struct wire_identity *id, const uint8_t *payload, size_t len,
			   struct error *err)
{
	int ret = wire_unpack(WIRE_IDENTITY, payload, len, id, err);

	if (ret)
		return ret;
	remote_clean_text(id->hostname);
	remote_clean_text(id->product_uuid);
	remote_clean_text(id->boot_id);
	remote_clean_text(id->release);
	remote_clean_text(id->sonde);
	remote_clean_text(id->tracer);
	remote_clean_text(id->name);
	remote_clean_text(id->no_agent);
	if (id->content > WIRE_BLOCKS)
		return fail(err, -EPROTO, "it has a machine of kind %" PRIu64, id->content);
	if (id->cpus > CPUS_MAX || (!id->cpus && !*id->no_agent))
		return fail(err, -EPROTO, "it says it has %" PRIu64 " CPUs", id->cpus);
	return 0;
}

static int take_hello(struct remote_session *s, const struct wire_header *h, const uint8_t *payload,
		      struct error *err)
{
	size_t skip = s->greeting.flags & WIRE_NEEDS_TOKEN ? WIRE_PROOF_BYTES : 0;
	struct wire_identity *id = &s->machines[0]->m.identity;
	int ret;

	if (s->state != SESSION_PROVING || h->len_bytes < skip)
		return fail(err, -EPROTO, "it sent a HELLO that does not fit");
	if (skip && !wire_proof_is_right(s->opt->token, WIRE_FROM_AGENT, &s->greeting, payload))
		return fail(err, -EACCES, "its agent has another token");
	ret = unpack_identity(id, payload + skip, h->len_bytes - skip, err);
	if (ret)
		return ret;
	id->content = WIRE_KERNEL; /* only of guests anything else is recorded */
	if (s->opt->own_boot_id && *id->boot_id && !strcmp(id->boot_id, s->opt->own_boot_id))
		return fail(err, -EINVAL,
			    "its link leads to this machine itself, not to a guest (the agent that "
			    "answers has this machine's boot id)");
	s->state = SESSION_READY;
	return 0;
}

/* How many machines are around @m, itself included. */
static unsigned depth_of(const struct remote_machine *m)
{
	unsigned depth = 0;

	for (; m; m = m->parent)
		depth++;
	return depth;
}

/* Guests begin with the agent's own machine; what they keep in memory is found when they have it,
 * and where that was asked for. */
static bool may_announce(const struct remote_session *s, const struct wire_identity *id)
{
	if (id->content == WIRE_BLOCKS)
		return s->opt->request.rings && s->state >= SESSION_STARTING &&
		       s->state < SESSION_OVER;
	return s->state == SESSION_STARTING || s->state == SESSION_STOPPING;
}

static int take_machine(struct remote_session *s, const struct wire_header *h,
			const uint8_t *payload, struct error *err)
{
	struct wire_identity id;
	struct session_machine *sm;
	struct remote_machine *parent;
	int ret = unpack_identity(&id, payload, h->len_bytes, err);

	if (ret)
		return ret;
	if (!may_announce(s, &id) || h->machine != s->nr_machines || id.parent >= s->nr_machines)
		return fail(err, -EPROTO, "it announced machine %u in %" PRIu64 " when it has %u",
			    h->machine, id.parent, s->nr_machines);
	parent = &s->machines[id.parent]->m;
	if (depth_of(parent) > s->opt->request.depth)
		return fail(err, -EPROTO, "it announced guests deeper than asked for");
	sm = add_machine(s, parent, id.name);
	if (!sm)
		return fail(err, -ENOMEM, "out of memory for its guests");
	sm->m.identity = id;
	sm->m.vm_pid = (pid_t)(id.vm_pid & 0x7fffffff);
	if (*id.no_agent) {
		machine_over(s, sm, id.no_agent);
		return 0;
	}
	sm->m.recorded = true;
	ret = s->opt->ops->open(s->opt->data, &sm->m, err);
	if (!ret)
		return 0;
	if (ret == -EPIPE)
		return ret;
	machine_full(s, h->machine, err->text);
	return 0;
}

static int take_done(struct remote_session *s, struct session_machine *sm,
		     const struct wire_header *h, const uint8_t *payload, struct error *err)
{
	struct wire_cost cost;
	int ret = wire_unpack(WIRE_COST, payload, h->len_bytes, &cost, err);

	if (ret)
		return ret;
	remote_clean_text(cost.why);
	remote_clean_text(cost.cost.clock);
	remote_clean_text(cost.cost.clock_reason);
	sm->m.cost = cost.cost;
	if (!cost.complete && !*cost.why)
		snprintf(cost.why, sizeof(cost.why), "its agent does not say why");
	if (h->machine) {
		machine_over(s, sm, cost.complete ? NULL : cost.why);
		return 0;
	}
	/* Its own DONE is the last: what was not heard of until now is not heard of any more. */
	for (unsigned i = s->nr_machines; --i;)
		machine_over(s, s->machines[i], "the agent it was recorded through ended first");
	machine_over(s, sm, cost.complete ? NULL : cost.why);
	s->state = SESSION_OVER;
	return 0;
}

static int take_started(struct remote_session *s, struct error *err)
{
	/* It crosses with a STOP when the recorder gave up waiting. */
	if (s->state == SESSION_STOPPING)
		return 0;
	if (s->state != SESSION_STARTING)
		return fail(err, -EPROTO, "it says it has started, and was not asked to");
	s->state = SESSION_RECORDING;
	return 0;
}

/* Each is a descriptor and an inode here, however little is in it. */
static int count_file(struct remote_session *s, struct error *err)
{
	if (++s->nr_files > FILES_MAX)
		return fail(err, -EPROTO, "it wants more than %u files", FILES_MAX);
	return 0;
}

static int take_file(struct remote_session *s, struct session_machine *sm,
		     const struct wire_header *h, const uint8_t *payload, struct error *err)
{
	struct wire_text name;
	int ret = wire_unpack(WIRE_TEXT, payload, h->len_bytes, &name, err);

	if (ret)
		return ret;
	if (!file_name_is_fit(name.text)) {
		remote_clean_text(name.text);
		return fail(err, -EPROTO, "it named a file \"%.100s\"", name.text);
	}
	ret = count_file(s, err);
	if (ret)
		return ret;
	if (!sm->m.sink || sm->full)
		return 0;
	return sm->m.sink->ops->file(sm->m.sink, h->number, name.text, err);
}

static int take_notice(struct remote_session *s, struct session_machine *sm,
		       const struct wire_header *h, const uint8_t *payload, struct error *err)
{
	struct wire_text text;
	int ret = wire_unpack(WIRE_TEXT, payload, h->len_bytes, &text, err);

	if (ret || !s->opt->ops->notice || sm->nr_notices == NOTICES_MAX)
		return ret;
	sm->nr_notices++;
	remote_clean_text(text.text);
	s->opt->ops->notice(s->opt->data, &sm->m, text.text);
	return 0;
}

static int take_error(const uint8_t *payload, const struct wire_header *h, struct error *err)
{
	struct wire_text text;
	int ret = wire_unpack(WIRE_TEXT, payload, h->len_bytes, &text, err);

	if (ret)
		return ret;
	remote_clean_text(text.text);
	return fail(err, -EREMOTEIO, "its agent says: %.200s", text.text);
}

static int take_pong(struct remote_session *s, const struct wire_header *h, const uint8_t *payload,
		     struct error *err)
{
	s->pong_missing = false;
	return wire_unpack(WIRE_LIFE, payload, h->len_bytes, &s->life, err);
}

/* The machine a frame is about, which must be being recorded; or NULL. */
static struct session_machine *recorded_machine(struct remote_session *s,
						const struct wire_header *h, struct error *err)
{
	struct session_machine *sm = h->machine < s->nr_machines ? s->machines[h->machine] : NULL;

	if (sm && sm->m.recorded && !sm->m.over)
		return sm;
	fail(err, -EPROTO, "it sent a %s for machine %u, which is not being recorded",
	     wire_type_name(h->type), h->machine);
	return NULL;
}

static int take_frame(void *data, const struct wire_header *h, const uint8_t *payload,
		      struct error *err)
{
	struct remote_session *s = data;
	struct session_machine *sm = NULL;

	/* What was read together with the last DONE: nobody ends any more what it would begin. */
	if (s->state == SESSION_OVER)
		return 0;
	if (h->type == WIRE_ERROR)
		return take_error(payload, h, err);
	if (h->type == WIRE_HELLO)
		return take_hello(s, h, payload, err);
	if (s->state < SESSION_READY)
		return fail(err, -EPROTO, "it sent a %s before its HELLO", wire_type_name(h->type));
	if (h->type == WIRE_FILE || h->type == WIRE_DONE || h->type == WIRE_NOTICE) {
		sm = recorded_machine(s, h, err);
		if (!sm)
			return -EPROTO;
	}
	switch (h->type) {
	case WIRE_MACHINE:
		return take_machine(s, h, payload, err);
	case WIRE_STARTED:
		return take_started(s, err);
	case WIRE_FILE:
		return take_file(s, sm, h, payload, err);
	case WIRE_DONE:
		return take_done(s, sm, h, payload, err);
	case WIRE_NOTICE:
		return take_notice(s, sm, h, payload, err);
	case WIRE_PONG:
		return take_pong(s, h, payload, err);
	default:
		return fail(err, -EPROTO, "it sent a %s", wire_type_name(h->type));
	}
}

/* ---- data ---------------------------------------------------------------------------------- */

static bool right_part(const struct session_machine *sm, const struct wire_header *h)
{
	if (sm->m.identity.content == WIRE_BLOCKS)
		return h->kind == SINK_BLOCKS && !h->number;
	switch (h->kind) {
	case SINK_HEAD:
	case SINK_BLOCKS:
		return !h->number;
	case SINK_CPU:
		return h->number < sm->m.identity.cpus;
	case SINK_TAIL:
		return h->number <= TAIL_NUMBER_MAX;
	case SINK_FILE:
		return true; /* the sink knows which were announced */
	default:
		return false;
	}
}

/* A link that has brought too much ends as a whole: its agent is told to stop. */
static void link_full(struct remote_session *s, unsigned number)
{
	char why[200];

	snprintf(why, sizeof(why),
		 "all machines of its link together reached the limit of %" PRIu64 " bytes",
		 s->opt->link_limit_bytes);
	if (number && !s->machines[number]->full)
		machine_full(s, number, why);
	if (!s->machines[0]->full)
		machine_full(s, 0, why);
}

static int count_bytes(struct remote_session *s, struct session_machine *sm, unsigned number,
		       size_t len, struct error *err)
{
	uint64_t limit = s->opt->request.limit_bytes, of_link = s->opt->link_limit_bytes;
	bool is_link_full;
	char why[200];

	sm->got_bytes += len;
	s->got_bytes += len;
	is_link_full = of_link && s->got_bytes > of_link;
	if (is_link_full)
		limit = of_link;
	else if (!limit || sm->got_bytes <= limit)
		return 0;
	s->excess_bytes += len;
	if (s->excess_bytes > EXCESS_BYTES)
		return fail(err, -EDQUOT,
			    "it sent more than the limit of %" PRIu64 " bytes and did not stop",
			    limit);
	if (is_link_full) {
		link_full(s, number);
	} else if (!sm->full) {
		snprintf(why, sizeof(why), "it reached the limit of %" PRIu64 " bytes", limit);
		machine_full(s, number, why);
	}
	return 0;
}

static int count_cpu(struct remote_session *s, struct session_machine *sm, unsigned cpu,
		     struct error *err)
{
	uint64_t bit = UINT64_C(1) << (cpu % 64);

	if (sm->cpus_seen[cpu / 64] & bit)
		return 0;
	sm->cpus_seen[cpu / 64] |= bit;
	return count_file(s, err);
}

static int take_part(void *data, const struct wire_header *h, const uint8_t *piece,
		     size_t len_bytes, struct error *err)
{
	struct remote_session *s = data;
	struct session_machine *sm;
	int ret;

	if (s->state == SESSION_OVER)
		return 0;
	sm = recorded_machine(s, h, err);
	if (!sm)
		return -EPROTO;
	if (!right_part(sm, h))
		return fail(err, -EPROTO, "it sent part %u of kind %u", h->number, h->kind);
	ret = count_bytes(s, sm, h->machine, len_bytes, err);
	if (!ret && h->kind == SINK_CPU)
		ret = count_cpu(s, sm, h->number, err);
	if (ret || !sm->m.sink || (sm->full && h->kind != SINK_TAIL))
		return ret;
	ret = sm->m.sink->ops->write(sm->m.sink, (enum sink_part)h->kind, h->number, piece,
				     len_bytes, err);
	if (!ret || ret == -EPIPE)
		return ret;
	machine_full(s, h->machine, err->text);
	return 0;
}

int session_feed(struct remote_session *s, const uint8_t *bytes, size_t len_bytes,
		 struct error *err)
{
	return wire_parse(&s->parser, bytes, len_bytes, err);
}

/* ---- orders -------------------------------------------------------------------------------- */

void session_call_again(struct remote_session *s)
{
	uint8_t call[WIRE_CALL_BYTES];

	wire_put_call(call, &s->greeting);
	put_bytes(s, call, sizeof(call));
}

int session_call(struct remote_session *s, struct error *err)
{
	static const struct wire_handler handler = {take_greeting, take_frame, take_part};
	int ret;

	s->greeting = (struct wire_greeting){.version = WIRE_VERSION};
	ret = wire_nonce(s->greeting.caller_nonce, s->opt->token, err);
	if (ret)
		return ret;
	wire_parser_init(&s->parser, WIRE_FROM_AGENT, s->greeting.caller_nonce, &handler, s);
	s->out_bytes = 0;
	s->state = SESSION_CALLING;
	session_call_again(s);
	return 0;
}

int session_start(struct remote_session *s, struct error *err)
{
	struct remote_machine *m = &s->machines[0]->m;
	int ret;

	m->recorded = true;
	ret = s->opt->ops->open(s->opt->data, m, err);
	if (ret) {
		m->recorded = false;
		return ret;
	}
	put_message(s, WIRE_START, 0, WIRE_REQUEST, &s->opt->request);
	s->state = SESSION_STARTING;
	return 0;
}

void session_stop(struct remote_session *s, unsigned stop_ms)
{
	struct wire_limit limit = {.stop_ms = stop_ms};

	put_message(s, WIRE_STOP, 0, WIRE_LIMIT, &limit);
	s->state = SESSION_STOPPING;
}

void session_note(struct remote_session *s, const char *cause)
{
	struct wire_text text;

	snprintf(text.text, sizeof(text.text), "%s", cause);
	put_message(s, WIRE_NOTE, 0, WIRE_TEXT, &text);
}

void session_ping(struct remote_session *s)
{
	struct wire_life life = {.number = s->nr_pings + 1};

	if (s->pong_missing)
		return;
	s->nr_pings++;
	s->pong_missing = true;
	put_message(s, WIRE_PING, 0, WIRE_LIFE, &life);
}
