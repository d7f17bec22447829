/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/base/file_name.h"
#include "record/remote/link_find.h"
#include "record/remote/remote_names.h"
#include "record/remote/remote_targets.h"
#include "record/remote/wire_auth.h"
#include "record/remote/wire_fields.h"

/* ---- frames -------------------------------------------------------------------------------- */

/* What a parser has told, as text: the same however the bytes were cut. */
struct heard {
	char text[4000];
	int code; /* returned by every handler */
};

static void hear(struct heard *h, const char *what)
{
	strcat(h->text, what);
}

static int on_greeting(void *data, const struct wire_greeting *g, struct error *err)
{
	struct heard *h = data;
	char text[80];

	(void)err;
	snprintf(text, sizeof(text), "greeting %u %u %02x;", g->version, g->flags,
		 g->caller_nonce[15]);
	hear(h, text);
	return h->code;
}

static int on_frame(void *data, const struct wire_header *header, const uint8_t *payload,
		    struct error *err)
{
	struct heard *h = data;
	char text[80];
	unsigned sum = 0;

	(void)err;
	for (unsigned i = 0; i < header->len_bytes; i++)
		sum += payload[i];
	snprintf(text, sizeof(text), "%s %u %u %u;", wire_type_name(header->type), header->machine,
		 header->len_bytes, sum);
	hear(h, text);
	return h->code;
}

static int on_part(void *data, const struct wire_header *header, const uint8_t *piece,
		   size_t len_bytes, struct error *err)
{
	struct heard *h = data;

	(void)err;
	for (size_t i = 0; i < len_bytes; i++) {
		char text[2] = {(char)piece[i], '\0'};

		assert_true(header->kind == SINK_CPU && header->number == 5);
		hear(h, text);
	}
	return h->code;
}

static const struct wire_handler handler = {on_greeting, on_frame, on_part};
static const uint8_t nonce[WIRE_NONCE_BYTES] = {1, 2, 3, [15] = 0x77};

static size_t put_frame(uint8_t *out, unsigned type, const void *payload, uint32_t len)
{
	struct wire_header h = {
		.type = (uint8_t)type,
		.kind = type == WIRE_PART ? SINK_CPU : 0,
		.machine = 3,
		.number = type == WIRE_PART ? 5 : 0,
		.len_bytes = len,
	};

	wire_put_header(out, &h);
	memcpy(out + WIRE_HEADER_BYTES, payload, len);
	return WIRE_HEADER_BYTES + len;
}

/* Left-overs, another session's answer, the answer, frames. */
static size_t make_stream(uint8_t *out)
{
	struct wire_greeting g = {.version = 1, .flags = 1};
	size_t at = 0;

	memset(out, 'S', 7);
	at += 7;
	wire_put_answer(out + at, &g);
	at += WIRE_ANSWER_BYTES - 3; /* cut off */
	memcpy(g.caller_nonce, nonce, sizeof(nonce));
	wire_put_answer(out + at, &g);
	at += WIRE_ANSWER_BYTES;
	at += put_frame(out + at, WIRE_HELLO, "\1\2\3", 3);
	at += put_frame(out + at, WIRE_PART, "(some data)", 11);
	at += put_frame(out + at, WIRE_PART, "", 0);
	at += put_frame(out + at, WIRE_STARTED, "", 0);
	at += put_frame(out + at, WIRE_PART, "(more)", 6);
	return at;
}

static const char stream_text[] = "greeting 1 1 77;HELLO 3 3 6;(some data)STARTED 3 0 0;(more)";

static void test_any_pieces(void **state)
{
	uint8_t stream[500];
	size_t len = make_stream(stream);

	(void)state;
	for (size_t piece = 1; piece <= len; piece++) {
		struct heard h = {0};
		struct wire_parser p;

		wire_parser_init(&p, WIRE_FROM_AGENT, nonce, &handler, &h);
		for (size_t at = 0; at < len; at += piece) {
			size_t take = len - at < piece ? len - at : piece;

			assert_int_equal(wire_parse(&p, stream + at, take, NULL), 0);
		}
		assert_string_equal(h.text, stream_text);
		assert_false(wire_parser_inside(&p));
	}
}

