/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracers/check.h"
#include "record/base/buffer.h"
#include "record/host/clocks.h"
#include "record/tracers/events.h"
#include "record/tracers/hypercalls_bpf.h"
#include "record/tracers/instance.h"
#include "record/tracers/lttng.h"
#include "record/host/tasks.h"
#include "record/host/vms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What several checks need. */
struct place {
	char tracing[256]; /* "" = no tracefs */
	bool root;
	bool kvm; /* it is there, with its events */
};

static void say(struct check_row *row, enum check_state state, const char *what, const char *mend)
{
	row->state = state;
	snprintf(row->what, sizeof(row->what), "%.255s", what);
	snprintf(row->mend, sizeof(row->mend), "%.255s", mend);
}

static void check_permissions(struct check_row *row, struct place *p)
{
	char what[64];

	snprintf(what, sizeof(what), "user %u", (unsigned)geteuid());
	say(row, p->root ? CHECK_GOOD : CHECK_MISSING, p->root ? "root" : what,
	    p->root ? "" : "run it with sudo");
}

static void check_tracefs(struct check_row *row, struct place *p)
{
	struct error err = {0};
	char *semicolon;

	if (!tracefs_usable(p->tracing, sizeof(p->tracing), &err)) {
		say(row, CHECK_GOOD, p->tracing, "");
		return;
	}
	*p->tracing = '\0';
	semicolon = strchr(err.text, ';');
	if (semicolon)
		*semicolon = '\0';
	say(row, CHECK_MISSING, err.text, semicolon ? semicolon + 2 : "");
}

#define UNKNOWN "unknown without tracefs"

static const char *first_step(const struct place *p)
{
	return p->root ? "mount tracefs first" : "run it with sudo";
}

static int open_events(const struct place *p)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/events", p->tracing);
	return *p->tracing ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

static void check_events(struct check_row *row, struct place *p)
{
	int dir = open_events(p);
	struct event_list list = {0};
	struct event_gaps gaps;
	struct error err = {0};
	char what[256];

	if (dir < 0) {
		say(row, CHECK_MISSING, UNKNOWN, first_step(p));
		return;
	}
	if (select_events(dir, (unsigned)RECORD_ALL, NULL, 0, &list, &gaps, &err)) {
		say(row, CHECK_MISSING, err.text, "use a kernel with ftrace's events");
	} else {
		snprintf(what, sizeof(what), "%u that analyses use%s%.180s", list.nr,
			 gaps.nr_missing ? "; this kernel does not have " : "", gaps.missing);
		say(row, CHECK_GOOD, what, "");
	}
	event_list_release(&list);
	close(dir);
}

static void check_kvm(struct check_row *row, struct place *p)
{
	int dir = open_events(p);
	bool device = !access("/dev/kvm", F_OK);

	p->kvm = device && dir >= 0 && !faccessat(dir, "kvm/kvm_exit", F_OK, 0);
	if (dir >= 0)
		close(dir);
	if (p->kvm)
		say(row, CHECK_GOOD, "there, with its events", "");
	else if (device && dir < 0)
		say(row, CHECK_MISSING, "/dev/kvm is there; its events are " UNKNOWN,
		    first_step(p));
	else if (device)
		say(row, CHECK_MISSING, "/dev/kvm is there, its events are not",
		    "use a kernel whose kvm has tracepoints");
	else
		say(row, CHECK_NOTE, "no /dev/kvm: this machine runs no VMs now",
		    "if it is to: modprobe kvm_amd or kvm_intel, before recording");
}

static void check_debugfs(struct check_row *row, struct place *p)
{
	int root = debugfs_open();
	bool kvm = root >= 0 && !faccessat(root, "kvm", F_OK, 0);
	char what[128];

	if (root >= 0)
		close(root);
	if (root >= 0 && (kvm || !p->kvm)) {
		say(row, CHECK_GOOD, kvm ? "there, with KVM's directory" : "there", "");
		return;
	}
	snprintf(what, sizeof(what), "%s",
		 root < 0 ? strerror(-root) : "it has no directory of KVM");
	say(row, p->kvm && p->root ? CHECK_MISSING : CHECK_NOTE, what,
	    !p->root   ? "run it with sudo"
	    : root < 0 ? "use a kernel with CONFIG_DEBUG_FS that is not locked down"
		       : "start a VM, or load kvm_amd or kvm_intel");
}

static void check_clock(struct check_row *row, struct place *p)
{
	char path[320], clocks[512], source[64], what[256];
	struct clock_choice choice;

	snprintf(path, sizeof(path), "%s/trace_clock", p->tracing);
	read_small(AT_FDCWD, path, clocks, sizeof(clocks));
	read_small(AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		   source, sizeof(source));
	if (!*clocks) {
		say(row, CHECK_MISSING, UNKNOWN, first_step(p));
		return;
	}
	clock_choose(clocks, NULL, &choice, NULL);
	snprintf(what, sizeof(what), "%s%s%s; clock source %s", choice.name,
		 *choice.reason ? ", because " : "", choice.reason, source);
	say(row, *choice.reason ? CHECK_NOTE : CHECK_GOOD, what,
	    *choice.reason
		    ? "a kernel that finds the TSC sound, or --clock x86-tsc if you know it is"
		    : "");
}

