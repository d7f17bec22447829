/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/boot_trace.h"
#include "record/base/buffer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

/* Whoever traces more than initcalls since the boot: they are at the beginning. */
#define TEXT_MAX (64u << 20)
#define OPEN_MAX 64u

/* ---- a line -------------------------------------------------------------------------------- */

static const struct {
	const char *mark; /* what stands between the time and the name */
	enum booted_kind kind;
} marks[] = {
	{": initcall_level: level=", BOOTED_LEVEL},	  {": initcall_start: func=", BOOTED_START},
	{": initcall_finish: func=", BOOTED_FINISH},	  {": module_load: ", BOOTED_MODULE},
	{": sched_process_exec: filename=", BOOTED_INIT},
};

/* The first mark: what follows one may hold any text. */
static const char *find_mark(const char *line, size_t *which)
{
	const char *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		const char *at = strstr(line, marks[i].mark);

		if (at && (!first || at < first)) {
			first = at;
			*which = i;
		}
	}
	return first;
}

/* The number that ends at @end, where @line does not end before: "... 123" */
static bool number_before(const char *line, const char *end, uint64_t *out)
{
	const char *at = end;

	while (at > line && isdigit((unsigned char)at[-1]))
		at--;
	if (at == end || end - at > 20)
		return false;
	errno = 0;
	*out = strtoull(at, NULL, 10);
	return !errno;
}

/* "comm-TID     [CPU] flags TIME": the bracket that belongs to the CPU is the last one. */
static int tid_of(const char *line, const char *end)
{
	uint64_t tid;
	const char *at = end;

	while (at > line && *at != '[')
		at--;
	while (at > line && at[-1] == ' ')
		at--;
	return number_before(line, at, &tid) && tid <= INT32_MAX ? (int)tid : -1;
}

/* "func+0x0/0x28 [module] ret=0" and "/usr/lib/systemd/systemd pid=1 old_pid=1" */
static void take_name(struct booted_event *out, const char *from)
{
	size_t len = strcspn(from, " \n");
	const char *plus;

	if (out->kind == BOOTED_INIT) {
		for (const char *slash; (slash = memchr(from, '/', len));) {
			len -= (size_t)(slash + 1 - from);
			from = slash + 1;
		}
	} else {
		plus = memchr(from, '+', len);
		len = plus ? (size_t)(plus - from) : len;
	}
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(len < 127 ? len : 127), from);
}

bool booted_parse(struct booted_event *out, const char *line)
{
	const char *mark, *rest, *result;
	size_t which = 0;

	*out = (struct booted_event){.tid = -1};
	mark = find_mark(line, &which);
	if (!mark || !number_before(line, mark, &out->time))
		return false;
	rest = mark + strlen(marks[which].mark);
	out->kind = marks[which].kind;
	out->tid = tid_of(line, mark);
	take_name(out, rest);
	result = strstr(rest, " ret=");
	if (out->kind == BOOTED_FINISH && result)
		out->result = strtoll(result + 5, NULL, 10);
	if (!out->name[0] || (out->kind == BOOTED_INIT && out->tid != 1))
		out->kind = BOOTED_NOTHING;
	return out->kind != BOOTED_NOTHING;
}

/* ---- all of them --------------------------------------------------------------------------- */

static void begin_line(struct line *l, const char *what, const struct booted_event *e)
{
	line_begin(l, "booted");
	line_number(l, "time", e->time);
	line_text(l, "what", what);
	line_text(l, "name", e->name);
}

static void tell_step(struct line *l, const char *what, const struct booted_event *e)
{
	begin_line(l, what, e);
	line_end(l);
}

static void tell_initcall(struct line *l, const struct booted_event *start,
			  const struct booted_event *finish)
{
	begin_line(l, "initcall", start);
	line_signed(l, "tid", start->tid);
	if (finish) {
		line_number(l, "end", finish->time);
		line_signed(l, "result", finish->result);
	}
	line_end(l);
}

struct under_way {
	struct booted_event calls[OPEN_MAX];
	unsigned nr;
	struct booted_event modules[OPEN_MAX]; /* the last that were loaded, by thread */
	unsigned nr_modules;		       /* ever; they take turns */
	bool has_init;			       /* the first program runs */
};

static void note_module(struct under_way *u, const struct booted_event *e)
{
	u->modules[u->nr_modules++ % OPEN_MAX] = *e;
}

/* Thread 1 calls the kernel's own until it is the first program; that one, and any other thread,
 * the one of the module that it has loaded. */
static void name_after_module(const struct under_way *u, struct booted_event *e)
{
	const char *name = "?";

	if (e->tid < 1 || (e->tid == 1 && !u->has_init))
		return;
	for (unsigned i = 0; i < u->nr_modules && i < OPEN_MAX; i++) {
		const struct booted_event *m = &u->modules[(u->nr_modules - 1 - i) % OPEN_MAX];

		if (m->tid != e->tid)
			continue;
		name = m->name;
		break;
	}
	snprintf(e->name, sizeof(e->name), "[%.*s]", (int)sizeof(e->name) - 3, name);
}

