/* SPDX-License-Identifier: Apache-2.0 */
/* sonde record --guest: what of the guests' recordings is the command's. */
#include "cmd/record/record_guests.h"
#include "cmd/common/signals.h"
#include "record/base/buffer.h"
#include "record/directory/folder.h"
#include "record/remote/remote_targets.h"
#include "record/host/vms.h"
#include "report/safe.h"
#include "base/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DEFAULT_LIMIT_MB 16384ull
/* How many VMs with rings there will be is not known when recording starts. */
#define RING_SHARES 8
#define DEFAULT_DEPTH 8
#define MIB (1ull << 20)

struct guests {
	const struct invocation *inv;
	struct run *run;
	struct run_machine *host;
	const char *tracer;
	struct wire_token token;
	struct remote_targets targets;
	struct remote_ops ops;
	struct remote *remote;
	bool terminal;
	char boot_id[40];     /* of this machine */
	pthread_mutex_t lock; /* of the run: the remote's thread writes into it, too */
};

/* ---- the run ------------------------------------------------------------------------------- */

static void say(const struct guests *g, const struct remote_machine *m, const char *what,
		const char *text)
{
	char path[256];

	if (g->inv->common.quiet)
		return;
	remote_path(m, path, sizeof(path));
	/* What the live display left in this line is drawn again a second later. */
	fprintf(stderr, "%ssonde record: guest %s: %s%s\n", g->terminal ? "\r\033[K" : "", path,
		what, text);
}

/* Where the link does not show which VM is at its end the guest's own UUID is all there is. */
static pid_t vm_by_its_word(const struct guests *g, struct remote_machine *m)
{
	pid_t vm = vm_of_uuid(m->identity.product_uuid);
	char text[256];
	bool is_free;

	if (vm < 0)
		say(g, m, "", "several VMs of this host have its UUID; which it is, is not known");
	if (vm <= 0)
		return 0;
	is_free = remote_claim_vm(g->remote, m, vm);
	snprintf(text, sizeof(text), "it says by its UUID that it is the VM of process %d; %s",
		 (int)vm, is_free ? "that is its word alone" : "not believed: another guest is it");
	say(g, m, "", text);
	return is_free ? vm : 0;
}

static int open_machine(void *data, struct remote_machine *m, struct error *err)
{
	struct guests *g = data;
	struct run_machine *parent = m->parent ? m->parent->user : g->host;
	struct run_machine *rm;
	const char *of_module = record_tracer_name(RECORD_HYPERTRACE);
	char path[256];
	int ret;

	remote_path(m, path, sizeof(path));
	pthread_mutex_lock(&g->lock);
	rm = run_add_machine(g->run, path, parent ? parent : g->host, err);
	if (rm) {
		/* What it says is only compared: run.json has our own words. */
		snprintf(rm->tracer, sizeof(rm->tracer), "%s",
			 strcmp(m->identity.tracer, of_module) ? g->tracer : of_module);
		rm->vm_pid = m->vm_pid;
		if (!m->parent && !m->vm_pid) /* it was named with its link */
			rm->vm_pid = vm_by_its_word(g, m);
		snprintf(rm->product_uuid, sizeof(rm->product_uuid), "%s",
			 m->identity.product_uuid);
		/* Of one that came late: guests_start() has saved those before. */
		if (m->identity.content == WIRE_BLOCKS)
			run_save(g->run, NULL);
	}
	pthread_mutex_unlock(&g->lock);
	if (!rm)
		return -ENOMEM;
	ret = folder_open(&m->sink, rm->folder, NULL, err);
	if (ret)
		snprintf(rm->why, sizeof(rm->why), "%.250s", err->text);
	m->user = rm;
	return ret;
}

static void machine_done(void *data, struct remote_machine *m)
{
	struct guests *g = data;
	struct run_machine *rm = m->user;

	if (m->sink)
		folder_close(m->sink);
	m->sink = NULL;
	if (m->early)
		say(g, m, "its recording has ended early: ", m->complete ? "it said so" : m->why);
	if (!rm)
		return;
	pthread_mutex_lock(&g->lock);
	rm->complete = m->complete;
	memcpy(rm->why, m->why, sizeof(rm->why));
	rm->cost = m->cost;
	pthread_mutex_unlock(&g->lock);
}

static void machine_notice(void *data, struct remote_machine *m, const char *text)
{
	say(data, m, "", text);
}

/* The user's ^C ends the waiting for guests. */
static bool given_up(void *data)
{
	(void)data;
	return signals_interrupted();
}

/* ---- options ------------------------------------------------------------------------------- */

static int resolve(const char *name, char *address, size_t room, struct error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	int ret = getaddrinfo(name, NULL, &hints, &found);

	if (ret)
		return fail(err, -ENOENT, "there is no host \"%s\": %s", name, gai_strerror(ret));
	ret = getnameinfo(found->ai_addr, found->ai_addrlen, address, (socklen_t)room, NULL, 0,
			  NI_NUMERICHOST);
	freeaddrinfo(found);
	return ret ? fail(err, -ENOENT, "%s: %s", name, gai_strerror(ret)) : 0;
}

