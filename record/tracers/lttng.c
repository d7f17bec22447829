/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/lttng.h"
#include "record/tracers/events.h"
#include "record/base/program.h"
#include "record/base/remove_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SESSION_PREFIX "sonde-"
#define OUTPUT_DIR "/run"
#define OUTPUT_PREFIX "sonde-lttng-"
#define CHANNEL "sonde"
#define LOGGER "/proc/lttng-logger"
#define SUBBUF_KB 1024u /* of four, a CPU */
#define NR_SUBBUFS 4u
#define COPY_BYTES 65536
#define DEPTH_MAX 8

struct lttng {
	struct tracer tracer;
	char session[32];
	char output[4096];
	bool output_is_ours; /* a temporary directory */
	bool created;
	bool started;
	uint64_t limit_bytes;
	uint64_t bytes;
	uint64_t lost;
	unsigned nr_files; /* sent */
};

static struct lttng *lttng_of(struct tracer *t)
{
	return (struct lttng *)t;
}

/* ---- the command ---- */

/* The last line of what a program said, for a message. */
static const char *last_line(struct buffer *said)
{
	char *line;

	buffer_bytes(said, "", 1);
	if (said->error)
		return "";
	while (said->len_bytes > 1 && said->data[said->len_bytes - 2] == '\n')
		said->data[--said->len_bytes - 1] = '\0';
	line = strrchr(said->data, '\n');
	return line ? line + 1 : said->data;
}

/* "lttng WORDS..."; a failure in words. */
static int lttng(const char *const *words, struct buffer *said, struct error *err)
{
	struct buffer own = {0};
	struct buffer *out = said ? said : &own;
	int ret = program_run(words, out);

	if (ret)
		ret = fail(err, ret < 0 ? ret : -EIO, "lttng %s: %.300s", words[1],
			   ret < 0 ? strerror(-ret) : last_line(out));
	buffer_release(&own);
	return ret;
}

#define LTTNG(said, err, ...) lttng((const char *const[]){"lttng", __VA_ARGS__, NULL}, said, err)

int lttng_usable(struct error *err)
{
	static const char *const modinfo[] = {"modinfo", "lttng-tracer", NULL};

	if (!program_exists("lttng"))
		return fail(err, -ENOENT,
			    "LTTng is not installed: apt install lttng-tools "
			    "lttng-modules-dkms");
	if (access(LOGGER, F_OK) && program_run(modinfo, NULL))
		return fail(err, -ENOENT,
			    "LTTng's kernel modules are not there for this kernel: "
			    "apt install lttng-modules-dkms");
	return 0;
}

/* ---- sessions ---- */

static bool is_dead(long pid)
{
	return pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH;
}

/* Removes the sessions of recorders that have died. */
static void clean_sessions(const struct record_options *opt)
{
	struct buffer said = {0};
	char *p;

	if (LTTNG(&said, NULL, "list"))
		goto out;
	buffer_bytes(&said, "", 1);
	for (p = said.error ? NULL : strstr(said.data, " " SESSION_PREFIX); p;
	     p = strstr(p + 1, " " SESSION_PREFIX)) {
		long pid = atol(p + 1 + strlen(SESSION_PREFIX));
		char name[32];

		if (!is_dead(pid))
			continue;
		snprintf(name, sizeof(name), SESSION_PREFIX "%ld", pid);
		if (!LTTNG(NULL, NULL, "destroy", name))
			tracer_notice(opt, "removed the LTTng session %s of a killed recorder",
				      name);
	}
out:
	buffer_release(&said);
}

/* Removes what their daemons wrote and nobody fetched. */
static void clean_outputs(void)
{
	DIR *dir = opendir(OUTPUT_DIR);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[sizeof(OUTPUT_DIR) + sizeof(entry->d_name)];

		if (strncmp(entry->d_name, OUTPUT_PREFIX, strlen(OUTPUT_PREFIX)) ||
		    !is_dead(atol(entry->d_name + strlen(OUTPUT_PREFIX))))
			continue;
		snprintf(path, sizeof(path), OUTPUT_DIR "/%s", entry->d_name);
		remove_tree(path);
	}
	if (dir)
		closedir(dir);
}

/* Does LTTng's list of kernel events have @name? */
static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; (p = strstr(p, name)); p += len) {
		if ((p == list || p[-1] == ' ' || p[-1] == '\n') && p[len] == ' ')
			return true;
	}
	return false;
}

