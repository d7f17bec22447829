/* SPDX-License-Identifier: Apache-2.0 */
#include "record/events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CPU RECORD_CPU
#define WAIT RECORD_WAIT
#define IO RECORD_IO
#define BOOT RECORD_BOOT

/* Every question needs to know who ran where. */
#define ANY (CPU | WAIT | IO | BOOT)

/* What next to never happens: switching an event on has its cost, too (in a nested guest that is
 * emulated, tens of milliseconds each). */
#define REST (1u << 16)

#define CLOCKS RECORD_CLOCKS

/* clang-format off: a table */
static const struct event_row rows[] = {
	{"sched", "sched_switch", "sched_switch", ANY, EVENT_NEEDED},
	{"sched", "sched_waking", "sched_waking", ANY, EVENT_USUAL},
	{"sched", "sched_wakeup_new", "sched_wakeup_new", ANY, EVENT_USUAL},
	{"sched", "sched_migrate_task", "sched_migrate_task", ANY, EVENT_USUAL},
	{"sched", "sched_process_fork", "sched_process_fork", ANY, EVENT_USUAL},
	{"sched", "sched_process_exec", "sched_process_exec", ANY, EVENT_USUAL},
	{"sched", "sched_process_exit", "sched_process_exit", ANY, EVENT_USUAL},
	{"sched", "sched_process_free", "sched_process_free", ANY, EVENT_USUAL},
	{"task", "task_newtask", NULL, ANY, EVENT_USUAL},
	{"task", "task_rename", NULL, ANY, EVENT_USUAL},
	{"cgroup", "cgroup_mkdir", NULL, ANY, EVENT_RARE},
	{"cgroup", "cgroup_attach_task", NULL, ANY, EVENT_RARE},
	{"sonde", "cpu_unthrottle", NULL, ANY, EVENT_RARE}, /* record/throttle.h: this one first */
	{"sonde", "cpu_throttle", NULL, ANY, EVENT_RARE},
	{"power", "cpu_idle", "power_cpu_idle", ANY, EVENT_USUAL},

	{"irq", "irq_handler_entry", "irq_handler_entry", ANY, EVENT_USUAL},
	{"irq", "irq_handler_exit", "irq_handler_exit", ANY, EVENT_USUAL},
	{"irq", "softirq_entry", "irq_softirq_entry", ANY, EVENT_USUAL},
	{"irq", "softirq_exit", "irq_softirq_exit", ANY, EVENT_USUAL},
#define VECTOR(name, purpose)                                                                      \
	{"irq_vectors", name "_entry", "x86_irq_vectors_" name "_entry", purpose, EVENT_RARE},     \
	{                                                                                          \
		"irq_vectors", name "_exit", "x86_irq_vectors_" name "_exit", purpose, EVENT_RARE  \
	}
	VECTOR("local_timer", ANY),
	VECTOR("reschedule", ANY),
	VECTOR("call_function", ANY),
	VECTOR("call_function_single", ANY),
	VECTOR("irq_work", ANY),
	VECTOR("x86_platform_ipi", REST),
	VECTOR("spurious_apic", REST),
	VECTOR("error_apic", REST),
	VECTOR("thermal_apic", REST),
	VECTOR("threshold_apic", REST),
	VECTOR("deferred_error_apic", REST),
#undef VECTOR

	{"kvm", "kvm_entry", "kvm_x86_entry", ANY, EVENT_USUAL},
	{"kvm", "kvm_exit", "kvm_x86_exit", ANY, EVENT_USUAL},
	{"kvm", "kvm_hypercall", "kvm_x86_hypercall", ANY, EVENT_USUAL},
	{"kvm", "kvm_nested_hypercall", NULL, ANY, EVENT_RARE},
	{"kvm", "kvm_nested_vmenter|kvm_nested_vmrun", "kvm_x86_nested_vmrun", ANY, EVENT_USUAL},
	{"kvm", "kvm_nested_vmexit", "kvm_x86_nested_vmexit", ANY, EVENT_USUAL},
	{"kvm", "kvm_nested_vmexit_inject", "kvm_x86_nested_vmexit_inject", ANY, EVENT_USUAL},
	{"kvm", "kvm_nested_intr_vmexit", "kvm_x86_nested_intr_vmexit", ANY, EVENT_RARE},
	{"kvm", "kvm_write_tsc_offset", "kvm_x86_write_tsc_offset", ANY, EVENT_USUAL},
	{"kvm", "kvm_pvclock_update", "kvm_x86_pvclock_update", ANY, EVENT_USUAL},
	{"kvm", "kvm_userspace_exit", "kvm_userspace_exit", ANY, EVENT_USUAL},
	{"kvm", "kvm_vcpu_wakeup", "kvm_vcpu_wakeup", ANY, EVENT_USUAL},

	{"kvm", "kvm_inj_virq", "kvm_x86_inj_virq", WAIT | IO, EVENT_USUAL},
	{"kvm", "kvm_apic_accept_irq", "kvm_x86_apic_accept_irq", WAIT | IO, EVENT_USUAL},
	{"kvm", "kvm_apicv_accept_irq", NULL, WAIT | IO, EVENT_RARE},
	{"kvm", "kvm_msi_set_irq", "kvm_x86_msi_set_irq", WAIT | IO, EVENT_USUAL},
	{"kvm", "kvm_set_irq", "kvm_set_irq", WAIT | IO, EVENT_USUAL},
	{"kvm", "kvm_pi_irte_update", NULL, WAIT | IO, EVENT_RARE},
	{"kvm", "kvm_apic_ipi", "kvm_x86_apic_ipi", WAIT, EVENT_USUAL},
	{"kvm", "kvm_async_pf_not_present", "kvm_async_pf_not_present", WAIT, EVENT_RARE},
	{"kvm", "kvm_async_pf_ready", "kvm_async_pf_ready", WAIT, EVENT_RARE},
	{"kvm", "kvm_fast_mmio", NULL, IO, EVENT_USUAL},
	{"kvm", "kvm_mmio", "kvm_mmio", IO, EVENT_USUAL},
	{"sched", "sched_wakeup", "sched_wakeup", WAIT, EVENT_USUAL},
	{"irq", "softirq_raise", "irq_softirq_raise", WAIT, EVENT_USUAL},
	{"timer", "hrtimer_start", "timer_hrtimer_start", WAIT | CLOCKS, EVENT_USUAL},
	{"kvm", "kvm_msr", "kvm_x86_msr", CLOCKS, EVENT_RARE},
	{"timer", "hrtimer_cancel", "timer_hrtimer_cancel", WAIT, EVENT_USUAL},
	{"timer", "hrtimer_expire_entry", "timer_hrtimer_expire_entry", WAIT, EVENT_USUAL},
	{"timer", "hrtimer_expire_exit", "timer_hrtimer_expire_exit", WAIT, EVENT_USUAL},

	{"block", "block_rq_issue", "block_rq_issue", WAIT | IO, EVENT_USUAL},
	{"block", "block_rq_complete", "block_rq_complete", WAIT | IO, EVENT_USUAL},
	{"block", "block_rq_insert", "block_rq_insert", IO, EVENT_USUAL},
	{"block", "block_bio_queue", "block_bio_queue", IO, EVENT_USUAL},
	{"net", "net_dev_start_xmit", NULL, WAIT | IO, EVENT_USUAL},
	{"net", "netif_receive_skb", "net_if_receive_skb", WAIT | IO, EVENT_USUAL},
	{"net", "net_dev_queue", "net_dev_queue", IO, EVENT_USUAL},
	{"net", "net_dev_xmit", "net_dev_xmit", IO, EVENT_USUAL},
	{"napi", "napi_poll", "napi_poll", IO, EVENT_USUAL},
	{"raw_syscalls", "sys_enter", NULL, IO, EVENT_USUAL},
	{"raw_syscalls", "sys_exit", NULL, IO, EVENT_USUAL},

	{"initcall", "initcall_level", NULL, BOOT, EVENT_USUAL},
	{"initcall", "initcall_start", NULL, BOOT, EVENT_USUAL},
	{"initcall", "initcall_finish", NULL, BOOT, EVENT_USUAL},
	{"module", "module_load", "module_load", BOOT, EVENT_RARE},
	{"sched", "sched_process_wait", "sched_process_wait", BOOT, EVENT_USUAL},
	{"signal", "signal_generate", "signal_generate", BOOT, EVENT_USUAL},
	{"cpuhp", "cpuhp_enter", NULL, ANY, EVENT_USUAL},
	{"cpuhp", "cpuhp_exit", NULL, ANY, EVENT_USUAL},
	{"power", "suspend_resume", NULL, BOOT, EVENT_RARE},
	{"printk", "console", "printk_console", BOOT, EVENT_USUAL},
};
/* clang-format on */

