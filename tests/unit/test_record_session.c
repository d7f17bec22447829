/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent may not, whatever bytes it sends: the recorder's side of a session, without a link.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/remote/remote_session.h"

#define EVIL "a\033[2J\x9b\n"
#define CLEAN "a?[2J??"

struct world {
	struct remote_session s;
	struct remote_target target;
	struct remote_options opt;
	struct sink sink;
	struct error err;
	unsigned written, named, over, noticed;
};

static int sink_write(struct sink *sink, enum sink_part kind, unsigned number, const void *data,
		      size_t len_bytes, struct error *err)
{
	struct world *w = (struct world *)((char *)sink - offsetof(struct world, sink));

	(void)kind;
	(void)number;
	(void)data;
	(void)err;
	w->written += (unsigned)len_bytes;
	return 0;
}

static int sink_file(struct sink *sink, unsigned number, const char *name, struct error *err)
{
	struct world *w = (struct world *)((char *)sink - offsetof(struct world, sink));

	(void)number;
	(void)name;
	(void)err;
	w->named++;
	return 0;
}

static int open_sink(void *data, struct remote_machine *m, struct error *err)
{
	struct world *w = data;

	(void)err;
	m->sink = &w->sink;
	return 0;
}

static void note_done(void *data, struct remote_machine *m)
{
	struct world *w = data;

	m->sink = NULL;
	w->over++;
}

static void note_notice(void *data, struct remote_machine *m, const char *text)
{
	struct world *w = data;

	(void)m;
	assert_string_equal(text, CLEAN);
	w->noticed++;
}

/* Up to the call. */
static void call(struct world *w)
{
	static const struct remote_ops ops = {
		.open = open_sink, .done = note_done, .notice = note_notice};
	static const struct sink_ops sink = {.write = sink_write, .file = sink_file};

	memset(w, 0, sizeof(*w));
	w->sink.ops = &sink;
	w->opt = (struct remote_options){
		.ops = &ops, .data = w, .request = {.depth = 3, .rings = 1}};
	assert_int_equal(session_init(&w->s, &w->opt, &w->target, "vm", &w->err), 0);
	assert_int_equal(session_call(&w->s, &w->err), 0);
	w->s.out_bytes = 0;
}

static int greet(struct world *w, uint16_t flags)
{
	struct wire_greeting g = w->s.greeting;
	uint8_t answer[WIRE_ANSWER_BYTES];

	g.flags = flags;
	wire_put_answer(answer, &g);
	return session_feed(&w->s, answer, sizeof(answer), &w->err);
}

/* Up to the greeting. */
static void begin(struct world *w)
{
	call(w);
	assert_int_equal(greet(w, 0), 0);
	w->s.out_bytes = 0;
}

static int send_bytes(struct world *w, struct wire_header h, const void *payload)
{
	uint8_t frame[WIRE_HEADER_BYTES + WIRE_CONTROL_MAX];

	wire_put_header(frame, &h);
	memcpy(frame + WIRE_HEADER_BYTES, payload, h.len_bytes);
	return session_feed(&w->s, frame, WIRE_HEADER_BYTES + h.len_bytes, &w->err);
}

static int send_message(struct world *w, struct wire_header h, enum wire_message m,
			const void *value)
{
	uint8_t payload[WIRE_CONTROL_MAX];

	h.len_bytes = (uint32_t)wire_pack(m, value, payload, sizeof(payload));
	return send_bytes(w, h, payload);
}

static int send_hello(struct world *w, uint64_t cpus)
{
	struct wire_identity id = {.cpus = cpus,
				   .hostname = EVIL,
				   .release = EVIL,
				   .boot_id = EVIL,
				   .product_uuid = EVIL,
				   .sonde = EVIL,
				   .tracer = EVIL};

	return send_message(w, (struct wire_header){.type = WIRE_HELLO}, WIRE_IDENTITY, &id);
}

static int send_part(struct world *w, enum sink_part kind, uint32_t number)
{
	return send_bytes(
		w,
		(struct wire_header){
			.type = WIRE_PART, .kind = (uint8_t)kind, .number = number, .len_bytes = 4},
		"data");
}

