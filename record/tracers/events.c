/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

unsigned event_purpose(unsigned purpose, bool mono)
{
	if (!purpose)
		purpose = RECORD_CPU;
	return mono ? purpose | RECORD_CLOCKS : purpose & ~RECORD_CLOCKS;
}

int purpose_parse(const char *text, unsigned *purpose, struct error *err)
{
	static const struct {
		const char *name;
		unsigned purpose;
	} names[] = {{"cpu", RECORD_CPU},
		     {"wait", RECORD_WAIT},
		     {"io", RECORD_IO},
		     {"boot", RECORD_BOOT},
		     {"all", RECORD_ALL}};

	*purpose = 0;
	do {
		size_t len = strcspn(text, ",");
		unsigned found = 0;

		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			if (strlen(names[i].name) == len && !strncmp(names[i].name, text, len))
				found = names[i].purpose;
		}
		if (!found)
			return fail(err, -EINVAL, "\"%.*s\" is not one of cpu, wait, io, boot, all",
				    (int)len, text);
		*purpose |= found;
		text += len + (text[len] == ',');
	} while (*text);
	return 0;
}

int event_list_add(struct event_list *list, const char *system, const char *name,
		   const char *filter)
{
	struct event_name *grown;

	for (unsigned i = 0; i < list->nr; i++) {
		struct event_name *old = &list->items[i];

		if (strcmp(old->name, name) || strcmp(old->system, system))
			continue;
		if (!filter)
			old->filter = NULL;
		return 0;
	}
	grown = reallocarray(list->items, list->nr + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->items = grown;
	grown[list->nr].system = strdup(system);
	grown[list->nr].name = strdup(name);
	grown[list->nr].filter = filter;
	if (!grown[list->nr].system || !grown[list->nr].name) {
		free(grown[list->nr].system);
		free(grown[list->nr].name);
		return -ENOMEM;
	}
	list->nr++;
	return 0;
}

static int by_system(const void *a, const void *b)
{
	const struct event_name *x = a, *y = b;
	int order = strcmp(x->system, y->system);

	return order ? order : strcmp(x->name, y->name);
}

void event_list_sort(struct event_list *list)
{
	if (list->nr)
		qsort(list->items, list->nr, sizeof(*list->items), by_system);
}

void event_list_release(struct event_list *list)
{
	for (unsigned i = 0; i < list->nr; i++) {
		free(list->items[i].system);
		free(list->items[i].name);
	}
	free(list->items);
	*list = (struct event_list){0};
}

static bool event_exists(int events_dir, const char *system, const char *name)
{
	char path[384];

	snprintf(path, sizeof(path), "%.64s/%.256s/enable", system, name);
	return !faccessat(events_dir, path, F_OK, 0);
}

/* The first of "a|b" that the kernel has, in @name. */
static bool pick_name(int events_dir, const struct event_record *row, char name[static 64])
{
	for (const char *from = row->names; *from;) {
		size_t len = strcspn(from, "|");

		snprintf(name, 64, "%.*s", (int)len, from);
		if (event_exists(events_dir, row->system, name))
			return true;
		from += len + (from[len] == '|');
	}
	return false;
}

static void note_gap(struct event_gaps *gaps, const struct event_records *r)
{
	const struct event_record *row = r->record;
	size_t len = strlen(gaps->missing);

	if (row->need == EVENT_RARE || !event_is_of_this_arch(r->kind))
		return;
	if (gaps->no_kvm && !strcmp(row->system, "kvm"))
		return; /* said once for all of them */
	gaps->nr_missing++;
	snprintf(gaps->missing + len, sizeof(gaps->missing) - len, "%s%s:%.*s", len ? ", " : "",
		 row->system, (int)strcspn(row->names, "|"), row->names);
}

static int add_system(int events_dir, const char *system, struct event_list *out)
{
	int fd = openat(events_dir, system, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int ret = 0;

	if (!dir) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	while (!ret && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && event_exists(events_dir, system, entry->d_name))
			ret = event_list_add(out, system, entry->d_name, NULL);
	}
	closedir(dir);
	return ret;
}

bool event_is_named(const char *text)
{
	const char *colon = strchr(text, ':');
	const char *name = colon ? colon + 1 : "*";

	return *text && text != colon && *name && !strchr(text, '/') && *text != '.' &&
	       *name != '.';
}

static int add_named(int events_dir, const char *text, struct event_list *out, struct error *err)
{
	const char *colon = strchr(text, ':');
	const char *name = colon ? colon + 1 : "*";
	char system[64];
	int ret;

	snprintf(system, sizeof(system), "%.*s", (int)strcspn(text, ":"), text);
	if (!event_is_named(text))
		return fail(err, -EINVAL, "\"%.100s\" is not an event: write SYSTEM:EVENT", text);
	if (!strcmp(name, "*"))
		ret = add_system(events_dir, system, out);
	else if (event_exists(events_dir, system, name))
		ret = event_list_add(out, system, name, NULL);
	else
		ret = -ENOENT;
	if (ret == -ENOENT || ret == -ENOTDIR)
		return fail(err, -ENOENT,
			    "this kernel has no event \"%.100s\"; its events are in "
			    "/sys/kernel/tracing/available_events",
			    text);
	return ret ? fail(err, ret, "cannot select \"%.100s\": %s", text, strerror(-ret)) : 0;
}

static int select_one(int events_dir, const struct event_records *r, struct event_list *out,
		      struct event_gaps *gaps, struct error *err)
{
	const struct event_record *row = r->record;
	char name[64];

	if (pick_name(events_dir, row, name)) {
		if (event_list_add(out, row->system, name, row->filter))
			return fail(err, -ENOMEM, "out of memory selecting events");
		return 0;
	}
	if (row->need == EVENT_NEEDED)
		return fail(err, -ENOENT,
			    "this kernel has no event %s:%s, without which nothing can be said; it "
			    "needs CONFIG_FTRACE and CONFIG_EVENT_TRACING",
			    row->system, row->names);
	note_gap(gaps, r);
	return 0;
}

int select_events(int events_dir, unsigned purpose, const char *const *extra, unsigned nr_extra,
		  struct event_list *out, struct event_gaps *gaps, struct error *err)
{
	int ret = 0;

	memset(gaps, 0, sizeof(*gaps));
	gaps->no_kvm = faccessat(events_dir, "kvm/kvm_exit", F_OK, 0);
	for (struct event_records r = {0}; !ret && event_records_next(&r);) {
		if (r.record->purpose & purpose)
			ret = select_one(events_dir, &r, out, gaps, err);
	}
	for (unsigned i = 0; i < nr_extra && !ret; i++)
		ret = add_named(events_dir, extra[i], out, err);
	event_list_sort(out);
	return ret;
}