static void test_inside(void **state)
{
	uint8_t stream[500];
	size_t len = make_stream(stream);
	struct heard h = {0};
	struct wire_parser p;

	(void)state;
	wire_parser_init(&p, WIRE_FROM_AGENT, nonce, &handler, &h);
	assert_int_equal(wire_parse(&p, stream, len - 1, NULL), 0);
	assert_true(wire_parser_inside(&p));
}

/* What a handler returns comes out, and ends it. */
static void test_handler_fails(void **state)
{
	uint8_t stream[500];
	size_t len = make_stream(stream);
	struct heard h = {.code = -ENOSPC};
	struct wire_parser p;

	(void)state;
	wire_parser_init(&p, WIRE_FROM_AGENT, nonce, &handler, &h);
	assert_int_equal(wire_parse(&p, stream, len, NULL), -ENOSPC);
	assert_string_equal(h.text, "greeting 1 1 77;");
}

static int parse_header(enum wire_side from, struct wire_header *header, struct error *err)
{
	struct heard h = {0};
	struct wire_parser p;
	uint8_t bytes[WIRE_HEADER_BYTES];

	wire_parser_init(&p, from, nonce, &handler, &h);
	p.greeted = true;
	wire_put_header(bytes, header);
	return wire_parse(&p, bytes, sizeof(bytes), err);
}