const struct event_row *event_rows(unsigned *nr)
{
	*nr = ARRAY_SIZE(rows);
	return rows;
}

const char *event_filter(const struct event_row *row)
{
	if (!strcmp(row->names, "kvm_msr"))
		return "write == 1 && ecx == 1760"; /* MSR 0x6e0: deadlines of the TSC */
	return NULL;
}

unsigned event_purpose(unsigned purpose, bool mono)
{
	if (!purpose)
		purpose = CPU;
	return mono ? purpose | CLOCKS : purpose & ~CLOCKS;
}

int purpose_parse(const char *text, unsigned *purpose, struct error *err)
{
	static const struct {
		const char *name;
		unsigned purpose;
	} names[] = {{"cpu", CPU}, {"wait", WAIT}, {"io", IO}, {"boot", BOOT}, {"all", RECORD_ALL}};

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
static bool pick_name(int events_dir, const struct event_row *row, char name[static 64])
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

static void note_gap(struct event_gaps *gaps, const struct event_row *row)
{
	size_t len = strlen(gaps->missing);

	if (row->need == EVENT_RARE)
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

static int select_row(int events_dir, const struct event_row *row, struct event_list *out,
		      struct event_gaps *gaps, struct error *err)
{
	char name[64];

	if (pick_name(events_dir, row, name)) {
		if (event_list_add(out, row->system, name, event_filter(row)))
			return fail(err, -ENOMEM, "out of memory selecting events");
		return 0;
	}
	if (row->need == EVENT_NEEDED)
		return fail(err, -ENOENT,
			    "this kernel has no event %s:%s, without which nothing can be said; it "
			    "needs CONFIG_FTRACE and CONFIG_EVENT_TRACING",
			    row->system, row->names);
	note_gap(gaps, row);
	return 0;
}

int select_events(int events_dir, unsigned purpose, const char *const *extra, unsigned nr_extra,
		  struct event_list *out, struct event_gaps *gaps, struct error *err)
{
	int ret = 0;

	memset(gaps, 0, sizeof(*gaps));
	gaps->no_kvm = faccessat(events_dir, "kvm/kvm_exit", F_OK, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(rows) && !ret; i++) {
		if (rows[i].purpose & purpose)
			ret = select_row(events_dir, &rows[i], out, gaps, err);
	}
	for (unsigned i = 0; i < nr_extra && !ret; i++)
		ret = add_named(events_dir, extra[i], out, err);
	event_list_sort(out);
	return ret;
}