static void begin_recording(struct world *w)
{
	begin(w);
	assert_int_equal(send_hello(w, 2), 0);
	assert_int_equal(session_start(&w->s, &w->err), 0);
	assert_int_equal(send_bytes(w, (struct wire_header){.type = WIRE_STARTED}, ""), 0);
	assert_int_equal(w->s.state, SESSION_RECORDING);
}

static void end(struct world *w)
{
	session_end(&w->s, "the test is over");
	session_release(&w->s);
}

/* Nothing but a HELLO is heard of who has not proved who he is. */
static void nothing_comes_before_the_hello(void **state)
{
	static const uint8_t types[] = {WIRE_MACHINE, WIRE_STARTED, WIRE_FILE,
					WIRE_DONE,    WIRE_PONG,    WIRE_NOTICE};
	struct world w;

	(void)state;
	for (unsigned i = 0; i < sizeof(types); i++) {
		begin(&w);
		assert_int_equal(send_bytes(&w, (struct wire_header){.type = types[i]}, ""),
				 -EPROTO);
		assert_non_null(strstr(w.err.text, "before its HELLO"));
		end(&w);
	}
	begin(&w);
	assert_int_equal(send_part(&w, SINK_CPU, 0), -EPROTO);
	assert_int_equal(w.written, 0);
	end(&w);
}

/* Where a token is asked for, by whichever side, nothing is said without one. */
static void a_token_is_not_done_without(void **state)
{
	struct world w;

	(void)state;
	call(&w);
	assert_int_equal(greet(&w, WIRE_NEEDS_TOKEN), -EACCES);
	assert_int_equal(w.s.out_bytes, 0);
	end(&w);
	call(&w);
	w.target.needs_token = true;
	assert_int_equal(greet(&w, 0), -EACCES);
	assert_int_equal(w.s.out_bytes, 0);
	end(&w);
}

/* A HELLO of an agent that has the token, but for one bit of its proof; -1: for none. */
static int prove(struct world *w, int broken)
{
	static const struct wire_token token = {.bytes = "0123456789abcdef", .len_bytes = 16};
	const struct wire_identity id = {.cpus = 1};
	struct wire_header h = {.type = WIRE_HELLO};
	uint8_t payload[WIRE_CONTROL_MAX];
	size_t len;

	call(w);
	w->opt.token = &token;
	w->target.needs_token = true;
	assert_int_equal(greet(w, WIRE_NEEDS_TOKEN), 0);
	assert_int_equal(w->s.out_bytes, WIRE_HEADER_BYTES + WIRE_PROOF_BYTES);
	wire_prove(&token, WIRE_FROM_AGENT, &w->s.greeting, payload);
	if (broken >= 0)
		payload[broken / 8] ^= (uint8_t)(1u << broken % 8);
	len = wire_pack(WIRE_IDENTITY, &id, payload + WIRE_PROOF_BYTES,
			sizeof(payload) - WIRE_PROOF_BYTES);
	h.len_bytes = WIRE_PROOF_BYTES + (uint32_t)len;
	return send_bytes(w, h, payload);
}

static void a_proof_is_right_to_the_last_bit(void **state)
{
	struct world w;

	(void)state;
	assert_int_equal(prove(&w, -1), 0);
	assert_int_equal(w.s.state, SESSION_READY);
	end(&w);
	for (int broken = 0; broken < WIRE_PROOF_BYTES * 8; broken += 51) {
		assert_int_equal(prove(&w, broken), -EACCES);
		assert_int_equal(w.s.state, SESSION_PROVING);
		end(&w);
	}
}

static void guests_are_as_deep_as_asked_for(void **state)
{
	struct wire_header h = {.type = WIRE_MACHINE};
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(send_hello(&w, 2), 0);
	assert_int_equal(session_start(&w.s, &w.err), 0);
	for (h.machine = 1; h.machine <= 4; h.machine++) {
		const struct wire_identity id = {
			.cpus = 1, .name = "inner", .parent = h.machine - 1u};

		assert_int_equal(send_message(&w, h, WIRE_IDENTITY, &id),
				 h.machine <= 3 ? 0 : -EPROTO);
	}
	assert_non_null(strstr(w.err.text, "deeper than asked for"));
	assert_int_equal(w.s.nr_machines, 4);
	end(&w);
}

