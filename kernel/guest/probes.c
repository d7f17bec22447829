// SPDX-License-Identifier: GPL-2.0-only
/* Which tracepoints have our probes: by class, switched while the system runs. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/string.h>

#include "probes.h"

static const struct probe_table *const tables[] = {&sched_probes, &interrupt_probes, &io_probes};
static const char *const class_names[] = {
#define X(id, name) name,
	EVENT_CLASSES(X)
#undef X
};

static unsigned long classes_on;

#define for_each_probe(t, p)                                                                       \
	for (t = 0; t < ARRAY_SIZE(tables); t++)                                                   \
		for (p = tables[t]->probes; p < tables[t]->probes + tables[t]->nr; p++)

static void take_tracepoint(struct tracepoint *tracepoint, void *unused)
{
	struct probe *p;
	unsigned int t;

	for_each_probe (t, p)
		if (!strcmp(p->tracepoint, tracepoint->name))
			p->at = tracepoint;
}

void probes_find(void)
{
	struct probe *p;
	unsigned int t;

	for_each_kernel_tracepoint(take_tracepoint, NULL);
	for_each_probe (t, p)
		if (!p->at)
			pr_info("this kernel has no tracepoint %s\n", p->tracepoint);
}

static int probe_switch(struct probe *p, bool on)
{
	int ret;

	if (!p->at || p->on == on)
		return 0;
	ret = on ? tracepoint_probe_register(p->at, p->function, NULL)
		 : tracepoint_probe_unregister(p->at, p->function, NULL);
	if (ret)
		pr_warn("tracepoint %s: %s failed (%d)\n", p->tracepoint,
			on ? "switching on" : "switching off", ret);
	else
		p->on = on;
	return ret;
}

static int switch_all(unsigned long classes)
{
	struct probe *p;
	unsigned int t;
	int ret = 0;

	for_each_probe (t, p) {
		int one = probe_switch(p, classes & BIT(p->class));

		ret = ret ?: one;
	}
	return ret;
}

int probes_set(unsigned long classes)
{
	int ret = switch_all(classes);

	if (ret)
		switch_all(classes_on);
	else
		classes_on = classes;
	return ret;
}

unsigned long probes_classes(void)
{
	return classes_on;
}

void probes_stop(void)
{
	switch_all(0);
	tracepoint_synchronize_unregister();
}

static int class_bit(const char *name, size_t len, unsigned long *classes)
{
	unsigned int i;

	if (len == 3 && !strncmp(name, "all", 3)) {
		*classes = BIT(NR_CLASSES) - 1;
		return 0;
	}
	for (i = 0; i < NR_CLASSES; i++)
		if (strlen(class_names[i]) == len && !strncmp(class_names[i], name, len)) {
			*classes |= BIT(i);
			return 0;
		}
	return -EINVAL;
}

int classes_parse(const char *list, unsigned long *classes)
{
	*classes = 0;
	while (*list && *list != '\n') {
		size_t len = strcspn(list, ",\n");
		int ret = class_bit(list, len, classes);

		if (ret)
			return ret;
		list += len;
		list += *list == ',';
	}
	return 0;
}

int classes_print(unsigned long classes, char *to, size_t size)
{
	unsigned int i;
	int used = 0;

	for (i = 0; i < NR_CLASSES; i++)
		if (classes & BIT(i))
			used += scnprintf(to + used, size - used, "%s%s", used ? "," : "",
					  class_names[i]);
	used += scnprintf(to + used, size - used, "\n");
	return used;
}