/* The first of "a|b" that is listed, appended with a comma before it. */
static bool add_event(struct buffer *names, const char *list, const char *wanted)
{
	for (const char *from = wanted; *from;) {
		size_t len = strcspn(from, "|");
		char name[128];

		snprintf(name, sizeof(name), "%.*s", (int)len, from);
		if (is_listed(list, name)) {
			buffer_print(names, ",%s", name);
			return true;
		}
		from += len + (from[len] == '|');
	}
	return false;
}

/* The table's events that LTTng has here, but for filtered ones; the names of those that it does
 * not into @missing. */
static int choose_from_table(struct buffer *names, struct buffer *missing, const char *list,
			     unsigned purpose, struct error *err)
{
	for (struct event_records r = {0}; event_records_next(&r);) {
		const struct event_record *record = r.record;

		if (!(record->purpose & purpose) || !record->lttng || record->filter ||
		    add_event(names, list, record->lttng))
			continue;
		if (record->need == EVENT_NEEDED)
			return fail(err, -ENOENT,
				    "LTTng has no kernel event %s here: are its kernel modules "
				    "loaded (modprobe lttng-tracer)?",
				    record->lttng);
		if (record->need == EVENT_USUAL && event_is_of_this_arch(r.kind))
			buffer_print(missing, "%s%s", missing->len_bytes ? ", " : "",
				     record->lttng);
	}
	return 0;
}

/* These, and the user's, as LTTng wants them: "a,b,c". */
static int choose_events(struct buffer *names, const char *list, const struct record_options *opt,
			 struct error *err)
{
	struct buffer missing = {0};
	int ret;

	buffer_print(names, "lttng_logger");
	ret = choose_from_table(names, &missing, list, event_purpose(opt->purpose, true), err);
	for (unsigned i = 0; i < opt->nr_events && !ret; i++) {
		const char *colon = strchr(opt->events[i], ':');

		if (!add_event(names, list, colon ? colon + 1 : opt->events[i]))
			ret = fail(err, -ENOENT, "LTTng has no kernel event \"%.100s\"",
				   opt->events[i]);
	}
	buffer_bytes(&missing, "", 1);
	if (!ret && missing.len_bytes > 1 && !missing.error)
		tracer_notice(opt, "LTTng does not have these events here: %.500s", missing.data);
	buffer_release(&missing);
	buffer_bytes(names, "", 1);
	return ret ? ret : names->error ? fail(err, names->error, "out of memory") : 0;
}

static bool is_asked_for(const struct record_options *opt, const char *name)
{
	for (unsigned i = 0; i < opt->nr_events; i++) {
		const char *colon = strchr(opt->events[i], ':');

		if (!strcmp(colon ? colon + 1 : opt->events[i], name))
			return true;
	}
	return false;
}

/* A filter is of one command's events. */
static void enable_filtered(struct lttng *l, const char *list, const struct record_options *opt)
{
	unsigned purpose = event_purpose(opt->purpose, true);

	for (struct event_records r = {0}; event_records_next(&r);) {
		const struct event_record *record = r.record;
		struct error err = {0};

		if (!record->filter || !record->lttng || !(record->purpose & purpose) ||
		    !is_listed(list, record->lttng) || is_asked_for(opt, record->lttng))
			continue;
		if (LTTNG(NULL, &err, "enable-event", "--kernel", "--session", l->session,
			  "--channel", CHANNEL, "--filter", record->filter, record->lttng))
			tracer_notice(opt, "%s is not recorded, which may cost exactness: %s",
				      record->lttng, err.text);
	}
}

static int enable_events(struct lttng *l, const struct record_options *opt, struct error *err)
{
	struct buffer list = {0}, names = {0};
	int ret = LTTNG(&list, err, "list", "--kernel");

	if (!ret) {
		buffer_bytes(&list, "", 1);
		ret = list.error ? fail(err, list.error, "out of memory")
				 : choose_events(&names, list.data, opt, err);
	}
	if (!ret)
		ret = LTTNG(NULL, err, "enable-event", "--kernel", "--session", l->session,
			    "--channel", CHANNEL, names.data);
	if (!ret && opt->purpose & RECORD_IO)
		ret = LTTNG(NULL, err, "enable-event", "--kernel", "--session", l->session,
			    "--channel", CHANNEL, "--syscall", "--all");
	if (!ret)
		enable_filtered(l, list.data, opt);
	buffer_release(&list);
	buffer_release(&names);
	return ret;
}

