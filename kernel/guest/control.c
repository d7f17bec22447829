// SPDX-License-Identifier: GPL-2.0-only
/* See control.h. */
#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>

#include "control.h"
#include "functions.h"
#include "probes.h"
#include "stream.h"

static struct kobject *directory;
static DEFINE_MUTEX(lock);

static ssize_t classes_show(struct kobject *kobj, struct kobj_attribute *attr, char *to)
{
	return classes_print(probes_classes(), to, PAGE_SIZE);
}

static ssize_t classes_store(struct kobject *kobj, struct kobj_attribute *attr, const char *from,
			     size_t len)
{
	unsigned long classes;
	int ret = classes_parse(from, &classes);

	if (ret)
		return ret;
	mutex_lock(&lock);
	ret = probes_set(classes);
	mutex_unlock(&lock);
	return ret ?: len;
}

static ssize_t functions_show(struct kobject *kobj, struct kobj_attribute *attr, char *to)
{
	ssize_t used;

	mutex_lock(&lock);
	used = functions_print(to, PAGE_SIZE);
	mutex_unlock(&lock);
	return used;
}

/* "+NAME …" adds to the set, "NAME …" makes a new one, "" leaves none. */
static ssize_t functions_store(struct kobject *kobj, struct kobj_attribute *attr, const char *from,
			       size_t len)
{
	int ret;

	mutex_lock(&lock);
	if (*from == '+')
		from++;
	else
		functions_clear();
	ret = functions_add(from);
	mutex_unlock(&lock);
	return ret ?: len;
}

static ssize_t channel_show(struct kobject *kobj, struct kobj_attribute *attr, char *to)
{
	return sysfs_emit(to, "%s\n", streams_channel()->name);
}

static ssize_t tried_show(struct kobject *kobj, struct kobj_attribute *attr, char *to)
{
	return sysfs_emit(to, "%s", streams_tried());
}

static ssize_t mark_store(struct kobject *kobj, struct kobj_attribute *attr, const char *from,
			  size_t len)
{
	const u64 args[] = {HT_MARK_POINT, 0};
	char text[HT_TEXT_MAX + 1];

	strscpy(text, from, min(len + 1, sizeof(text)));
	text[strcspn(text, "\n")] = '\0';
	stream_text(HT_MARK, args, ARRAY_SIZE(args), text);
	return len;
}

/* One file per number; each is read while its CPU writes it, so it may be a little old. */
#define TOTAL(field, of_stream)                                                                    \
	static ssize_t field##_show(struct kobject *kobj, struct kobj_attribute *attr, char *to)   \
	{                                                                                          \
		unsigned int cpu;                                                                  \
		u64 sum = 0;                                                                       \
                                                                                                   \
		for_each_possible_cpu (cpu)                                                        \
			sum += of_stream(per_cpu_ptr(&sonde_streams, cpu));                        \
		return sysfs_emit(to, "%llu\n", sum);                                              \
	}                                                                                          \
	static struct kobj_attribute field##_attribute =                                           \
		__ATTR(total_##field, 0444, field##_show, NULL)

#define EVENTS_OF(s) READ_ONCE((s)->events)
#define BYTES_OF(s) READ_ONCE((s)->bytes)
#define CALLS_OF(s) READ_ONCE((s)->calls)
/* Those that the host has been told of, and those that wait for the next block. */
#define DROPPED_OF(s) (READ_ONCE((s)->dropped) + READ_ONCE((s)->dropped_now))

TOTAL(events, EVENTS_OF);
TOTAL(bytes, BYTES_OF);
TOTAL(calls, CALLS_OF);
TOTAL(dropped, DROPPED_OF);

static struct kobj_attribute classes_attribute = __ATTR(events, 0644, classes_show, classes_store);
static struct kobj_attribute functions_attribute =
	__ATTR(functions, 0644, functions_show, functions_store);
static struct kobj_attribute channel_attribute = __ATTR(channel, 0444, channel_show, NULL);
static struct kobj_attribute tried_attribute = __ATTR(channels_tried, 0444, tried_show, NULL);
static struct kobj_attribute mark_attribute = __ATTR(mark, 0200, NULL, mark_store);

static struct attribute *attributes[] = {
	&classes_attribute.attr, &functions_attribute.attr,
	&channel_attribute.attr, &tried_attribute.attr,
	&mark_attribute.attr,	 &events_attribute.attr,
	&bytes_attribute.attr,	 &calls_attribute.attr,
	&dropped_attribute.attr, NULL,
};

static const struct attribute_group group = {.attrs = attributes};

int control_add(void)
{
	int ret;

	directory = kobject_create_and_add("sonde_guest", kernel_kobj);
	if (!directory)
		return -ENOMEM;
	ret = sysfs_create_group(directory, &group);
	if (ret)
		kobject_put(directory);
	return ret;
}

void control_remove(void)
{
	sysfs_remove_group(directory, &group);
	kobject_put(directory);
}
