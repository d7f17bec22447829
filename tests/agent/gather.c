/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorder for guests only: connects, starts, waits for the end of its input, stops.
 *
 *	gather OUT [token=FILE] [limit=BYTES] [timeout=MS] [depth=N] [rings=1] [events=LIST]
 *		[tracer=lttng] GUEST...
 *
 * Prints "ready N", "started N" and then a JSON line per machine.  A line of input before its end
 * is a note for all guests.
 */
#include "record/directory/folder.h"
#include "record/remote/remote_targets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *out_path;

static int open_folder(void *data, struct remote_machine *m, struct error *err)
{
	char name[200], path[500];

	(void)data;
	remote_path(m, name, sizeof(name));
	snprintf(path, sizeof(path), "%s/%s", out_path, name);
	return folder_open(&m->sink, path, NULL, err);
}

static void close_folder(void *data, struct remote_machine *m)
{
	(void)data;
	if (m->sink)
		folder_close(m->sink);
	m->sink = NULL;
}

static void print_notice(void *data, struct remote_machine *m, const char *text)
{
	(void)data;
	fprintf(stderr, "notice of %s: %s\n", m->name, text);
}

/* Test names have no characters that JSON would escape; reasons may have quotes. */
static void print_text(const char *key, const char *text)
{
	printf(", \"%s\": \"", key);
	for (; *text; text++)
		printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	printf("\"");
}

static void print_machine(const struct remote_machine *m)
{
	char path[200];

	remote_path(m, path, sizeof(path));
	printf("{\"path\": \"%s\", \"recorded\": %s, \"complete\": %s, \"over\": %s", path,
	       m->recorded ? "true" : "false", m->complete ? "true" : "false",
	       m->over ? "true" : "false");
	printf(", \"bytes\": %" PRIu64 ", \"events_lost\": %" PRIu64 ", \"cpus\": %" PRIu64,
	       m->cost.bytes, m->cost.events_lost, m->identity.cpus);
	print_text("why", m->why);
	print_text("hostname", m->identity.hostname);
	print_text("clock", m->cost.clock);
	printf("}\n");
}

static bool take_setting(const char *arg, const char *name, const char **value)
{
	size_t len = strlen(name);

	if (strncmp(arg, name, len) || arg[len] != '=')
		return false;
	*value = arg + len + 1;
	return true;
}

static int take_arg(const char *arg, struct remote_options *o, struct remote_targets *targets,
		    struct wire_token *token, struct error *err)
{
	const char *value;

	if (take_setting(arg, "token", &value)) {
		o->token = token;
		return wire_token_load(token, value, err);
	}
	if (take_setting(arg, "limit", &value))
		o->request.limit_bytes = strtoull(value, NULL, 10);
	else if (take_setting(arg, "timeout", &value))
		o->timeout_ms = (unsigned)strtoul(value, NULL, 10);
	else if (take_setting(arg, "depth", &value))
		o->request.depth = strtoull(value, NULL, 10);
	else if (take_setting(arg, "rings", &value))
		o->request.rings = strtoull(value, NULL, 10);
	else if (take_setting(arg, "events", &value))
		snprintf(o->request.events, sizeof(o->request.events), "%s", value);
	else if (take_setting(arg, "tracer", &value))
		o->request.tracer = strcmp(value, "lttng") ? RECORD_FTRACE : RECORD_LTTNG;
	else
		return remote_targets_add(targets, arg, NULL, err);
	return 0;
}

static void wait_for_end(struct remote *r)
{
	char line[60];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		remote_note(r, line);
	}
}

static unsigned count_recorded(struct remote *r)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < remote_nr_machines(r); i++)
		nr += !remote_machine(r, i)->over;
	return nr;
}

int main(int argc, char **argv)
{
	static const struct remote_ops ops = {open_folder, close_folder, print_notice};
	struct remote_targets *targets = calloc(1, sizeof(*targets));
	struct remote_options o = {.ops = &ops};
	struct wire_token token;
	struct error err = {0};
	struct remote *r;

	setlinebuf(stdout);
	out_path = argv[1];
	for (int i = 2; i < argc; i++) {
		if (take_arg(argv[i], &o, targets, &token, &err)) {
			fprintf(stderr, "gather: %s\n", err.text);
			return 2;
		}
	}
	o.targets = targets->list;
	o.nr_targets = targets->nr;
	mkdir(out_path, 0755);
	if (remote_connect(&r, &o, &err)) {
		fprintf(stderr, "gather: %s\n", err.text);
		return 1;
	}
	printf("ready %u\n", count_recorded(r));
	remote_start(r);
	printf("started %u\n", count_recorded(r));
	wait_for_end(r);
	remote_stop(r, 0);
	for (unsigned i = 0; i < remote_nr_machines(r); i++)
		print_machine(remote_machine(r, i));
	remote_close(r);
	free(targets);
	return 0;
}