static int add_targets(struct guests *g, const struct text_list *list, struct error *err)
{
	int ret = 0;

	/* "all" last: what has a link of its own is not recorded twice. */
	for (unsigned i = 0; i < list->nr && !ret; i++) {
		if (strcmp(list->items[i], "all"))
			ret = remote_targets_add(&g->targets, list->items[i], resolve, err);
	}
	for (unsigned i = 0; i < list->nr && !ret; i++) {
		if (!strcmp(list->items[i], "all"))
			return remote_targets_add(&g->targets, "all", resolve, err);
	}
	return ret;
}

/* What a guest and its own guests may send, as a part of the free space: all guests together must
 * leave half of it to the host's own recording. */
static uint64_t share_bytes(const struct invocation *inv, uint64_t shares)
{
	uint64_t share;
	struct statvfs fs;

	/* The run directory is there: the host's folder is below it. */
	if (statvfs(inv->common.output ? inv->common.output : ".", &fs))
		return UINT64_MAX;
	share = (uint64_t)fs.f_bavail * fs.f_frsize / shares;
	return share ? share : 1; /* 0 would be no limit */
}

static uint64_t limit_bytes(const struct guest_options *opt, uint64_t share)
{
	if (opt->limit_mb)
		return opt->limit_mb * MIB;
	return share < DEFAULT_LIMIT_MB * MIB ? share : DEFAULT_LIMIT_MB * MIB;
}

uint64_t guests_rings_limit(const struct invocation *inv, const struct guest_options *opt)
{
	return limit_bytes(opt, share_bytes(inv, RING_SHARES));
}

static enum record_tracer tracer_of_guests(const struct guest_options *opt,
					   const struct record_options *record)
{
	const char *of_module = record_tracer_name(RECORD_HYPERTRACE);

	return opt->tracer && !strcmp(opt->tracer, of_module) ? RECORD_HYPERTRACE : record->tracer;
}

static int fill_request(struct guests *g, const struct guest_options *opt,
			const struct record_options *record, struct remote_options *ro,
			struct error *err)
{
	struct wire_request *r = &ro->request;
	uint64_t share = share_bytes(g->inv, 2 * (g->targets.nr ? g->targets.nr : 1));

	ro->link_limit_bytes = opt->limit_mb ? 0 : share;
	*r = (struct wire_request){
		.tracer = tracer_of_guests(opt, record),
		.purpose = record->purpose,
		.buffer_kb = record->buffer_kb,
		.depth = (opt->depth ? opt->depth : DEFAULT_DEPTH) - 1,
		.limit_bytes = limit_bytes(opt, share),
		.rings = opt->rings,
	};
	snprintf(r->clock, sizeof(r->clock), "%s", record->clock ? record->clock : "");
	for (unsigned i = 0; i < record->nr_events; i++) {
		size_t used = strlen(r->events);

		if (snprintf(r->events + used, sizeof(r->events) - used, "%s%s", used ? "," : "",
			     record->events[i]) >= (int)(sizeof(r->events) - used))
			return fail(err, -E2BIG, "the list of events is too long for guests");
	}
	return 0;
}

/* Who was named must be there; of all, those that answer. */
static int check_named(struct guests *g, const struct text_list *list, struct error *err)
{
	bool all = false;

	for (unsigned i = 0; i < list->nr; i++)
		all = all || !strcmp(list->items[i], "all");
	for (unsigned i = 0; i < remote_nr_machines(g->remote); i++) {
		const struct remote_machine *m = remote_machine(g->remote, i);

		if (m->over && !all)
			return fail(err, -EREMOTEIO, "guest %s: %s", m->name, m->why);
	}
	return 0;
}

enum exit_code guests_check(const struct invocation *inv, const struct guest_options *opt)
{
	struct error err = {0};

	for (unsigned i = 0; i < opt->guests.nr; i++) {
		if (remote_spec_check(opt->guests.items[i], &err))
			return complain(inv, EXIT_USAGE, "--guest: %s", err.text);
	}
	return EXIT_DONE;
}