/* Each machine that is announced has the next number, and its parent one before. */
static void guests_are_announced_in_order(void **state)
{
	static const struct {
		uint16_t machine;
		uint64_t parent;
	} wrong[] = {{0, 0}, {2, 0}, {1, 1}, {1, WIRE_MACHINES_MAX}, {1, UINT64_MAX}};
	struct world w;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		const struct wire_header h = {.type = WIRE_MACHINE, .machine = wrong[i].machine};
		const struct wire_identity id = {
			.cpus = 1, .name = "inner", .parent = wrong[i].parent};

		begin(&w);
		assert_int_equal(send_hello(&w, 2), 0);
		assert_int_equal(session_start(&w.s, &w.err), 0);
		assert_int_equal(send_message(&w, h, WIRE_IDENTITY, &id), -EPROTO);
		assert_int_equal(w.s.nr_machines, 1);
		end(&w);
	}
}

/* Nothing is heard of a machine that is not recorded, or not any more. */
static void what_is_not_recorded_sends_nothing(void **state)
{
	static const struct wire_identity ids[] = {{.cpus = 1, .name = "over"},
						   {.name = "no agent", .no_agent = "none"}};
	static const struct wire_cost cost = {.complete = 1};
	struct wire_header h = {.machine = 1};
	struct world w;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		begin(&w);
		assert_int_equal(send_hello(&w, 2), 0);
		h.type = WIRE_DONE;
		assert_int_equal(
			send_message(&w, (struct wire_header){.type = WIRE_DONE}, WIRE_COST, &cost),
			-EPROTO); /* it was not asked to begin */
		assert_int_equal(session_start(&w.s, &w.err), 0);
		h.type = WIRE_MACHINE;
		if (i < 2)
			assert_int_equal(send_message(&w, h, WIRE_IDENTITY, &ids[i]), 0);
		h.type = WIRE_DONE;
		if (!i)
			assert_int_equal(send_message(&w, h, WIRE_COST, &cost), 0);
		assert_int_equal(send_message(&w, h, WIRE_COST, &cost), -EPROTO);
		h = (struct wire_header){.type = WIRE_PART, .machine = 1, .len_bytes = 4};
		h.kind = SINK_CPU;
		assert_int_equal(send_bytes(&w, h, "data"), -EPROTO);
		h = (struct wire_header){.machine = 1};
		assert_int_equal(w.written, 0);
		end(&w);
	}
}

/* An agent is a kernel's, and not this machine's own. */
static void an_agents_machine_is_another_kernel(void **state)
{
	struct wire_identity id = {.cpus = 1, .content = WIRE_BLOCKS, .boot_id = "11-22"};
	const struct wire_header h = {.type = WIRE_HELLO};
	struct world w;

	(void)state;
	begin(&w);
	w.opt.own_boot_id = "11-22";
	assert_int_equal(send_message(&w, h, WIRE_IDENTITY, &id), -EINVAL);
	assert_non_null(strstr(w.err.text, "leads to this machine itself"));
	end(&w);
	begin(&w);
	w.opt.own_boot_id = "11-23";
	assert_int_equal(send_message(&w, h, WIRE_IDENTITY, &id), 0);
	assert_int_equal(w.s.machines[0]->m.identity.content, WIRE_KERNEL);
	end(&w);
}

/* Who does not stop at its limit is not read without end. */
static void what_comes_beyond_the_limit_is_bounded(void **state)
{
	static const uint8_t data[WIRE_PART_MAX];
	const struct wire_header h = {
		.type = WIRE_PART, .kind = SINK_CPU, .len_bytes = sizeof(data)};
	uint8_t head[WIRE_HEADER_BYTES];
	uint64_t sent = 0;
	struct world w;
	int ret = 0;

	(void)state;
	begin_recording(&w);
	w.opt.request.limit_bytes = 100;
	wire_put_header(head, &h);
	for (; !ret && sent < UINT64_C(4) << 30; sent += sizeof(data)) {
		assert_int_equal(session_feed(&w.s, head, sizeof(head), &w.err), 0);
		ret = session_feed(&w.s, data, sizeof(data), &w.err);
	}
	assert_int_equal(ret, -EDQUOT);
	assert_in_range(sent, UINT64_C(1) << 30, (UINT64_C(1) << 30) + 2 * sizeof(data));
	assert_int_equal(w.written, 0);
	end(&w);
}