static int enable_channel(struct lttng *l, const struct record_options *opt, struct error *err)
{
	char size[40], number[40];
	unsigned kb = opt->buffer_kb ? opt->buffer_kb / NR_SUBBUFS : SUBBUF_KB;
	unsigned power = 4;

	while (power * 2 <= kb) /* LTTng wants a power of two */
		power *= 2;
	snprintf(size, sizeof(size), "--subbuf-size=%uk", power);
	snprintf(number, sizeof(number), "--num-subbuf=%u", NR_SUBBUFS);
	return LTTNG(NULL, err, "enable-channel", "--kernel", "--session", l->session, size, number,
		     CHANNEL);
}

/* Where the daemons are to write: an absolute path. */
static int choose_output(struct lttng *l, struct error *err)
{
	const char *place =
		l->tracer.sink->ops->place ? l->tracer.sink->ops->place(l->tracer.sink) : NULL;
	char cwd[2048] = "";

	if (place) {
		if (*place != '/' && !getcwd(cwd, sizeof(cwd)))
			return fail(err, -errno, "cannot tell the current directory: %s",
				    strerror(errno));
		snprintf(l->output, sizeof(l->output), "%s%s%.2000s", cwd, *cwd ? "/" : "", place);
		return 0;
	}
	snprintf(l->output, sizeof(l->output), OUTPUT_DIR "/" OUTPUT_PREFIX "%d-XXXXXX", getpid());
	l->output_is_ours = mkdtemp(l->output);
	return l->output_is_ours
		       ? 0
		       : fail(err, -errno, "cannot make a directory in " OUTPUT_DIR ": %s",
			      strerror(errno));
}

static int prepare(struct lttng *l, const struct record_options *opt, struct error *err)
{
	int ret = lttng_usable(err);
	char output[4200];

	if (!ret)
		ret = choose_output(l, err);
	if (ret)
		return ret;
	if (opt->clock)
		return fail(err, -EINVAL, "LTTng's clock cannot be chosen: it is CLOCK_MONOTONIC");
	clean_sessions(opt);
	clean_outputs();
	snprintf(output, sizeof(output), "--output=%s", l->output);
	ret = LTTNG(NULL, err, "create", l->session, output);
	l->created = !ret;
	if (!ret)
		ret = enable_channel(l, opt, err);
	if (!ret)
		ret = enable_events(l, opt, err);
	if (ret)
		return ret;
	l->tracer.marker = open(LOGGER, O_WRONLY | O_CLOEXEC);
	if (l->tracer.marker < 0)
		return fail(err, -errno, "cannot open " LOGGER ": %s", strerror(errno));
	return 0;
}

/* ---- tracer ---- */

static int lttng_on(struct tracer *t, struct error *err)
{
	struct lttng *l = lttng_of(t);
	int ret = LTTNG(NULL, err, "start", l->session);

	l->started = !ret;
	return ret;
}

static int lttng_named(struct tracer *t, struct error *err)
{
	(void)t; /* LTTng names threads by its own state dump */
	(void)err;
	return 0;
}

/* What the session's list says was lost: "Discarded events: N", once a channel. */
static uint64_t read_lost(struct lttng *l)
{
	static const char key[] = "Discarded events: ";
	struct buffer said = {0};
	uint64_t lost = 0;

	if (!LTTNG(&said, NULL, "list", l->session)) {
		buffer_bytes(&said, "", 1);
		for (char *p = said.error ? NULL : strstr(said.data, key); p;
		     p = strstr(p + 1, key))
			lost += strtoull(p + strlen(key), NULL, 10);
	}
	buffer_release(&said);
	return lost;
}

/* Sends one file of LTTng's output. */
static int send_file(struct lttng *l, int dir, const char *name, const char *relative,
		     struct error *err)
{
	struct sink *sink = l->tracer.sink;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char *data = malloc(COPY_BYTES);
	ssize_t n = 1;
	int ret = fd < 0 || !data ? fail(err, -EIO, "cannot read %s/%s", l->output, relative) : 0;

	if (!ret)
		ret = sink->ops->file(sink, l->nr_files, relative, err);
	while (!ret && (n = read(fd, data, COPY_BYTES)) > 0) {
		ret = sink->ops->write(sink, SINK_FILE, l->nr_files, data, (size_t)n, err);
		l->bytes += (uint64_t)n;
	}
	l->nr_files++;
	free(data);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* Sends (@keep: only counts) all files below @dir; removes those that were sent. */
static int walk_output(struct lttng *l, int dir, const char *prefix, unsigned depth, bool keep,
		       struct error *err)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int ret = 0;