static void check_threads(struct check_row *row, struct place *p)
{
	struct stat own;
	bool outer = stat("/proc/self/ns/pid", &own) || own.st_ino == FIRST_PIDNS;

	(void)p;
	say(row, outer ? CHECK_GOOD : CHECK_NOTE,
	    outer ? "all can be named" : "this is a container: TIDs here are not the trace's",
	    outer ? "" : "record outside of the container");
}

static void check_vsock(struct check_row *row, struct place *p)
{
	bool host = !access("/dev/vhost-vsock", F_OK);
	bool guest = !access("/dev/vsock", F_OK);

	if (!host && guest && p->kvm && !access("/dev/kvm", F_OK))
		say(row, CHECK_NOTE,
		    "/dev/vsock: the host can be reached; no /dev/vhost-vsock: guests cannot",
		    "if guests have a vsock device: modprobe vhost_vsock");
	else if (host || guest)
		say(row, CHECK_GOOD,
		    host ? "/dev/vhost-vsock: guests can be reached"
			 : "/dev/vsock: the host can be reached",
		    "");
	else
		say(row, CHECK_NOTE, "neither /dev/vhost-vsock nor /dev/vsock is there",
		    "modprobe vhost_vsock on a host, vmw_vsock_virtio_transport in a guest");
}

static void check_lttng(struct check_row *row, struct place *p)
{
	struct error err = {0};

	(void)p;
	if (!lttng_usable(&err))
		say(row, CHECK_GOOD, "installed", "");
	else
		say(row, CHECK_NOTE, "not usable",
		    "only if you want --tracer lttng: apt install lttng-tools lttng-modules-dkms");
}

static void take_nothing(void *data, const struct hc_record *r)
{
	(void)data;
	(void)r;
}

/* By trying: what can keep a program out has too many names. */
static void check_hypercalls(struct check_row *row, struct place *p)
{
	struct hypercalls_bpf *bpf;
	struct error err = {0};
	char *cause;

	if (!p->kvm) {
		say(row, CHECK_NOTE, "no KVM here: there are no guests' calls", "");
		return;
	}
	if (!hypercalls_bpf_open(&bpf, HYPERCALLS_FOLD, 0, take_nothing, NULL, &err)) {
		hypercalls_bpf_close(bpf);
		say(row, CHECK_GOOD, "a BPF program folds each into one record", "");
		return;
	}
	cause = strstr(err.text, ": ");
	say(row, CHECK_NOTE, cause ? cause + 2 : err.text,
	    "nothing, if three events for each call will do; else a kernel with BTF, root, and a "
	    "sonde that was built with libbpf");
}

static void check_processes(struct check_row *row, struct place *p)
{
	const char *why_not = hypercalls_bpf_no_spaces();

	if (!p->kvm)
		say(row, CHECK_NOTE, "no KVM here: there are no guests", "");
	else if (why_not)
		say(row, CHECK_NOTE, why_not,
		    "on Intel's CPUs, build and load kernel/vmx; an agent in the guest tells them, "
		    "too");
	else
		say(row, CHECK_GOOD, "guests' CR3 is read at their exits", "");
}

unsigned check_machine(struct check_row rows[static CHECK_ROWS_MAX])
{
	static const struct {
		const char *name;
		void (*check)(struct check_row *row, struct place *p);
		const char *why;
	} checks[] = {
		{"permissions", check_permissions, "only root may trace the kernel"},
		{"tracefs", check_tracefs, "the kernel's tracer, ftrace, is used through it"},
		{"events", check_events, "what the kernel can tell"},
		{"kvm", check_kvm, "its events show VMs entering and leaving their CPUs"},
		{"debugfs", check_debugfs,
		 "KVM tells there which thread is which vCPU, and how a "
		 "guest's TSC stands to ours: exact clocks"},
		{"clock", check_clock,
		 "with x86-tsc, guests' times relate to this machine's exactly"},
		{"threads", check_threads, "who was there before recording began"},
		{"vsock", check_vsock, "one way to record guests together with their host"},
		{"hypercalls", check_hypercalls,
		 "guests can send events and marks by hypercall (hypertrace)"},
		{"processes", check_processes,
		 "processes of guests without a tracer, told apart by their page tables"},
		{"lttng", check_lttng, "another tracer, used only on request"},
	};
	struct place place = {.root = !geteuid()};
	unsigned nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		rows[nr].name = checks[i].name;
		rows[nr].why = checks[i].why;
		checks[i].check(&rows[nr++], &place);
	}
	return nr;
}