/* The operator reads so many of a machine, and no more. */
static void notices_are_bounded(void **state)
{
	const struct wire_text text = {.text = EVIL};
	struct world w;

	(void)state;
	begin_recording(&w);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(send_message(&w, (struct wire_header){.type = WIRE_NOTICE},
					      WIRE_TEXT, &text),
				 0);
	assert_int_equal(w.noticed, 32);
	end(&w);
}

static void cpus_are_bounded(void **state)
{
	struct world w;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		begin(&w);
		assert_int_equal(send_hello(&w, i ? 0 : CPUS_MAX + 1), -EPROTO);
		assert_non_null(strstr(w.err.text, "CPUs"));
		end(&w);
	}
	begin(&w);
	assert_int_equal(send_hello(&w, CPUS_MAX), 0);
	end(&w);
}

static void what_it_says_of_itself_is_text(void **state)
{
	struct wire_cost cost = {.why = EVIL, .cost = {.clock = EVIL, .clock_reason = EVIL}};
	const struct wire_identity *id;
	const struct remote_machine *m;
	struct world w;

	(void)state;
	begin_recording(&w);
	m = &w.s.machines[0]->m;
	id = &m->identity;
	assert_string_equal(id->hostname, CLEAN);
	assert_string_equal(id->release, CLEAN);
	assert_string_equal(id->boot_id, CLEAN);
	assert_string_equal(id->product_uuid, CLEAN);
	assert_string_equal(id->sonde, CLEAN);
	assert_string_equal(id->tracer, CLEAN);
	assert_int_equal(
		send_message(&w, (struct wire_header){.type = WIRE_DONE}, WIRE_COST, &cost), 0);
	assert_string_equal(m->why, CLEAN);
	assert_string_equal(m->cost.clock, CLEAN);
	assert_string_equal(m->cost.clock_reason, CLEAN);
	end(&w);
}

/* ... and so of its guests; what they are called becomes a folder. */
static void what_it_says_of_guests_is_text(void **state)
{
	struct wire_identity id = {.cpus = 1, .name = "../" EVIL, .no_agent = EVIL};
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(send_hello(&w, 2), 0);
	assert_int_equal(session_start(&w.s, &w.err), 0);
	assert_int_equal(send_message(&w, (struct wire_header){.type = WIRE_MACHINE, .machine = 1},
				      WIRE_IDENTITY, &id),
			 0);
	assert_string_equal(w.s.machines[1]->m.name, "___a__2J__");
	assert_string_equal(w.s.machines[1]->m.why, CLEAN);
	end(&w);
}

static void parts_are_of_what_there_is(void **state)
{
	static const struct {
		enum sink_part kind;
		uint32_t good, bad;
	} parts[] = {{SINK_CPU, 1, 2}, {SINK_TAIL, 1, 2}, {SINK_HEAD, 0, 1}, {SINK_BLOCKS, 0, 1}};
	struct world w;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(parts); i++) {
		begin_recording(&w);
		assert_int_equal(send_part(&w, parts[i].kind, parts[i].good), 0);
		assert_int_equal(w.written, 4);
		assert_int_equal(send_part(&w, parts[i].kind, parts[i].bad), -EPROTO);
		assert_int_equal(w.written, 4);
		end(&w);
	}
	begin_recording(&w);
	assert_int_equal(send_part(&w, SINK_CALLS, 0), -EPROTO); /* the host's own */
	end(&w);
}