static void test_limits(void **state)
{
	static const struct {
		enum wire_side from;
		struct wire_header h;
		bool good;
	} cases[] = {
		{WIRE_FROM_AGENT, {.type = WIRE_DONE, .len_bytes = WIRE_CONTROL_MAX}, true},
		{WIRE_FROM_AGENT, {.type = WIRE_DONE, .len_bytes = WIRE_CONTROL_MAX + 1}, false},
		{WIRE_FROM_AGENT, {.type = WIRE_PART, .len_bytes = WIRE_PART_MAX}, true},
		{WIRE_FROM_AGENT, {.type = WIRE_PART, .len_bytes = WIRE_PART_MAX + 1}, false},
		{WIRE_FROM_AGENT, {.type = WIRE_PART, .kind = SINK_KINDS}, false},
		{WIRE_FROM_AGENT, {.type = WIRE_PART, .machine = WIRE_MACHINES_MAX - 1}, true},
		{WIRE_FROM_AGENT, {.type = WIRE_PART, .machine = WIRE_MACHINES_MAX}, false},
		{WIRE_FROM_AGENT, {.type = WIRE_PART, .number = WIRE_NUMBER_MAX}, true},
		{WIRE_FROM_AGENT, {.type = WIRE_PART, .number = WIRE_NUMBER_MAX + 1}, false},
		{WIRE_FROM_AGENT, {.type = 0}, false},
		{WIRE_FROM_AGENT, {.type = WIRE_PING}, false},
		{WIRE_FROM_AGENT, {.type = WIRE_NOTICE + 1}, false},
		{WIRE_FROM_CALLER, {.type = WIRE_PING}, true},
		{WIRE_FROM_CALLER, {.type = WIRE_PING + 1}, false},
		{WIRE_FROM_CALLER, {.type = WIRE_PART}, false},
		{WIRE_FROM_CALLER, {.type = WIRE_HELLO}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_header h = cases[i].h;
		struct error err = {0};
		int ret = parse_header(cases[i].from, &h, &err);

		assert_int_equal(ret, cases[i].good ? 0 : -EPROTO);
		assert_int_equal(!*err.text, cases[i].good);
	}
}

/* What an earlier session left on the link is skipped, up to a limit: then nobody is there. */
static void test_stale(void **state)
{
	static const uint8_t nothing[1 << 20];
	struct heard h = {0};
	struct wire_parser p;
	struct error err = {0};
	unsigned mib = 0;

	(void)state;
	wire_parser_init(&p, WIRE_FROM_AGENT, nonce, &handler, &h);
	while (mib < 1000 && !wire_parse(&p, nothing, sizeof(nothing), &err))
		mib++;
	assert_int_equal(mib, WIRE_STALE_MAX >> 20);
	assert_non_null(strstr(err.text, "is not a sonde agent"));
	assert_string_equal(h.text, "");
}

/* A caller may call again in the middle; the agent's answer comes once. */
static void test_second_call(void **state)
{
	struct wire_greeting g = {.version = 1};
	struct heard h = {0};
	struct wire_parser p;
	uint8_t stream[200];
	size_t len;

	(void)state;
	memcpy(g.caller_nonce, nonce, sizeof(nonce));
	wire_put_call(stream, &g);
	len = WIRE_CALL_BYTES + put_frame(stream + WIRE_CALL_BYTES, WIRE_PING, "", 0);
	wire_parser_init(&p, WIRE_FROM_CALLER, NULL, &handler, &h);
	assert_int_equal(wire_parse(&p, stream, len, NULL), 0);
	assert_int_equal(wire_parse(&p, stream, len, NULL), 0);
	assert_string_equal(h.text, "greeting 1 0 77;PING 3 0 0;greeting 1 0 77;PING 3 0 0;");
}

/* ---- messages ------------------------------------------------------------------------------ */

static void test_fields(void **state)
{
	struct wire_identity id = {.cpus = 1ull << 40, .parent = 7}, got;
	uint8_t bytes[WIRE_CONTROL_MAX];
	struct error err = {0};
	size_t len;

	(void)state;
	memset(id.hostname, 'h', sizeof(id.hostname) - 1);
	strcpy(id.no_agent, "nobody there");
	len = wire_pack(WIRE_IDENTITY, &id, bytes, sizeof(bytes));
	assert_int_equal(wire_unpack(WIRE_IDENTITY, bytes, len, &got, &err), 0);
	assert_memory_equal(&id, &got, sizeof(id));
	for (size_t cut = 1; cut < len; cut++) {
		int ret = wire_unpack(WIRE_IDENTITY, bytes, cut, &got, &err);

		assert_true(!ret || ret == -EPROTO);
	}
}

static void test_fields_of_others(void **state)
{
	/* A tag nobody knows, a text that is too long, with a NUL in it. */
	uint8_t bytes[200] = {0xff, 0x7f, 2, 0, 'x', 'y', 3, 0, 100, 0};
	struct wire_identity got;

	(void)state;
	memset(bytes + 10, 'b', 100);
	assert_int_equal(wire_unpack(WIRE_IDENTITY, bytes, 110, &got, NULL), 0);
	assert_int_equal(strlen(got.boot_id), sizeof(got.boot_id) - 1);
	bytes[12] = '\0';
	assert_int_equal(wire_unpack(WIRE_IDENTITY, bytes, 110, &got, NULL), 0);
	assert_string_equal(got.boot_id, "bb");
}

/* Every message fits, whatever is in it. */
static void test_largest_messages(void **state)
{
	static struct wire_request request;
	uint8_t bytes[WIRE_CONTROL_MAX];
	struct wire_identity id;

	(void)state;
	memset(&request, 'x', sizeof(request));
	memset(&id, 'x', sizeof(id));
	assert_in_range(wire_pack(WIRE_REQUEST, &request, bytes, sizeof(bytes)), 3000,
			WIRE_CONTROL_MAX);
	assert_in_range(wire_pack(WIRE_IDENTITY, &id, bytes, sizeof(bytes)), 500,
			WIRE_CONTROL_MAX - WIRE_PROOF_BYTES);
}

static void test_proofs(void **state)
{
	struct wire_token a = {.bytes = "0123456789abcdef", .len_bytes = 16}, b = a;
	struct wire_greeting g = {.version = 1, .flags = 1};
	uint8_t proof[WIRE_PROOF_BYTES];

	(void)state;
	wire_prove(&a, WIRE_FROM_CALLER, &g, proof);
	assert_true(wire_proof_is_right(&b, WIRE_FROM_CALLER, &g, proof));
	assert_false(wire_proof_is_right(&b, WIRE_FROM_AGENT, &g, proof));
	b.bytes[3] ^= 1;
	assert_false(wire_proof_is_right(&b, WIRE_FROM_CALLER, &g, proof));
	for (unsigned i = 0; i < 4; i++) {
		struct wire_greeting other = g;

		other.agent_nonce[0] ^= i == 0;
		other.caller_nonce[WIRE_NONCE_BYTES - 1] ^= i == 1;
		other.version ^= i == 2 ? 0x100 : 0;
		other.flags ^= i == 3 ? 0x100 : 0;
		assert_false(wire_proof_is_right(&a, WIRE_FROM_CALLER, &other, proof));
	}
}

/* ---- names --------------------------------------------------------------------------------- */

static void test_file_names(void **state)
{
	static const char *const good[] = {"metadata", "kernel/ch0_0", "a/b/c/d/e/f/g/h", "x.idx"};
	static const char *const bad[] = {
		"",   "/a",   "a/",  "..",  "a/..", "../a", "a//b",
		".a", "a/.b", "a b", "a\n", "a\\b", "\xc3", "a/b/c/d/e/f/g/h/i"};
	char longest[FILE_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(file_name_is_fit(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(file_name_is_fit(bad[i]));
	memset(longest, 'x', sizeof(longest));
	longest[FILE_NAME_MAX + 1] = '\0';
	assert_false(file_name_is_fit(longest));
	longest[FILE_NAME_MAX] = '\0';
	assert_true(file_name_is_fit(longest));
}

/* Which VM a guest is may be its own word; two guests are not one VM. */
static void a_vm_is_one_guest(void **state)
{
	struct remote_machine m = {.claimed_pid = 77}, by_link = {.vm_pid = 77};
	struct remote_machine other = {.vm_pid = 78};

	(void)state;
	assert_false(remote_is_vm(&m, &m, 77));
	assert_true(remote_is_vm(&by_link, &m, 77));
	assert_true(remote_is_vm(&m, &other, 77));
	assert_false(remote_is_vm(&other, &m, 77));
	/* It had no agent: the VM may be recorded by another link. */
	by_link.over = true;
	assert_false(remote_is_vm(&by_link, &m, 77));
	by_link.recorded = true;
	assert_true(remote_is_vm(&by_link, &m, 77));
}

static void test_machine_names(void **state)
{
	struct remote_machine parent = {.name = "p"}, a = {.parent = &parent}, b = a;
	struct remote_machine *all[] = {&a, &b};
	char wanted[200], name[64], path[100];

	(void)state;
	remote_fit_name(a.name, "web server/1", &parent, all, 0);
	assert_string_equal(a.name, "web_server_1");
	remote_fit_name(b.name, "web.server.1", &parent, all, 1);
	assert_string_equal(b.name, "web_server_1-2");
	remote_fit_name(name, "web_server_1", NULL, all, 2);
	assert_string_equal(name, "web_server_1");
	remote_fit_name(name, "", NULL, all, 2);
	assert_string_equal(name, "vm");
	memset(wanted, 'w', sizeof(wanted));
	wanted[199] = '\0';
	remote_fit_name(a.name, wanted, &parent, all, 0);
	remote_fit_name(b.name, wanted, &parent, all, 1);
	assert_string_not_equal(a.name, b.name);
	remote_fit_name(a.name, "x", &parent, all, 0);
	b.parent = &a;
	remote_fit_name(b.name, "y", &a, all, 1);
	remote_path(&b, path, sizeof(path));
	assert_string_equal(path, "p.x.y");
}

/* ---- links --------------------------------------------------------------------------------- */

static unsigned find(const char *args, size_t len, struct link_target *found)
{
	return link_find_in(args, len, found);
}
#define FIND(args, found) find(args, sizeof(args) - 1, found)

static void test_links_of_qemu(void **state)
{
	static const char plain[] =
		"qemu-system-x86_64\0-name\0vm,debug-threads=on\0-device\0"
		"vhost-vsock-pci,id=v,guest-cid=42\0-chardev\0"
		"socket,id=other,path=/run/other,server=on\0-chardev\0"
		"socket,id=sonde,path=/run/a,,b.sock,server=on,wait=off\0-device\0"
		"virtserialport,chardev=other,name=org.qemu.guest_agent.0\0-device\0"
		"virtserialport,chardev=sonde,name=org.sonde.agent\0";
	static const char json[] =
		"qemu\0-device\0{\"driver\":\"vhost-vsock-pci\",\"id\":\"vsock0\",\"guest-cid\":3,"
		"\"vhostfd\":\"33\"}\0-chardev\0socket,id=charchannel0,fd=28,server=on,wait=off\0"
		"-device\0{\"driver\": \"virtserialport\", \"chardev\": \"charchannel0\", "
		"\"name\": "
		"\"org.sonde.agent\"}\0";
	static const char none[] = "qemu\0-device\0vhost-vsock-pci,guest-cid=2\0-device\0"
				   "virtserialport,chardev=gone,name=org.sonde.agent\0";
	static const char huge[] = "qemu\0-device\0vhost-vsock-pci,guest-cid=4294967301\0";
	struct link_target found[LINK_FOUND_MAX];

	(void)state;
	assert_int_equal(FIND(huge, found), 0);
	assert_int_equal(FIND(plain, found), 2);
	assert_int_equal(found[0].cid, 42);
	assert_int_equal(found[0].port, LINK_VSOCK_PORT);
	assert_string_equal(found[1].address, "/run/a,b.sock");
	assert_int_equal(FIND(json, found), 2);
	assert_int_equal(found[0].cid, 3);
	assert_string_equal(found[1].address, "fd:28");
	assert_int_equal(FIND(none, found), 0);
	assert_int_equal(find("", 0, found), 0);
	assert_int_equal(find("not ended", 9, found), 0);
}

/* Of a process that has another root: a link to "/inner" there is to it, not to ours. */
static void test_a_root_of_its_own(void **state)
{
	char dir[] = "/tmp/sonde-root-XXXXXX", path[64];
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct link_target t = {.kind = LINK_SOCKET, .address = "/way"};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), ready[2], fd;
	struct error err = {0};
	char byte;

	(void)state;
	if (geteuid())
		skip();
	assert_non_null(mkdtemp(dir));
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/inner", dir);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	snprintf(path, sizeof(path), "%s/way", dir);
	assert_int_equal(symlink("/inner", path), 0);
	assert_int_equal(pipe(ready), 0);
	t.root_pid = fork();
	if (!t.root_pid) {
		if (chroot(dir) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(link_connect(&t, &fd, &err), 0);
	close(fd);
	snprintf(t.address, sizeof(t.address), "/../proc/self/root/dev/null");
	assert_int_equal(link_connect(&t, &fd, &err), -ENOENT);
	kill(t.root_pid, SIGKILL);
	waitpid(t.root_pid, NULL, 0);
	close(ready[0]);
	close(listener);
	unlink(path);
	unlink(at.sun_path);
	rmdir(dir);
}

static void test_what_users_say(void **state)
{
	struct remote_targets *t = calloc(1, sizeof(*t));
	static const char *const bad[] = {"=tcp:1.2.3.4:5",   "a=tcp:1.2.3.4",
					  "a=tcp:1.2.3.4:0",  "a=tcp:1.2.3.4:70000",
					  "a=tcp:1.2.3.4:5x", "a=vsock:",
					  "a=vsock:0",	      "a=vsock:5:",
					  "a=vsock:-5",	      "a=vsock: 5",
					  "a=vsock:5:-1",     "a=vsock:4294967301",
					  "a=ftp:x",	      "a="};
	struct error err = {0};

	(void)state;
	assert_int_equal(remote_targets_add(t, "a=tcp:10.0.0.1:77", NULL, &err), 0);
	assert_int_equal(remote_targets_add(t, "b=tcp:[::1]:78", NULL, &err), 0);
	assert_int_equal(remote_targets_add(t, "c=vsock:5", NULL, &err), 0);
	assert_int_equal(remote_targets_add(t, "d=vsock:5:99", NULL, &err), 0);
	assert_int_equal(remote_targets_add(t, "e=unix:/run/x=y", NULL, &err), 0);
	assert_int_equal(t->nr, 5);
	assert_string_equal(t->list[0].links[0].address, "10.0.0.1");
	assert_true(t->list[0].needs_token);
	assert_string_equal(t->list[1].links[0].address, "::1");
	assert_int_equal(t->list[1].links[0].port, 78);
	assert_int_equal(t->list[2].links[0].port, LINK_VSOCK_PORT);
	assert_false(t->list[2].needs_token);
	assert_int_equal(t->list[3].links[0].port, 99);
	assert_string_equal(t->list[4].links[0].address, "/run/x=y");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(remote_targets_add(t, bad[i], NULL, &err), -EINVAL);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vm_is_one_guest),
		cmocka_unit_test(test_any_pieces),
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_handler_fails),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_second_call),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_fields_of_others),
		cmocka_unit_test(test_largest_messages),
		cmocka_unit_test(test_proofs),
		cmocka_unit_test(test_file_names),
		cmocka_unit_test(test_machine_names),
		cmocka_unit_test(test_links_of_qemu),
		cmocka_unit_test(test_a_root_of_its_own),
		cmocka_unit_test(test_what_users_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