int guests_connect(struct guests **out, const struct invocation *inv,
		   const struct guest_options *opt, struct run *run, struct run_machine *host,
		   const struct record_options *record, struct error *err)
{
	struct guests *g;
	struct remote_options ro = {.timeout_ms = (unsigned)opt->timeout_s * 1000};
	int ret;

	*out = NULL;
	if (!opt->guests.nr && opt->tracer)
		return fail(
			err, -EINVAL,
			"no guest is recorded: --guest-tracer is for guests; add --guest all, or "
			"--guest NAME");
	if (!opt->guests.nr)
		return 0;
	g = calloc(1, sizeof(*g));
	if (!g)
		return fail(err, -ENOMEM, "out of memory for guests");
	*out = g;
	g->inv = inv;
	g->terminal = isatty(STDERR_FILENO);
	read_small(AT_FDCWD, "/proc/sys/kernel/random/boot_id", g->boot_id, sizeof(g->boot_id));
	ro.own_boot_id = g->boot_id;
	ro.given_up = given_up;
	g->run = run;
	g->host = host;
	g->tracer = record_tracer_name(tracer_of_guests(opt, record));
	g->ops = (struct remote_ops){open_machine, machine_done, machine_notice};
	pthread_mutex_init(&g->lock, NULL);
	signal(SIGPIPE, SIG_IGN);
	ret = opt->token_file ? wire_token_load(&g->token, opt->token_file, err) : 0;
	if (!ret)
		ret = add_targets(g, &opt->guests, err);
	if (!ret)
		ret = fill_request(g, opt, record, &ro, err);
	if (ret)
		return ret;
	ro.targets = g->targets.list;
	ro.nr_targets = g->targets.nr;
	ro.token = opt->token_file ? &g->token : NULL;
	ro.ops = &g->ops;
	ro.data = g;
	ret = remote_connect(&g->remote, &ro, err);
	return ret ? ret : check_named(g, &opt->guests, err);
}

/* ---- the recording ------------------------------------------------------------------------- */

void guests_lock(struct guests *g)
{
	if (g)
		pthread_mutex_lock(&g->lock);
}

void guests_unlock(struct guests *g)
{
	if (g)
		pthread_mutex_unlock(&g->lock);
}

bool guests_has_agent(struct guests *g, pid_t vm)
{
	return g && remote_has_agent(g->remote, vm);
}

void guests_start(struct guests *g)
{
	if (!g)
		return;
	remote_start(g->remote);
	pthread_mutex_lock(&g->lock);
	/* Without it a killed recorder's guests are not in the manifest; no reason to stop now. */
	run_save(g->run, NULL);
	pthread_mutex_unlock(&g->lock);
}

void guests_progress(struct guests *g, unsigned *recording, uint64_t *bytes, uint64_t *events_lost)
{
	*recording = 0;
	*bytes = *events_lost = 0;
	if (g)
		remote_progress(g->remote, recording, events_lost, bytes);
}

void guests_stop(struct guests *g)
{
	if (g)
		remote_stop(g->remote, 0);
}

void guests_joined(struct guests *g)
{
	for (unsigned i = 0; g && i < remote_nr_machines(g->remote); i++) {
		struct remote_machine *m = remote_machine(g->remote, i);
		const struct run_machine *rm = m->user;

		if (!rm || rm->complete == m->complete)
			continue;
		m->complete = rm->complete;
		memcpy(m->why, rm->why, sizeof(m->why));
	}
}

void guests_print(struct guests *g, FILE *out)
{
	if (!g)
		return;
	if (!remote_nr_machines(g->remote))
		fprintf(out, "guests: no VM was found on this machine\n");
	for (unsigned i = 0; i < remote_nr_machines(g->remote); i++) {
		const struct remote_machine *m = remote_machine(g->remote, i);
		char path[256], bytes[UNIT_TEXT], lost[UNIT_TEXT];

		remote_path(m, path, sizeof(path));
		if (m->recorded && m->identity.content == WIRE_BLOCKS)
			fprintf(out, "guest %s: %s from its memory, %s events lost%s%s\n", path,
				unit_bytes(bytes, m->cost.bytes),
				m->cost.events_lost ? unit_count(lost, (int64_t)m->cost.events_lost)
						    : "no",
				m->complete ? "" : "; not complete: ", m->why);
		else if (m->recorded)
			/* The agent tells the clock at the end: a lost link leaves it untold. */
			fprintf(out, "guest %s: %s%s%s%s%s\n", path,
				unit_bytes(bytes, m->cost.bytes), *m->cost.clock ? ", clock " : "",
				m->cost.clock, m->complete ? "" : "; not complete: ", m->why);
		else
			fprintf(out, "guest %s: no trace of its own: %s\n", path, m->why);
	}
}

void guests_json(struct guests *g, struct json *j)
{
	json_begin_array(j, "guests");
	for (unsigned i = 0; g && i < remote_nr_machines(g->remote); i++) {
		const struct remote_machine *m = remote_machine(g->remote, i);
		char path[256];

		remote_path(m, path, sizeof(path));
		json_begin_object(j, NULL);
		json_str(j, "name", path);
		json_bool(j, "recorded", m->recorded);
		json_bool(j, "complete", m->complete);
		json_str(j, "why", m->why);
		json_uint(j, "bytes", m->cost.bytes);
		json_uint(j, "events_lost", m->cost.events_lost);
		json_uint(j, "cpu_ns", m->cost.cpu_ns);
		json_str(j, "clock", m->cost.clock);
		json_end(j);
	}
	json_end(j);
}

void guests_close(struct guests *g)
{
	if (!g)
		return;
	remote_close(g->remote);
	pthread_mutex_destroy(&g->lock);
	free(g);
}