/* Each file is a descriptor and an inode of the host's. */
static void files_are_bounded(void **state)
{
	const struct wire_text name = {.text = "file"};
	const struct wire_header h = {.type = WIRE_FILE};
	struct world w;
	int ret = 0;

	(void)state;
	begin_recording(&w);
	assert_int_equal(send_part(&w, SINK_CPU, 0), 0);
	assert_int_equal(send_part(&w, SINK_CPU, 0), 0); /* the same file */
	while (!ret && w.named < 100000)
		ret = send_message(&w, h, WIRE_TEXT, &name);
	assert_int_equal(ret, -EPROTO);
	assert_non_null(strstr(w.err.text, "more than 20000 files"));
	assert_int_equal(w.named, 20000 - 1);
	end(&w);
}

/* All machines of a link together, as each. */
static void a_link_is_bounded(void **state)
{
	struct wire_identity id = {.cpus = 1, .name = "inner"};
	struct wire_header part = {
		.type = WIRE_PART, .kind = SINK_CPU, .machine = 1, .len_bytes = 4};
	struct world w;

	(void)state;
	begin(&w);
	w.opt.request.limit_bytes = 100;
	w.opt.link_limit_bytes = 120;
	assert_int_equal(send_hello(&w, 2), 0);
	assert_int_equal(session_start(&w.s, &w.err), 0);
	assert_int_equal(send_message(&w, (struct wire_header){.type = WIRE_MACHINE, .machine = 1},
				      WIRE_IDENTITY, &id),
			 0);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(send_part(&w, SINK_CPU, 0), 0);
		assert_int_equal(send_bytes(&w, part, "data"), 0);
	}
	assert_int_equal(w.written, 120);
	assert_non_null(
		strstr(w.s.machines[0]->m.why, "of its link together reached the limit of 120"));
	end(&w);
}

/* Who does not read what he is sent makes the host keep no more than a buffer of it. */
static void what_is_not_read_is_bounded(void **state)
{
	struct world w;

	(void)state;
	begin_recording(&w);
	for (unsigned i = 0; i < 10000; i++)
		session_note(&w.s, "a cause that takes some room, time and again");
	assert_true(w.s.out_bytes > 0 && w.s.out_bytes <= SESSION_OUT_BYTES);
	assert_int_equal(w.s.nr_machines,
			 1); /* what stands before the buffer, and the link's own state */
	assert_int_equal(w.s.state, SESSION_RECORDING);
	end(&w);
}

/* What follows the last DONE in one read begins nothing, and breaks nothing. */
static void nothing_comes_after_the_end(void **state)
{
	const struct wire_cost cost = {.complete = 1};
	struct world w;

	(void)state;
	begin_recording(&w);
	assert_int_equal(
		send_message(&w, (struct wire_header){.type = WIRE_DONE}, WIRE_COST, &cost), 0);
	assert_int_equal(w.s.state, SESSION_OVER);
	assert_true(w.s.machines[0]->m.complete);
	assert_int_equal(send_part(&w, SINK_CPU, 0), 0);
	assert_int_equal(send_message(&w, (struct wire_header){.type = WIRE_FILE}, WIRE_TEXT,
				      &(struct wire_text){.text = "file"}),
			 0);
	assert_int_equal(send_message(&w, (struct wire_header){.type = WIRE_ERROR}, WIRE_TEXT,
				      &(struct wire_text){.text = "no"}),
			 0);
	assert_true(!w.written && !w.named && w.over == 1);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_comes_before_the_hello),
		cmocka_unit_test(a_token_is_not_done_without),
		cmocka_unit_test(a_proof_is_right_to_the_last_bit),
		cmocka_unit_test(guests_are_as_deep_as_asked_for),
		cmocka_unit_test(guests_are_announced_in_order),
		cmocka_unit_test(what_is_not_recorded_sends_nothing),
		cmocka_unit_test(an_agents_machine_is_another_kernel),
		cmocka_unit_test(what_comes_beyond_the_limit_is_bounded),
		cmocka_unit_test(notices_are_bounded),
		cmocka_unit_test(cpus_are_bounded),
		cmocka_unit_test(what_it_says_of_itself_is_text),
		cmocka_unit_test(what_it_says_of_guests_is_text),
		cmocka_unit_test(parts_are_of_what_there_is),
		cmocka_unit_test(files_are_bounded),
		cmocka_unit_test(a_link_is_bounded),
		cmocka_unit_test(what_is_not_read_is_bounded),
		cmocka_unit_test(nothing_comes_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