/* The call that @e ends is taken off; false: its start was not seen. */
static bool take_start(struct under_way *u, const struct booted_event *e, struct booted_event *out)
{
	for (unsigned i = u->nr; i-- > 0;) {
		if (u->calls[i].tid != e->tid || strcmp(u->calls[i].name, e->name))
			continue;
		*out = u->calls[i];
		u->calls[i] = u->calls[--u->nr];
		return true;
	}
	return false;
}

/* How many initcalls were told. */
static unsigned tell(struct line *l, struct under_way *u, struct booted_event *e)
{
	struct booted_event start;
	unsigned nr = 0;

	switch (e->kind) {
	case BOOTED_LEVEL:
		tell_step(l, "level", e);
		return 0;
	case BOOTED_INIT:
		tell_step(l, "init", e);
		u->has_init = true;
		return 0;
	case BOOTED_MODULE:
		note_module(u, e);
		return 0;
	case BOOTED_START:
		name_after_module(u, e);
		if (u->nr == OPEN_MAX) {
			tell_initcall(l, &u->calls[0], NULL);
			u->calls[0] = u->calls[--u->nr];
			nr++;
		}
		u->calls[u->nr++] = *e;
		return nr;
	case BOOTED_FINISH:
		name_after_module(u, e);
		if (!take_start(u, e, &start))
			return 0;
		tell_initcall(l, &start, e);
		return 1;
	default:
		return 0;
	}
}

bool booted_parse_loss(struct booted_losses *losses, const char *line)
{
	static const char head[] = "# entries-in-buffer/entries-written:";
	unsigned long long there, written, lost;

	if (!strncmp(line, head, sizeof(head) - 1)) {
		if (sscanf(line + sizeof(head) - 1, " %20llu/%20llu", &there, &written) != 2)
			return false;
		losses->header = written > there ? written - there : 0;
		return true;
	}
	if (sscanf(line, "CPU:%*u [LOST %20llu EVENTS]", &lost) != 1) /* words: the kernel's */
		return false;
	losses->lines = lost < UINT64_MAX - losses->lines ? losses->lines + lost : UINT64_MAX;
	return true;
}

/* Both counts may be of the same events: so many are missing at least. */
static void tell_losses(struct line *l, const struct booted_losses *losses)
{
	uint64_t lost = losses->header > losses->lines ? losses->header : losses->lines;

	if (!lost && !losses->cut)
		return;
	line_begin(l, "booted");
	line_text(l, "what", "lost");
	line_number(l, "lost", lost);
	if (losses->cut)
		line_number(l, "cut", 1);
	line_end(l);
}

unsigned booted_tell(struct line *l, FILE *trace)
{
	struct under_way u = {.nr = 0};
	struct booted_losses losses = {0};
	struct booted_event e;
	size_t room = 0, read = 0;
	unsigned nr = 0;
	char *line = NULL;
	ssize_t len = 0;

	while (read < TEXT_MAX && !l->error && (len = getline(&line, &room, trace)) > 0) {
		read += (size_t)len;
		if (!booted_parse_loss(&losses, line) && booted_parse(&e, line))
			nr += tell(l, &u, &e);
	}
	losses.cut = len > 0 || !feof(trace);
	for (unsigned i = 0; i < u.nr; i++)
		tell_initcall(l, &u.calls[i], NULL);
	tell_losses(l, &losses);
	free(line);
	return nr + u.nr;
}

/* ---- this machine -------------------------------------------------------------------------- */

bool booted_was_told_to(void)
{
	char line[4096];
	const char *events;

	read_small(AT_FDCWD, "/proc/cmdline", line, sizeof(line));
	events = strstr(line, "trace_event=");
	return events && strstr(events, "initcall");
}

/* "local [x86-tsc] mono" */
static void chosen_clock(char *out, size_t room)
{
	char *text = tracefs_instance_file_read(NULL, "trace_clock", NULL);
	const char *from = text ? strchr(text, '[') : NULL;

	snprintf(out, room, "%.*s", from ? (int)strcspn(from + 1, "]") : 0, from ? from + 1 : "");
	free(text);
}

int booted_write(struct line *l, struct error *err)
{
	char clock[32], *path;
	unsigned nr;
	FILE *trace;

	chosen_clock(clock, sizeof(clock));
	if (strcmp(clock, "x86-tsc"))
		return fail(err, -EINVAL,
			    "this kernel recorded its boot with the clock \"%s\", which cannot be "
			    "related to others: trace_clock=x86-tsc belongs on its command line",
			    clock);
	path = tracefs_instance_get_file(NULL, "trace");
	trace = path ? fopen(path, "re") : NULL;
	tracefs_put_tracing_file(path);
	if (!trace)
		return fail(err, -errno, "cannot read what this kernel recorded of its boot: %s",
			    strerror(errno));
	nr = booted_tell(l, trace);
	fclose(trace);
	return nr ? 0
		  : fail(err, -ENODATA,
			 "this kernel was to record its boot, but nothing of it is there any "
			 "more");
}