	if (!d && fd >= 0)
		close(fd);
	while (d && !ret && (entry = readdir(d))) {
		char relative[1024];
		struct stat st;
		int below;

		if (entry->d_name[0] == '.' ||
		    fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		snprintf(relative, sizeof(relative), "%.700s%s%s", prefix, *prefix ? "/" : "",
			 entry->d_name);
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
			below = openat(dirfd(d), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (below >= 0) {
				ret = walk_output(l, below, relative, depth + 1, keep, err);
				close(below);
			}
		} else if (keep) {
			l->bytes += (uint64_t)st.st_size;
		} else if (S_ISREG(st.st_mode)) {
			ret = send_file(l, dirfd(d), entry->d_name, relative, err);
		}
		if (!keep)
			unlinkat(dirfd(d), entry->d_name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
	}
	if (d)
		closedir(d);
	return ret;
}

static int gather(struct lttng *l, bool keep, struct error *err)
{
	int dir = open(l->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ret;

	l->bytes = 0;
	if (dir < 0)
		return fail(err, -errno, "LTTng left nothing in %s: %s", l->output,
			    strerror(errno));
	ret = walk_output(l, dir, "", 0, keep, err);
	close(dir);
	return ret;
}

static int lttng_off(struct tracer *t, struct error *err)
{
	struct lttng *l = lttng_of(t);
	int ret = LTTNG(NULL, err, "stop", l->session);

	l->started = false;
	l->lost = read_lost(l);
	if (!ret)
		ret = LTTNG(NULL, err, "destroy", l->session);
	l->created = l->created && ret;
	return ret ? ret : gather(l, !l->output_is_ours, err);
}

static int lttng_check(struct tracer *t, struct error *err)
{
	struct lttng *l = lttng_of(t);
	struct statvfs fs;

	/* Its daemons write, and do not tell that they cannot. */
	if (!statvfs(l->output, &fs) && !fs.f_bavail)
		return fail(err, -ENOSPC, "the disk is full: %s takes no more", l->output);
	if (!l->limit_bytes || !l->started)
		return 0;
	gather(l, true, NULL);
	if (l->bytes < l->limit_bytes)
		return 0;
	return fail(err, -EDQUOT, "it reached the limit of %llu bytes",
		    (unsigned long long)l->limit_bytes);
}

static uint64_t lttng_bytes(struct tracer *t)
{
	struct lttng *l = lttng_of(t);

	if (l->started && !l->output_is_ours)
		gather(l, true, NULL);
	return l->bytes;
}

static uint64_t lttng_lost(struct tracer *t)
{
	return lttng_of(t)->lost;
}

static int lttng_close(struct tracer *t, struct error *err)
{
	struct lttng *l = lttng_of(t);
	int ret = 0;

	if (t->marker >= 0)
		close(t->marker);
	if (l->created)
		ret = LTTNG(NULL, err, "destroy", l->session);
	if (l->output_is_ours)
		remove_tree(l->output);
	comms_release(&t->comms);
	free(l);
	return ret;
}

static const struct tracer_ops lttng_ops = {
	.on = lttng_on,
	.named = lttng_named,
	.off = lttng_off,
	.check = lttng_check,
	.bytes = lttng_bytes,
	.lost = lttng_lost,
	.close = lttng_close,
};

int lttng_open(struct tracer **out, const struct record_options *options, struct sink *sink,
	       struct error *err)
{
	struct lttng *l = calloc(1, sizeof(*l));
	int ret;

	*out = NULL;
	if (!l)
		return fail(err, -ENOMEM, "out of memory");
	l->tracer.ops = &lttng_ops;
	l->tracer.sink = sink;
	l->tracer.marker = -1;
	l->limit_bytes = options->limit_bytes;
	snprintf(l->tracer.clock, sizeof(l->tracer.clock), "monotonic");
	snprintf(l->tracer.clock_reason, sizeof(l->tracer.clock_reason),
		 "LTTng's clock is CLOCK_MONOTONIC");
	snprintf(l->session, sizeof(l->session), SESSION_PREFIX "%d", getpid());
	ret = prepare(l, options, err);
	if (ret) {
		lttng_close(&l->tracer, NULL);
		return ret;
	}
	*out = &l->tracer;
	return 0;
}
